"""What an account of the cluster must be allowed to do, by what it is for; and whether it is.

`ROLES` is the one table: docs/kubernetes.md has the same as Roles to apply. Before anything of a run
is written, `runs` asks whether all of it may be (SelfSubjectAccessReview, which every user may make
and every authorizer answers), so that a right that is missing leaves nothing half made.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import kueue_objects, live_objects
from trainer_infra.errors import Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import resource as kinds
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotServed
from trainer_infra.runs.run import RunKey

WITHIN: Final = 5.0
"""Seconds for asking; without an answer it is tried without."""
DENIED_FOR: Final = 10.0
"""Seconds for which a no is known: who was given the right meanwhile tries again."""
SEE: Final = "docs/kubernetes.md, Rights"


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource."""

    verb: str
    resource: str
    """In the plural, with its subresource: `pods/log`."""
    group: str = ""
    """API group; empty for the core group."""
    namespaced: bool = True

    def shown(self) -> str:
        """`create jobsets.jobset.x-k8s.io`."""
        return f"{self.verb} {'.'.join(filter(None, (self.resource, self.group)))}"


def right_to(kind: kinds.Resource, *verbs: str, subresource: str = "") -> tuple[Right, ...]:
    """The rights to do that with a kind."""
    resource = "/".join(filter(None, (kind.plural, subresource)))
    group = kind.api_version.rpartition("/")[0]
    return tuple(Right(verb, resource, group, kind.namespaced) for verb in verbs)


WORKLOAD: Final = kinds.Resource(kueue_objects.VERSIONS[0], kueue_objects.WORKLOAD, "workloads")

WHOLE: Final = ("create", "get", "patch", "delete")
"""What is done with every object of a run: made, found, repaired or adopted, removed."""

ROLES: Final[Mapping[str, tuple[Right, ...]]] = {
    "submit": (
        *right_to(kinds.CONFIG_MAP, *WHOLE, "list"),
        *right_to(kinds.SECRET, *WHOLE),
        *right_to(kinds.JOBSET, *WHOLE, "list"),
        *right_to(kinds.POD, "list"),
        *right_to(kinds.SERVICE, "get"),
    ),
    "gate": (
        *right_to(kinds.CONFIG_MAP, "get", "list", "patch"),
        *right_to(kinds.SECRET, "get"),
        *right_to(kinds.JOBSET, "get", "list"),
        *right_to(kinds.POD, "list", "watch"),
        *right_to(kinds.POD, "get", subresource="log"),
        *right_to(kinds.EVENT, "list"),
        *right_to(kinds.JOB, "list"),
        *right_to(WORKLOAD, "list"),
    ),
    "nodes": right_to(kinds.NODE, "get"),
    "cli": (
        *right_to(kinds.CONFIG_MAP, "get", "list", "patch", "delete"),
        *right_to(kinds.SECRET, "get", "delete"),
        *right_to(kinds.JOBSET, "get", "list", "patch", "delete"),
        *right_to(kinds.POD, "get", "list", "watch"),
        *right_to(kinds.POD, "get", subresource="log"),
        *right_to(kinds.EVENT, "list"),
        *right_to(kinds.JOB, "list"),
        *right_to(WORKLOAD, "list"),
    ),
    "gc": (
        *right_to(kinds.CONFIG_MAP, "get", "list", "delete"),
        *right_to(kinds.SECRET, "get", "delete"),
        *right_to(kinds.JOBSET, "get", "list", "delete"),
        *right_to(kinds.POD, "list"),
    ),
    "trainjobs": (
        *right_to(kinds.TRAIN_JOB, *WHOLE, "list", "watch"),
        *right_to(kinds.TRAINING_RUNTIME, "get"),
    ),
    "cluster-runtime-names": right_to(kinds.CLUSTER_TRAINING_RUNTIME, "get"),
    "runtimes": right_to(kinds.TRAINING_RUNTIME, *WHOLE),
    "cluster-runtimes": right_to(kinds.CLUSTER_TRAINING_RUNTIME, *WHOLE),
}
"""By the last part of the Role's name, `trainer-infra-<purpose>`."""

LOOK: Final = (*ROLES["gate"], *ROLES["nodes"])
"""What tells how a run is and why it waits; without it less is known, and nothing fails."""


