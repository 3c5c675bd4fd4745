"""A client in front of another one, for tests in which requests are late, hang or end a process."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import (
    KubeClient,
    LogOf,
    ObjectChange,
    ObjectSelection,
    Page,
    Propagation,
)
from trainer_infra.kube.resource import Resource

T = TypeVar("T")


class Relayed(KubeClient):
    """Hands every request on, through `sent`."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    @abstractmethod
    async def sent(self, request: Coroutine[Any, Any, T], verb: str) -> T:
        """One request: `get`, `list`, `create`, `apply`, `status` or `delete`."""

    @property
    @override
    def server(self) -> str:
        return self._client.server

    @override
    def within(self, seconds: float) -> KubeClient:
        return self

    @override
    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._client.resource(api_version, kind)

    @override
    async def get(self, resource: Resource, name: str, namespace: str = "") -> JSONObject:
        return await self.sent(self._client.get(resource, name, namespace), "get")

    @override
    async def list(self, selection: ObjectSelection) -> Page:
        return await self.sent(self._client.list(selection), "list")

    @override
    def pages(self, selection: ObjectSelection) -> AsyncGenerator[Page, None]:
        return self._client.pages(selection)

    @override
    async def create(self, value: JSONObject, *, manager: str, dry_run: bool = False) -> JSONObject:
        made = self._client.create(value, manager=manager, dry_run=dry_run)
        return await self.sent(made, "create")

    @override
    async def apply(
        self, value: JSONObject, *, manager: str, force: bool = False, dry_run: bool = False
    ) -> JSONObject:
        made = self._client.apply(value, manager=manager, force=force, dry_run=dry_run)
        return await self.sent(made, "apply")

    @override
    async def merge(self, value: JSONObject, *, manager: str) -> JSONObject:
        return await self.sent(self._client.merge(value, manager=manager), "merge")

    @override
    async def patch_status(
        self, value: JSONObject, *, manager: str, force: bool = True
    ) -> JSONObject:
        made = self._client.patch_status(value, manager=manager, force=force)
        return await self.sent(made, "status")

    @override
    async def merge_status(self, value: JSONObject, *, manager: str) -> JSONObject:
        return await self.sent(self._client.merge_status(value, manager=manager), "status")

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
        gone = self._client.delete(resource, name, namespace, uid=uid, propagation=propagation)
        await self.sent(gone, "delete")

    @override
    def watch(self, selection: ObjectSelection, since: str) -> AsyncGenerator[ObjectChange, None]:
        return self._client.watch(selection, since)

    @override
    def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        return self._client.logs(wanted)

    @override
    async def close(self) -> None:
        await self._client.close()
