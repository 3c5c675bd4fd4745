"""Runtimes as objects of the cluster: applied, looked at and deleted for who declares them.

`ClusterRuntimes` is what a target offers of them. A runtime is not a run: it has labels that say whose
it is, an annotation with the backend, and nothing owns it. Engine `provider` reads none of them;
other users of the cluster, and a controller, do.
"""

from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import drift, live_objects, object_writes, run_labels
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, Conflict, NotFound, NotServed
from trainer_infra.runs.run import Owner
from trainer_infra.runs.target import RuntimeStore

INSTALL_CRDS: Final = (
    "install it with `trainer-infra crds | kubectl apply --server-side -f -`; TrainJobs that carry "
    "their runtime, or name one of the catalog's, need none"
)


@dataclass(frozen=True, slots=True)
class ClusterRuntimes(RuntimeStore):
    """Runtimes of a cluster."""

    ask: Callable[[Callable[[KubeClient], Coroutine[Any, Any, Any]]], Any]
    """Gives the cluster's client to a coroutine, and waits for what that finds."""

    @override
    def missing(self, kind: str) -> str:
        return str(self.ask(lambda client: missing_kind(client, kind)))

    @override
    def create(self, runtime: JSONObject, owner: Owner, *, adopt: bool) -> JSONObject:
        value = with_owner(runtime, owner)
        made: JSONObject = self.ask(lambda client: create_runtime(client, value, adopt=adopt))
        return made

    @override
    def apply(self, runtime: JSONObject, owner: Owner, uid: str) -> JSONObject:
        value = with_owner(runtime, owner)
        stored: JSONObject = self.ask(lambda client: apply_runtime(client, value, uid))
        return stored

    @override
    def get(self, runtime: JSONObject) -> JSONObject | None:
        stored: JSONObject | None = self.ask(lambda client: live_runtime(client, runtime))
        return stored

    @override
    def other_owner(self, stored: JSONObject, owner: Owner) -> str:
        return taken_by(stored, owner)

    @override
    def drift(self, runtime: JSONObject, owner: Owner, stored: JSONObject) -> Mapping[str, str]:
        return drift.drifted_fields(with_owner(runtime, owner), stored)

    @override
    def delete(self, runtime: JSONObject, owner: Owner, uid: str) -> str:
        return str(self.ask(lambda client: delete_runtime(client, runtime, uid, owner)))


def with_owner(value: JSONObject, owner: Owner) -> JSONObject:
    """The runtime with what says whose it is."""
    of_owner = {key: each for key, each in run_labels.labels_of(owner, "").items() if each}
    metadata = value["metadata"]
    both = {**(metadata.get("labels") or {}), **of_owner}
    marked = {**metadata, "labels": both}
    if owner.backend:
        notes = metadata.get("annotations") or {}
        marked["annotations"] = {**notes, names.BACKEND_ANNOTATION: owner.backend}
    return {**value, "metadata": marked}


def taken_by(there: JSONObject, owner: Owner) -> str:
    """Whose the runtime is by now, when it is another owner's; else empty.

    What another writer removed says nothing: that is drift.
    """
    ours, found = _marks(with_owner({"metadata": {}}, owner)), _marks(there)
    differ = any(found.get(key, ours[key]) != ours[key] for key in ours)
    return _shown(there) if differ else ""


async def missing_kind(client: KubeClient, kind: str) -> str:
    """What to do when the cluster does not serve the kind; empty when it does."""
    if await live_objects.served_kind(client, names.API_VERSION, kind):
        return ""
    return f"the cluster does not serve {kind} of {names.API_VERSION}; {INSTALL_CRDS}"


async def create_runtime(client: KubeClient, value: JSONObject, *, adopt: bool) -> JSONObject:
    """The labelled runtime as stored; one that its owner made before is completed, another's taken over by `adopt`.

    Raises:
        NotAvailable: The cluster does not serve the kind.
        Refused: One of that name is another owner's, or the cluster says no.
        InvalidInput: The cluster finds problems in it.
    """
    there = await live_runtime(client, value)
    if there is not None and not adopt and not _is_of_owner_of(value, there):
        raise Refused(
            f"{live_objects.object_shown(value)} exists and belongs to {_shown(there)}; choose another name, delete "
            "it, or set adopt=True to take it over"
        )
    return await apply_runtime(client, value)


