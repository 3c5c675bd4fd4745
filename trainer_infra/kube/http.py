"""The client of a real API server.

Each method says what it asks of the server; `transport` sends it, `watching` and `log_lines` read streams.
What HTTP needs is imported with the first connection: most commands never make one.
"""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from typing_extensions import override

from trainer_infra import names
from trainer_infra.errors import NotAvailable
from trainer_infra.in_pod import own_place
from trainer_infra.json_values import JSONObject, has_all
from trainer_infra.kube import answer_body, log_lines, watching
from trainer_infra.kube import kubeconfig as kubeconfigs
from trainer_infra.kube.client import (
    PAGE,
    KubeClient,
    LogOf,
    ObjectChange,
    ObjectSelection,
    Page,
    Propagation,
)
from trainer_infra.kube.refusals import Exists, Expired, NotServed
from trainer_infra.kube.request import LIST, KubeRequest, KubeResponse, named_path, refusal_of
from trainer_infra.kube.request_retry import Patience, RequestRate
from trainer_infra.kube.resource import Resource

if TYPE_CHECKING:
    from trainer_infra.kube.transport import Transport

_APPLY: Final = "application/apply-patch+yaml"
"""JSON is YAML too."""
_MERGE: Final = "application/merge-patch+json"
_NOT_FOUND: Final = 404
_SECOND: Final = timedelta(seconds=1)
"""To which an object's creationTimestamp and HTTP's Date are exact."""


async def connect_client(
    kubeconfig: str | None = None,
    context: str | None = None,
    patience: Patience | None = None,
    rate: RequestRate | None = None,
) -> KubeClient:
    """A client for this event loop; nothing is asked of the server yet.

    Args:
        kubeconfig: see `kubeconfig.read_kubeconfig`: a path, several, a text, or None for the usual places.
        context: name of a context; None for the current one.
        patience: how long to go on trying; None for the usual.
        rate: how many requests it makes in a second; None for as many as are asked.

    Raises:
        NotAvailable: There is no kubeconfig, or it cannot be used, or a package is missing.
    """
    try:
        signed_in = await asyncio.to_thread(kubeconfigs.read_kubeconfig, kubeconfig, context)
        from trainer_infra.kube.transport import Transport  # noqa: PLC0415  costs 0.2 s
    except ModuleNotFoundError as error:
        raise NotAvailable(
            f"talking to a cluster needs the package {error.name}; "
            f"run `{own_place.install_command('kubernetes')}`"
        ) from error
    source = (kubeconfig, context)
    return HttpClient(Transport(source, signed_in, patience or Patience(), rate))


