"""Two replicas with leader election, each behind a proxy of its own that tells who writes what, and when."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.controller_process import LEASE_NAME, ControllerProcess
from tests.chaos.fault_proxy import Write, proxied
from tests.chaos.trial import until
from trainer_infra.controller.leader_election import LEASE
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound

AT_WORK = 10
"""Writes of a leader after which it is frozen."""


@dataclass
class Replicas:
    """What two replicas do, and have done."""

    client: KubeClient
    by_name: dict[str, ControllerProcess]
    writes: list[Write]
    """Of all replicas, in one order."""

    async def holder(self) -> str:
        """Identity in the Lease; empty where there is none."""
        try:
            lease = await self.client.get(LEASE, LEASE_NAME, "default")
        except NotFound:
            return ""
        return str(lease["spec"].get("holderIdentity") or "")

    async def leader(self, *, after: str = "") -> ControllerProcess:
        """The replica that leads, once one does, and not any more the process of that identity."""
        found: list[ControllerProcess] = []

        async def leads() -> bool:
            identity = await self.holder()
            found[:] = [
                each
                for each in self.by_name.values()
                if identity not in {"", after} and f"{identity} leads" in each.log()
            ]
            return bool(found)

        await until(leads)
        return found[0]

    async def freeze_and_thaw(self) -> None:
        """The leader stands still at work until the other one leads, and then goes on: it must end."""
        leader = await self.leader()
        before = self.count_of(leader.name)

        async def is_at_work() -> bool:
            return self.count_of(leader.name) > before + AT_WORK

        await until(is_at_work)
        identity = await self.holder()
        leader.freeze()
        await self.leader(after=identity)
        starts = leader.starts
        leader.thaw()

        async def has_ended() -> bool:
            return leader.starts > starts

        await until(has_ended)

    async def kill(self) -> None:
        """The leader is gone; the other one, or its next process, leads when the Lease has passed."""
        leader, identity = await self.leader(), await self.holder()
        leader.kill()
        await self.leader(after=identity)

    async def restarted(self) -> None:
        """Start those that have ended, as a kubelet does; ends only when it is cancelled."""
        while True:
            for each in self.by_name.values():
                if each.has_ended:
                    each.start()
            await asyncio.sleep(0.2)

    def count_of(self, name: str) -> int:
        """Writes of a replica, those of the Lease left out."""
        return sum(each.proxy == name and not each.is_lease for each in self.writes)

    def wrong_writes(self) -> list[str]:
        """Writes of a replica that did not hold the Lease when they went."""
        wrong, holder = [], ""
        for each in sorted(self.writes, key=lambda write: write.number):
            if each.is_lease:
                holder = each.proxy if each.holder else ""
            elif each.proxy != holder:
                wrong.append(f"{each.proxy} wrote {each.path} while {holder or 'no replica'} led")
        return wrong


@asynccontextmanager
async def two_replicas(
    kubeconfig: Path,
    folder: Path,
    client: KubeClient,
    variables: Mapping[str, Mapping[str, str]],
) -> AsyncIterator[Replicas]:
    """Both, at work.

    Args:
        kubeconfig: of the cluster.
        folder: an empty one.
        client: that reads the Lease.
        variables: environment of each replica, by its name.
    """
    writes: list[Write] = []
    async with AsyncExitStack() as ending:
        processes = {}
        for name in variables:
            proxy = await ending.enter_async_context(proxied(kubeconfig, name=name, writes=writes))
            way = proxy.kubeconfig(folder / f"{name}.kubeconfig")
            made = ControllerProcess(name, folder, way, elects=True, variables=variables[name])
            made.start()
            ending.callback(made.kill)
            processes[name] = made
        replicas = Replicas(client, processes, writes)
        restarting = asyncio.create_task(replicas.restarted())
        try:
            yield replicas
            assert not restarting.done(), restarting
        finally:
            restarting.cancel()
            await asyncio.gather(restarting, return_exceptions=True)