async def apply_runtime(client: KubeClient, value: JSONObject, uid: str = "") -> JSONObject:
    """The labelled runtime as stored, with every field as it is declared, whatever writer changed it.

    It must be the one of that UID, unless it is new.

    Raises:
        NotAvailable: The cluster does not serve the kind.
        Refused: It is another runtime by now, or the cluster says no.
        InvalidInput: The cluster finds problems in it.
    """
    if uid:
        value = {**value, "metadata": {**value["metadata"], "uid": uid}}
    try:
        return await client.apply(value, manager=names.FIELD_MANAGER, force=True)
    except (Answer, NotServed) as error:
        raise await _said(client, error, value) from error


async def live_runtime(client: KubeClient, value: JSONObject) -> JSONObject | None:
    """The runtime of that name as it is now; None when there is none.

    Raises:
        NotAvailable: The cluster does not serve the kind.
        Refused: It may not be read.
    """
    metadata = value["metadata"]
    try:
        kind = await client.resource(names.API_VERSION, value["kind"])
        with suppress(NotFound):
            return await client.get(kind, metadata["name"], metadata.get("namespace", ""))
    except (Answer, NotServed) as error:
        raise await _said(client, error, value) from error
    return None


async def delete_runtime(client: KubeClient, value: JSONObject, uid: str, owner: Owner) -> str:
    """Delete that very runtime; a sentence where it stays, for now or as another's, or empty.

    Gone already, or another one of that name, is fine.
    """
    metadata = value["metadata"]
    kind = await live_objects.served_kind(client, names.API_VERSION, value["kind"])
    if kind is None:
        return ""
    try:
        there = await client.get(kind, metadata["name"], metadata.get("namespace", ""))
        if there["metadata"]["uid"] == uid and (whose := taken_by(there, owner)):
            return f"{live_objects.object_shown(value)} is left alone: it belongs to {whose} now"
        await client.delete(kind, metadata["name"], metadata.get("namespace", ""), uid=uid)
        there = await client.get(kind, metadata["name"], metadata.get("namespace", ""))
    except (NotFound, Conflict):
        return ""
    except Answer as error:
        raise await _said(client, error, value) from error
    finalizers = there["metadata"].get("finalizers") or ()
    if there["metadata"]["uid"] != uid or not finalizers:
        return ""
    return f"{live_objects.object_shown(value)} goes once {', '.join(finalizers)} allows it: TrainJobs still use it"


async def _said(client: KubeClient, error: Answer | NotServed, value: JSONObject) -> Exception:
    if sentence := await missing_kind(client, value["kind"]):
        return NotAvailable(sentence)
    return object_writes.explain_refusal(error, value)


def _is_of_owner_of(value: JSONObject, there: JSONObject) -> bool:
    ours, found = _marks(value), _marks(there)
    if any(found.get(key) != ours[key] for key in _OWNER):
        return False
    mine, theirs = ours.get(names.BACKEND_ANNOTATION), found.get(names.BACKEND_ANNOTATION)
    return mine == theirs or None in (mine, theirs)


_OWNER: Final = (names.PROJECT_LABEL, names.STACK_LABEL, names.URN_LABEL)


def _marks(value: JSONObject) -> Mapping[str, str]:
    """The labels and the annotation that say whose a runtime is."""
    metadata = value["metadata"]
    both = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    return {key: both[key] for key in (*_OWNER, names.BACKEND_ANNOTATION) if key in both}


def _shown(there: JSONObject) -> str:
    found = _marks(there)
    if names.STACK_LABEL not in found:
        return live_objects.owner_shown(there)
    backend = found.get(names.BACKEND_ANNOTATION)
    kept = f" in backend {backend}" if backend else ""
    project = found.get(names.PROJECT_LABEL)
    return f"stack {found[names.STACK_LABEL]} of project {project}{kept}"
