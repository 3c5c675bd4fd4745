"""A replica that no longer leads writes nothing more, wherever its loss finds it."""

import asyncio
import time
from collections.abc import Coroutine
from typing import TypeVar

import pytest
from typing_extensions import override

from tests.cluster.relayed import Relayed
from tests.controller.running_manager import (
    NAMESPACE,
    add_runtime,
    memory,
    train_job,
    without_servers,
)
from trainer_infra.controller.configuration import LeaderElectionSettings
from trainer_infra.controller.leader_election import LEASE
from trainer_infra.controller.manager import Manager, ManagerSettings
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP, EVENT, JOBSET
from trainer_infra.render.behaviour import OURS

T = TypeVar("T")
TERMS = LeaderElectionSettings(
    leader_elect=True,
    lease_duration="3s",
    renew_deadline="2s",
    retry_period="20ms",
    resource_namespace=NAMESPACE,
)


class Frozen(Relayed):
    """The process stands still after its snapshot, and meanwhile another replica leads."""

    stood = False

    @override
    async def sent(self, request: Coroutine[None, None, T], verb: str) -> T:
        answer = await request
        if verb == "create" and not self.stood and await _has_snapshot(self._client):
            self.stood = True
            lease = await self._client.get(LEASE, TERMS.resource_name, NAMESPACE)
            del lease["metadata"]["managedFields"]
            spec = {**lease["spec"], "holderIdentity": "other"}
            await self._client.apply({**lease, "spec": spec}, manager="other", force=True)
            time.sleep(2.5)  # noqa: ASYNC251  nothing in a process that stands still goes on
        return answer


async def _has_snapshot(client: KubeClient) -> bool:
    try:
        return bool(await client.get(CONFIG_MAP, "tj-runtime-snapshot", NAMESPACE))
    except NotFound:
        return False


def test_a_leader_that_stood_still_past_its_lease_writes_nothing_more() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        frozen = Frozen(client)
        settings = without_servers({"leader_election": TERMS})
        manager = Manager(frozen, ManagerSettings(settings, OURS))
        await client.create(train_job(), manager="user")
        with pytest.raises(NotAvailable, match="another replica leads now"):
            await manager.run()
        assert frozen.stood
        assert (await client.list(ObjectSelection(JOBSET))).items == ()
        assert (await client.list(ObjectSelection(EVENT))).items == ()

    asyncio.run(work())
