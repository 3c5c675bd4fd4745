"""What keeps a platform from being destroyed under those who use it: check, diff, create, read, update, delete.

A controller removes the finalizers of its kinds. Once it is gone, an object that is left holds its
CustomResourceDefinition and its namespace forever. A guard depends on everything that it guards, so
the engine deletes it first: it refuses while there are objects of these kinds, and where the stack
says `trainer:allowDestroy`, deletes them while their controllers still run.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

from trainer_infra.deploy.operations import owner_check
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.values import differing
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import loop
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.kube.resource import Resource
from trainer_infra.words import listed

ALLOW: Final = "allowDestroy"
"""Of the namespace `trainer` of the stack's configuration."""
ORDER: Final = ("TrainJob", "JobSet", "LeaderWorkerSet", "Workload", "LocalQueue", "ClusterQueue")
"""Kinds that go before others: jobs before the queues that they are in."""
PATIENCE: Final = 240.0
"""Seconds until everything that a guard deletes must be gone."""
_PERIOD: Final = 0.5
"""Seconds between two looks."""
_SHOWN: Final = 3
"""Names of a kind in a sentence, at most."""
_IN_PLACE: Final = (
    "kinds", "ignored", "namespace", "landmark", "namespaces", "urn", "kubeconfig", "context", ALLOW,
)  # fmt: skip


class GuardProperties(owner_check.InstallationProperties):
    """A guard resource."""

    __slots__ = ()

    @property
    def kinds(self) -> Sequence[tuple[str, str]]:
        """Version and kind of what it guards, those first that are deleted first."""
        pairs = [(each["apiVersion"], each["kind"]) for each in self.json["kinds"]]
        return sorted(pairs, key=lambda each: (*ORDER, each[1]).index(each[1]))

    @property
    def ignored(self) -> frozenset[str]:
        """Objects that are none of its users': `Kind/name`, or `Kind/namespace/name`."""
        return frozenset(self.json.get("ignored") or ())

    @property
    def landmark(self) -> tuple[str, str]:
        """Name and UID of a Namespace of the cluster that is guarded."""
        found = self.json.get("landmark") or {}
        return str(found.get("name", "")), str(found.get("uid", ""))


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:  # noqa: ARG001  as the others
    """Whatever a component gives it is right."""
    return CheckAnswer(news)


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:  # noqa: ARG001  the same
    """Everything can be edited in place."""
    return Difference(bool(differing(_IN_PLACE, olds, news)))


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Begin to guard."""
    guard = GuardProperties(given)

    async def begin() -> None:
        async with _cluster(guard, session) as client:
            await owner_check.record_owner(client, guard)

    loop.run_in_loop(begin())
    return CreateAnswer(guard.namespace or "cluster", given)


def read(state: JSONObject, session: StackSession) -> Present | None:  # noqa: ARG001  as the others
    """A guard is nothing but what the state has."""
    return Present(state)


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Guard other kinds; those that are guarded no longer are about to go, so none may be in use.

    Raises:
        Refused: There are objects of a kind that it gives up, or it looks at another cluster.
    """
    before, after = GuardProperties(olds), GuardProperties(news)
    given_up = [each for each in before.kinds if each not in after.kinds]
    kinds = [{"apiVersion": version, "kind": kind} for version, kind in given_up]
    leaving = GuardProperties({**olds, "kinds": kinds, "urn": after.urn})
    allowed = bool(given_up) and _is_allowed(after, session)

    async def change() -> None:
        # By the new connection: who mends a wrong one could not otherwise.
        async with _cluster(after, session) as client:
            await _end(client, leaving, session, allowed)
            await owner_check.record_owner(client, after)

    loop.run_in_loop(change())
    return news


def delete(state: JSONObject, session: StackSession) -> None:
    """Stop guarding.

    Raises:
        Refused: What it guards is in use, and the stack does not allow to destroy it, or is another
            component's by now.
        NotAvailable: What it deletes is not gone in time, or the cluster cannot be reached.
    """
    guard = GuardProperties(state)
    allowed = _is_allowed(guard, session)

    async def end() -> None:
        async with _cluster(guard, session) as client:
            await owner_check.judge_owner(client, guard)
            await _end(client, guard, session, allowed)
            await owner_check.record_owner(client, guard, gone=True)

    loop.run_in_loop(end())