class HttpClient(KubeClient):
    """KubeClient over HTTP; made by `connect_client`."""

    def __init__(
        self,
        transport: "Transport",
        kinds: dict[tuple[str, str], Resource] | None = None,
        until: float = math.inf,
    ) -> None:
        self._transport = transport
        self._kinds = {} if kinds is None else kinds
        self._until = until

    @property
    @override
    def server(self) -> str:
        return self._transport.server

    @override
    def now(self) -> datetime:
        return self._transport.clock.now()

    @override
    def within(self, seconds: float) -> KubeClient:
        return HttpClient(self._transport, self._kinds, time.monotonic() + seconds)

    @override
    async def close(self) -> None:
        await self._transport.close()

    @override
    async def resource(self, api_version: str, kind: str) -> Resource:
        found = self._kinds.get((api_version, kind))
        if found is None:
            self._kinds.update(await self._discovered(api_version, kind))
            found = self._kinds.get((api_version, kind))
        if found is None:
            raise NotServed(self.server, api_version, kind)
        return found

    async def _discovered(self, api_version: str, kind: str) -> Mapping[tuple[str, str], Resource]:
        request = KubeRequest(
            "GET",
            Resource(api_version, kind, "").path(),
            f"find {kind} of {api_version}",
            expected=answer_body.DISCOVERED,
        )
        response = await self._sent(request)
        if response.status == _NOT_FOUND:
            return {}
        if response.refused:
            raise refusal_of(request, response, self.server)
        return {
            (api_version, each["kind"]): Resource(
                api_version, each["kind"], each["name"], each["namespaced"]
            )
            for each in response.said["resources"]
            if "/" not in each["name"]
        }

    @override
    async def get(self, resource: Resource, name: str, namespace: str = "") -> JSONObject:
        return await self._value(_reading(resource, name, namespace))

    @override
    async def list(self, selection: ObjectSelection) -> Page:
        """As `KubeClient.list`; the second time in one piece, which cannot expire."""
        try:
            return await self._listed(selection, {"limit": str(PAGE)})
        except Expired:
            return await self._listed(selection, {})

    async def _listed(self, selection: ObjectSelection, limit: Mapping[str, str]) -> Page:
        items: list[JSONObject] = []
        version = ""
        async for page in self._pages(selection, limit):
            items += page.items
            version = page.resource_version
        return Page(tuple(items), version)

    @override
    def pages(self, selection: ObjectSelection) -> AsyncGenerator[Page, None]:
        return self._pages(selection, {"limit": str(PAGE)})

    async def _pages(
        self, selection: ObjectSelection, limit: Mapping[str, str]
    ) -> AsyncGenerator[Page, None]:
        resource = selection.resource
        asked = f"list {resource.plural} of {selection.namespace or 'every namespace'}"
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        query = {**watching.selection_changes(selection), **limit}
        while True:
            path = resource.path(selection.namespace)
            request = KubeRequest("GET", path, asked, query, resource=resource, expected=LIST)
            said = await self._value(request)
            items = said.get("items") or ()
            for item in items:
                item.update(head)
            metadata = said["metadata"]
            yield Page(tuple(items), metadata["resourceVersion"])
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    @override
    async def create(self, value: JSONObject, *, manager: str, dry_run: bool = False) -> JSONObject:
        """As `KubeClient.create`, for once.

        Where it is not known whether a try reached the server, it is sent again. If the object is
        there then, it is ours when it was made since the first try by the server's clock, by this
        manager, and holds all that was sent; otherwise another writer was first.
        """
        resource, name, namespace = await self._place(value)
        request = KubeRequest(
            "POST",
            resource.path(namespace),
            f"create {named_path(resource, name or '(any name)', namespace)}",
            {"fieldManager": manager, "fieldValidation": "Strict", **_dry(dry_run)},
            value,
            resource=resource,
            repeatable=bool(name),
            expected=resource.kind,
        )
        began = time.monotonic()
        response = await self._sent(request)
        if not response.refused:
            return response.said
        found = refusal_of(request, response, self.server)
        if isinstance(found, Exists) and response.unsure:
            there = await self._sent(_reading(resource, name, namespace))
            took = timedelta(seconds=time.monotonic() - began)
            if not there.refused and _is_ours(there, value, manager, took):
                return there.said
        raise found

    @override
    async def apply(
        self, value: JSONObject, *, manager: str, force: bool = False, dry_run: bool = False
    ) -> JSONObject:
        query = {"fieldManager": manager, "force": _word(force), **_dry(dry_run)}
        return await self._patch("apply", value, "", query)

    @override
    async def merge(self, value: JSONObject, *, manager: str) -> JSONObject:
        return await self._patch("patch", value, "", {"fieldManager": manager}, _MERGE)

    @override
    async def patch_status(
        self, value: JSONObject, *, manager: str, force: bool = True
    ) -> JSONObject:
        query = {"fieldManager": manager, "force": _word(force)}
        return await self._patch("apply the status of", value, "status", query)

    @override
    async def merge_status(self, value: JSONObject, *, manager: str) -> JSONObject:
        query = {"fieldManager": manager}
        return await self._patch("patch the status of", value, "status", query, _MERGE)

    async def _patch(
        self,
        verb: str,
        value: JSONObject,
        subresource: str,
        query: Mapping[str, str],
        content_type: str = _APPLY,
    ) -> JSONObject:
        resource, name, namespace = await self._place(value)
        asked = f"{verb} {named_path(resource, name, namespace)}"
        path = resource.path(namespace, quote(name, safe=""), subresource)
        request = KubeRequest(
            "PATCH",
            path,
            asked,
            {**query, "fieldValidation": "Strict"},
            value,
            content_type=content_type,
            resource=None if subresource else resource,
            expected=resource.kind,
        )
        return await self._value(request)

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
        """As `KubeClient.delete`.

        Where it is not known whether a try reached the server and the object is then gone, it
        counts as deleted.
        """
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
            **({"preconditions": {"uid": uid}} if uid else {}),
        }
        path = resource.path(namespace, quote(name, safe=""))
        asked = f"delete {named_path(resource, name, namespace)}"
        request = KubeRequest("DELETE", path, asked, {}, options, resource=resource)
        response = await self._sent(request)
        if response.refused and not (response.unsure and response.status == _NOT_FOUND):
            raise refusal_of(request, response, self.server)

    @override
    def watch(self, selection: ObjectSelection, since: str) -> AsyncGenerator[ObjectChange, None]:
        return watching.watch_changes(self._transport, selection, since)

    @override
    def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        return log_lines.log_lines(self._transport, wanted)

    async def _place(self, value: JSONObject) -> tuple[Resource, str, str]:
        """Kind, name and namespace of an object; without one it is in `default`."""
        resource = await self.resource(value["apiVersion"], value["kind"])
        metadata = value["metadata"]
        namespace = names.namespace_of(metadata.get("namespace")) if resource.namespaced else ""
        return resource, metadata.get("name") or "", namespace

    async def _value(self, request: KubeRequest) -> dict[str, Any]:
        """The object of an answer.

        Raises:
            NotServed: The server does not know the kind.
            Answer: The server says no.
        """
        response = await self._sent(request)
        if response.refused:
            raise refusal_of(request, response, self.server)
        return response.said

    async def _sent(self, request: KubeRequest) -> KubeResponse:
        left = self._until - time.monotonic()
        if left <= 0.0:
            raise TimeoutError
        return await self._transport.send(request, left)


def _reading(resource: Resource, name: str, namespace: str) -> KubeRequest:
    path = resource.path(namespace, quote(name, safe=""))
    asked = f"read {named_path(resource, name, namespace)}"
    return KubeRequest("GET", path, asked, resource=resource, expected=resource.kind)


def _word(value: bool) -> str:
    return "true" if value else "false"


def _dry(dry_run: bool) -> dict[str, str]:
    return {"dryRun": "All"} if dry_run else {}


def _is_ours(there: KubeResponse, sent: JSONObject, manager: str, took: timedelta) -> bool:
    """Whether an object is the one that a create made whose answer was lost."""
    metadata = there.said["metadata"]
    made = datetime.fromisoformat(metadata["creationTimestamp"])
    since = parsedate_to_datetime(there.headers["Date"]) - took - _SECOND
    managers = {each["manager"] for each in metadata.get("managedFields") or ()}
    return made >= since and manager in managers and has_all(there.said, sent)
