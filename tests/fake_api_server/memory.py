"""A client without a server, for fast tests of what is written against `KubeClient`.

It keeps the contract of http.py (tests/kube/contract): versions, uids, field owners, refusals,
watches with a bounded history. There are no controllers in it: a test plays them, with other
managers. Garbage is collected when asked, and a container's log is what a test says.
"""

import asyncio
import copy
from collections.abc import AsyncGenerator, Iterable
from typing import Any

from typing_extensions import override

from tests.fake_api_server import (
    merge_patch,
    object_selection,
    object_store,
    request_judgement,
    schema_shape,
    server_side_apply,
)
from tests.fake_api_server.container_logs import Logs
from tests.fake_api_server.object_store import Place, Store
from tests.fake_api_server.request_judgement import refused
from tests.fake_api_server.served_kinds import KINDS, WITHOUT_STATUS
from tests.fake_api_server.server_side_apply import STATUS, Writer
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import (
    PAGE,
    KubeClient,
    LogOf,
    ObjectChange,
    ObjectSelection,
    Page,
    Propagation,
)
from trainer_infra.kube.refusals import NotServed
from trainer_infra.kube.request import named_path
from trainer_infra.kube.resource import ACCESS_REVIEW, NAMESPACE, POD, Resource


class Memory(KubeClient):
    """Objects in this process; use it in one event loop."""

    def __init__(
        self, kinds: Iterable[Resource] = KINDS, *, history: int = 1000, bookmarks: float = 60.0
    ) -> None:
        """An empty cluster with the namespaces `default` and `kube-system`; everything is allowed.

        Args:
            kinds: what is served.
            history: changes that a watch can begin before.
            bookmarks: seconds without a change after which a watch brings a bookmark.
        """
        self._kinds = {(each.api_version, each.kind): each for each in kinds}
        self._store = Store(history)
        self._bookmarks = bookmarks
        self._logs = Logs()
        self._waiting: set[asyncio.Future[None]] = set()
        for name in ("default", "kube-system"):
            value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            made = self._store.complete(NAMESPACE, None, value)
            self._store.put(NAMESPACE, ("", name), made)

    @property
    @override
    def server(self) -> str:
        """What messages call it."""
        return "memory:"

    @override
    def within(self, seconds: float) -> KubeClient:
        """This client, which answers at once."""
        return self

    @override
    async def resource(self, api_version: str, kind: str) -> Resource:
        """A kind that is served.

        Raises:
            NotServed: It is not.
        """
        return self._served(api_version, kind)

    @override
    async def get(self, resource: Resource, name: str, namespace: str = "") -> JSONObject:
        """One object.

        Raises:
            NotFound: There is none of that name.
        """
        return copy.deepcopy(self._there(resource, name, namespace, "read"))

    @override
    async def list(self, selection: ObjectSelection) -> Page:
        """All selected objects."""
        self._served(selection.resource.api_version, selection.resource.kind)
        wanted = object_selection.matching(selection, f"list {selection.resource.plural}")
        found = (value for _, value in self._store.all(selection.resource) if wanted(value))
        return Page(tuple(copy.deepcopy(list(found))), str(self._store.version))

    @override
    async def pages(self, selection: ObjectSelection) -> AsyncGenerator[Page, None]:
        """All selected objects, in one page or in several."""
        whole = await self.list(selection)
        for first in range(0, max(1, len(whole.items)), PAGE):
            yield Page(whole.items[first : first + PAGE], whole.resource_version)

    @override
    async def create(self, value: JSONObject, *, manager: str, dry_run: bool = False) -> JSONObject:
        """A new object, as stored.

        Raises:
            Exists: There is one of that name.
            NotFound: Its namespace does not exist.
            Invalid: What it says cannot be.
        """
        kind, place, asked = self._place("create", value)
        if kind == ACCESS_REVIEW:
            return {**copy.deepcopy(dict(value)), "status": {"allowed": True}}
        request_judgement.check_namespace(kind, place, self._store, asked)
        if self._store.get(kind, place) is not None:
            message = f'{request_judgement.plural(kind)} "{place[1]}" already exists'
            raise refused("AlreadyExists", message, asked, kind, place[1])
        config = server_side_apply.own(value, "", kind not in WITHOUT_STATUS)
        head = object_store.head(kind, place)
        metadata = {**config.get("metadata", {}), **head["metadata"]}
        whole = {**head, **config, "metadata": metadata}
        writer = Writer(manager, "Update")
        new = server_side_apply.created(whole, config, writer, object_store.now())
        return self._stored(kind, place, new, asked, dry_run)

    @override
    async def apply(
        self, value: JSONObject, *, manager: str, force: bool = False, dry_run: bool = False
    ) -> JSONObject:
        """Server-side apply: the object as stored; created where it is missing.

        Raises:
            Conflict: Others own a field and have another value, and not `force`; or it is another
                version or another object.
            Invalid: What it says cannot be, or changes what cannot change.
        """
        kind, place, asked = self._place("apply", value)
        old = self._store.get(kind, place)
        if old is None:
            request_judgement.check_namespace(kind, place, self._store, asked)
        return self._applied(kind, value, Writer(manager, force=force), asked, dry_run)

    @override
    async def merge(self, value: JSONObject, *, manager: str) -> JSONObject:
        """JSON merge patch of an object: the object as stored.

        Raises:
            NotFound: The object does not exist.
            Conflict: It is another version.
            Invalid: What it says cannot be, or changes what cannot change.
        """
        kind, place, asked = self._place("patch", value)
        old = self._there(kind, place[1], place[0], "patch")
        request_judgement.check_identity(kind, old, value["metadata"], asked)
        merged = merge_patch.merged(old, value)
        if kind not in WITHOUT_STATUS and "status" in old:
            merged["status"] = old["status"]
        return self._updated(kind, place, merged, Writer(manager, "Update"), asked)

    @override
    async def patch_status(
        self, value: JSONObject, *, manager: str, force: bool = True
    ) -> JSONObject:
        """Server-side apply of the status subresource: the object as stored.

        Raises:
            NotFound: The object, or the subresource of its kind, does not exist.
            Conflict: As for `apply`.
        """
        kind, place, asked = self._place("apply the status of", value)
        if kind in WITHOUT_STATUS:
            message = "the server could not find the requested resource"
            raise refused("NotFound", message, asked)
        self._there(kind, place[1], place[0], "apply the status of")
        return self._applied(kind, value, Writer(manager, "Apply", STATUS, force), asked, False)

    @override
    async def merge_status(self, value: JSONObject, *, manager: str) -> JSONObject:
        """JSON merge patch of the status subresource: the object as stored.

        Raises:
            NotFound: The object, or the subresource of its kind, does not exist.
            Conflict: It is another version.
        """
        kind, place, asked = self._place("patch the status of", value)
        if kind in WITHOUT_STATUS:
            message = "the server could not find the requested resource"
            raise refused("NotFound", message, asked)
        old = self._there(kind, place[1], place[0], "patch the status of")
        request_judgement.check_identity(kind, old, value["metadata"], asked)
        merged = {**old, "status": merge_patch.merged(old.get("status"), value.get("status"))}
        return self._updated(kind, place, merged, Writer(manager, "Update", STATUS), asked)

    @override
    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        propagation: Propagation = "Background",
    ) -> None:
        """Begin to delete an object; it is gone when its finalizers are done.

        Raises:
            NotFound: There is none of that name.
            Conflict: It has another uid.
        """
        there = self._there(resource, name, namespace, "delete")
        asked = f"delete {named_path(resource, name, namespace)}"
        found = there["metadata"]["uid"]
        if uid not in ("", found):
            message = (
                f"the UID in the precondition ({uid}) does not match the UID in record ({found})"
            )
            raise refused("Conflict", message, asked, resource, name)
        finalizer = {"Foreground": object_store.FOREGROUND, "Orphan": object_store.ORPHAN}.get(
            propagation, ""
        )
        self._store.delete(resource, _at(resource, namespace, name), finalizer)
        self._wake()

    @override
    async def watch(
        self, selection: ObjectSelection, since: str
    ) -> AsyncGenerator[ObjectChange, None]:
        """Changes after the resourceVersion `since`, with bookmarks, without an end.

        Raises:
            Expired: `since` is too long ago: list again.
        """
        asked = f"watch {selection.resource.plural}"
        self._served(selection.resource.api_version, selection.resource.kind)
        wanted, version = object_selection.matching(selection, asked), int(since or 0)
        if version == 0:
            page, version = await self.list(selection), self._store.version
            for value in page.items:
                yield ObjectChange("ADDED", value)
        while True:
            events = self._store.since(version)
            if events is None:
                message = f"too old resource version: {version}"
                raise refused("Expired", message, asked)
            for event in events:
                version = event.version
                change = object_selection.change(event, selection.resource, wanted)
                if change is not None:
                    yield change
            if not events and not await self._changed(self._bookmarks):
                yield ObjectChange(
                    "BOOKMARK", object_selection.bookmark(selection.resource, self._store.version)
                )

    @override
    async def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        """The lines of a container's log, without their line ends.

        Raises:
            NotFound: There is no such pod.
            Invalid: Its container has not started, or has no such name.
        """
        pod = self._there(POD, wanted.pod, wanted.namespace, "read the log of")
        log, position = self._logs.find(wanted, pod), 0
        if wanted.tail is not None:
            position = max(0, len(log.lines) - wanted.tail)
        while True:
            for line in log.lines[position:]:
                position += 1
                if line.time >= wanted.since:
                    yield f"{line.time} {line.text}" if wanted.since else line.text
            if position < len(log.lines):
                continue
            if log.ended or not wanted.follow:
                return
            await self._changed(None)

    @override
    async def close(self) -> None:
        """Nothing to end."""

    def write_log(self, namespace: str, pod: str, line: str, container: str) -> None:
        """A container writes a line; the first one starts it."""
        self._logs.write(namespace, pod, container, line)
        self._wake()

    def end_log(self, namespace: str, pod: str, container: str) -> None:
        """A container ends."""
        self._logs.end(namespace, pod, container)
        self._wake()

    def collect_garbage(self) -> None:
        """Delete what has lost its owners, and let go what waits for those it owns."""
        while self._store.collect():
            pass
        self._wake()

    def _served(self, api_version: str, kind: str) -> Resource:
        found = self._kinds.get((api_version, kind))
        if found is None:
            raise NotServed(self.server, api_version, kind)
        return found

    def _place(self, verb: str, value: JSONObject) -> tuple[Resource, Place, str]:
        """Kind, place and what is asked, of an object that is sent."""
        kind = self._served(value["apiVersion"], value["kind"])
        metadata = value["metadata"]
        place = _at(kind, metadata.get("namespace") or "default", metadata.get("name") or "")
        asked = f"{verb} {named_path(kind, place[1], place[0])}"
        request_judgement.check_size(value, asked)
        return kind, place, asked

    def _there(self, kind: Resource, name: str, namespace: str, verb: str) -> dict[str, Any]:
        """A stored object.

        Raises:
            NotFound: There is none.
        """
        self._served(kind.api_version, kind.kind)
        found = self._store.get(kind, _at(kind, namespace, name))
        if found is None:
            message = f'{request_judgement.plural(kind)} "{name}" not found'
            asked = f"{verb} {named_path(kind, name, namespace)}"
            raise refused("NotFound", message, asked, kind, name)
        return found

    def _applied(
        self, kind: Resource, value: JSONObject, writer: Writer, asked: str, dry_run: bool
    ) -> JSONObject:
        metadata = value["metadata"]
        place = _at(kind, metadata.get("namespace") or "default", metadata["name"])
        old = self._store.get(kind, place)
        meant = {**metadata, "uid": ""} if writer.subresource else metadata
        request_judgement.check_identity(kind, old, meant, asked)
        config = server_side_apply.own(value, writer.subresource, kind not in WITHOUT_STATUS)
        new = server_side_apply.applied(
            old or object_store.head(kind, place), config, writer, object_store.now(), asked
        )
        if new == old:
            return copy.deepcopy(new)
        return self._stored(kind, place, new, asked, dry_run)

    def _updated(
        self, kind: Resource, place: Place, merged: JSONObject, writer: Writer, asked: str
    ) -> JSONObject:
        old = self._store.get(kind, place)
        assert old is not None
        new = server_side_apply.updated(old, merged, writer, object_store.now())
        return copy.deepcopy(new) if new == old else self._stored(kind, place, new, asked, False)

    def _stored(
        self, kind: Resource, place: Place, new: JSONObject, asked: str, dry_run: bool
    ) -> JSONObject:
        old = self._store.get(kind, place)
        made = schema_shape.defaulted(
            self._store.complete(kind, old, new), schema_shape.of(kind.api_version, kind.kind)
        )
        request_judgement.judge(kind, old, made, asked)
        if not dry_run:
            made = self._store.put(kind, place, made)
            self._wake()
        return copy.deepcopy(made)

    async def _changed(self, seconds: float | None) -> bool:
        """Wait for the next change of anything; whether there was one in time."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)


def _at(kind: Resource, namespace: str, name: str) -> Place:
    return (namespace if kind.namespaced else "", name)