async def _end(
    client: KubeClient, guard: GuardProperties, session: StackSession, allowed: bool
) -> None:
    """Let nothing be lost, or what the stack allows."""
    used = await _objects(client, guard, guard.kinds)
    if not used:
        return
    if not allowed:
        raise Refused(
            f"{_said(used)} would be lost; delete what is left first, or run `pulumi config set "
            f"trainer:{ALLOW} true` and destroy again, which deletes all of it"
        )
    session.messages(guard.urn).info(f"trainer:{ALLOW} is set: deletes {_said(used)}")
    await _delete_all(client, guard)


def _is_allowed(guard: GuardProperties, session: StackSession) -> bool:
    """What the stack's file says now; without a file what the last `up` knew."""
    settings, known = session.settings_now(guard), guard.json.get(ALLOW)
    said = known if settings is None else settings.get(ALLOW) or known
    return str(said).lower() == "true"


@asynccontextmanager
async def _cluster(guard: GuardProperties, session: StackSession) -> AsyncIterator[KubeClient]:
    """The cluster of what is guarded.

    Raises:
        Refused: The one that is reached is another.
    """
    name, uid = guard.landmark
    async with owner_check.installation_cluster(guard, session) as client:
        if uid and (await owner_check.namespace_metadata(client, name)).get("uid") != uid:
            raise Refused(
                f"the cluster {client.server} has another namespace {name} than the one that is guarded; "
                "set trainer:kubeconfig and trainer:context to the cluster of the component's provider, or "
                'say it at the component: guard={"kubeconfig": PATH, "context": NAME}'
            )
        yield client


async def _objects(
    client: KubeClient, guard: GuardProperties, kinds: Iterable[tuple[str, str]]
) -> Mapping[Resource, Sequence[JSONObject]]:
    """The objects of kinds that are guarded, where there are any."""
    found = {}
    for each in kinds:
        try:
            resource = await client.resource(*each)
        except NotServed:
            continue
        items = (await client.list(ObjectSelection(resource, guard.namespace))).items
        if used := [o for o in items if f"{o['kind']}/{_place(o)}" not in guard.ignored]:
            found[resource] = used
    return found


def _place(value: JSONObject) -> str:
    metadata = value["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


async def _delete_all(client: KubeClient, guard: GuardProperties) -> None:
    """Delete the objects kind by kind, each once those before it are gone.

    Raises:
        NotAvailable: Some are still there after `PATIENCE`.
    """
    until = time.monotonic() + PATIENCE
    for kind in guard.kinds:
        while used := await _objects(client, guard, (kind,)):
            if time.monotonic() > until:
                metadata = [each["metadata"] for items in used.values() for each in items]
                held_by = sorted({name for one in metadata for name in one.get("finalizers") or ()})
                raise NotAvailable(
                    f"{_said(used)} are still there after {PATIENCE:.0f} s, held by "
                    f"{', '.join(held_by) or 'nothing that they name'}; look whether "
                    "their controller runs, and destroy again"
                )
            for resource, items in used.items():
                await asyncio.gather(*(_delete(client, resource, each) for each in items))
            await asyncio.sleep(_PERIOD)


async def _delete(client: KubeClient, resource: Resource, value: JSONObject) -> None:
    metadata = value["metadata"]
    if "deletionTimestamp" not in metadata:
        place = (metadata["name"], metadata.get("namespace", ""))
        with suppress(NotFound):
            await client.delete(resource, *place, uid=metadata["uid"])


def _said(used: Mapping[Resource, Sequence[JSONObject]]) -> str:
    """`2 TrainJobs (vision/a, vision/b), 1 ClusterQueue (vision)`."""
    return ", ".join(
        f"{len(items)} {resource.kind}{'s' if items[1:] else ''} "
        f"({listed(map(_place, items), most=_SHOWN)})"
        for resource, items in used.items()
    )