class Rights:
    """What this account may do; asked once for each right and namespace. Lives in one event loop."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._asked: dict[tuple[str, Right], tuple[float, asyncio.Task[bool]]] = {}

    async def require(self, namespace: str, rights: Iterable[Right], what: str) -> None:
        """Refuse what this account may not do to the end, for example `submit run team/digits`.

        Raises:
            Refused: A right is missing; names all that are.
        """
        denied = await self.denied(namespace, rights)
        if denied:
            raise Refused(
                f"this account may not {what}: in namespace {namespace} it lacks the right to "
                f"{shown_rights(denied)}; nothing was changed; ask for the Roles of {SEE}"
            )

    async def require_submit(self, key: RunKey, values: Iterable[JSONObject], verb: str) -> None:
        """Refuse to make objects that this account may not complete, repair and remove again; as `require`."""
        found = [*right_to(kinds.POD, "list"), *right_to(kinds.SERVICE, "get")]
        for kind in await self._kinds(values):
            known = (each for each in ROLES["submit"] if each in right_to(kind, *WHOLE, "list"))
            found += tuple(known) or right_to(kind, *WHOLE)
        await self.require(key.namespace, found, f"{verb} {key.shown()}")

    async def require_delete(self, key: RunKey, values: Iterable[JSONObject]) -> None:
        """Refuse to remove objects that this account may not find and remove; as `require`."""
        served = await self._kinds(values)
        wanted = (right for kind in served for right in right_to(kind, "get", "delete"))
        await self.require(key.namespace, wanted, f"delete {key.shown()}")

    async def _kinds(self, values: Iterable[JSONObject]) -> tuple[kinds.Resource, ...]:
        """The kinds of objects, each once; those that are not served are for others to complain of."""
        found: dict[kinds.Resource, None] = {}
        for value in values:
            with suppress(NotServed):
                found[await live_objects.resource_of(self._client, value)] = None
        return tuple(found)

    async def denied(self, namespace: str, rights: Iterable[Right]) -> tuple[Right, ...]:
        """Those of the rights that this account does not have; none where it cannot be asked."""
        wanted = tuple(dict.fromkeys(rights))
        try:
            async with asyncio.timeout(WITHIN):
                # Once for all of them: the server's kinds are asked for with the first review.
                await self._client.resource(
                    kinds.ACCESS_REVIEW.api_version, kinds.ACCESS_REVIEW.kind
                )
                given = await asyncio.gather(*(self._allowed(namespace, each) for each in wanted))
        except (TrainerInfraError, TimeoutError):
            return ()
        return tuple(each for each, allowed in zip(wanted, given, strict=True) if not allowed)

    async def unseen(self, namespace: str) -> str:
        """What this account cannot know of runs and why they wait, as a sentence; or empty."""
        with_kueue = False
        with suppress(TrainerInfraError):
            with_kueue = await kueue_objects.is_served(self._client)
        ignored = () if with_kueue else right_to(WORKLOAD, "list")
        denied = await self.denied(namespace, (each for each in LOOK if each not in ignored))
        if not denied:
            return ""
        return (
            f"this account lacks the right to {shown_rights(denied)} in namespace {namespace}: why pods "
            f"wait, or why one failed, may stay unknown; ask for the Roles of {SEE}"
        )

    async def _allowed(self, namespace: str, right: Right) -> bool:
        key, now = (namespace, right), time.monotonic()
        known = self._asked.get(key)
        if known is None or _is_stale(*known, now):
            task = asyncio.ensure_future(self._review(namespace, right))
            known = self._asked[key] = (now, task)
        return await asyncio.shield(known[1])

    async def _review(self, namespace: str, right: Right) -> bool:
        resource, _, subresource = right.resource.partition("/")
        attributes = {
            "namespace": namespace if right.namespaced else "",
            "verb": right.verb,
            "group": right.group,
            "resource": resource,
            "subresource": subresource,
        }
        review = {
            "apiVersion": kinds.ACCESS_REVIEW.api_version,
            "kind": kinds.ACCESS_REVIEW.kind,
            "metadata": {},
            "spec": {"resourceAttributes": attributes},
        }
        answer = await self._client.within(WITHIN).create(review, manager=names.FIELD_MANAGER)
        return bool(answer["status"]["allowed"])


def _is_stale(at: float, asked: "asyncio.Task[bool]", now: float) -> bool:
    """Whether it is to be asked again: it failed, or was a no some time ago."""
    if not asked.done():
        return False
    if asked.cancelled() or asked.exception() is not None:
        return True
    return not asked.result() and now - at > DENIED_FOR


def shown_rights(rights: Iterable[Right]) -> str:
    """`create and delete secrets, list pods`."""
    by_resource: dict[str, list[str]] = {}
    for each in rights:
        verb, _, resource = each.shown().partition(" ")
        by_resource.setdefault(resource, []).append(verb)
    return ", ".join(f"{_joined(verbs)} {resource}" for resource, verbs in by_resource.items())


def _joined(verbs: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(verbs[:-1]), verbs[-1])))
