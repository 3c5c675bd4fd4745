"""A client that counts its requests, and one whose account may not watch."""

from collections import Counter
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from typing_extensions import override

from tests.cluster.relayed import Relayed
from trainer_infra.kube import refusals
from trainer_infra.kube.client import KubeClient, ObjectChange, ObjectSelection

T = TypeVar("T")


class Counted(Relayed):
    """Requests by verb."""

    def __init__(self, client: KubeClient) -> None:
        super().__init__(client)
        self.requests: Counter[str] = Counter()

    @override
    async def sent(self, request: Coroutine[Any, Any, T], verb: str) -> T:
        self.requests[verb] += 1
        return await request

    @override
    def watch(self, selection: ObjectSelection, since: str) -> AsyncGenerator[ObjectChange, None]:
        self.requests["watch"] += 1
        return super().watch(selection, since)


class Unwatching(Counted):
    """As the API server answers an account without the verb `watch`."""

    @override
    async def watch(
        self, selection: ObjectSelection, since: str
    ) -> AsyncGenerator[ObjectChange, None]:
        said = {"code": 403, "reason": "Forbidden", "message": "cannot watch resource"}
        changes: tuple[ObjectChange, ...] = ()
        for change in changes:
            yield change
        raise refusals.of_status(403, said, f"watch {selection.resource.plural}")
