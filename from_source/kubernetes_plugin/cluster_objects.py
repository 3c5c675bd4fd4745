"""Objects of a cluster as the provider reads, writes and awaits them.

Every write is a server-side apply by one field manager, with strict validation. Sources: Kubernetes'
documentation of server-side apply; the annotations are those of Pulumi's Kubernetes provider.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from from_source.kubernetes_plugin import readiness
from from_source.kubernetes_plugin.object_difference import Prediction
from from_source.kubernetes_plugin.provider_settings import Settings
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient, Propagation
from trainer_infra.kube.refusals import Exists, Invalid, NotFound, NotServed
from trainer_infra.kube.resource import Resource

MANAGER: Final = "pulumi-kubernetes"
TIMEOUT: Final = 600.0
"""Seconds until an object must be ready, or gone, where nothing else is said."""
_PERIOD: Final = 0.3
"""Seconds between two looks at an object."""
_ESTABLISHING: Final = 10.0
"""Seconds until a kind whose definition was just applied is served."""
_FORCE: Final = "pulumi.com/patchForce"
_MANAGER: Final = "pulumi.com/patchFieldManager"
_PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"

Object = Mapping[str, Any]
Report = Callable[[str], Awaitable[None]]


class NotReady(Exception):
    """The object is there and is not ready; the message says what it waits for."""

    def __init__(self, value: Object, reason: str) -> None:
        self.value = value
        """As it was last."""
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """The objects of one cluster."""

    client: KubeClient
    settings: Settings

    async def resource(self, value: Object, patience: float = 0.0) -> Resource:
        """Where an object's kind is served.

        Raises:
            NotServed: Nowhere, within `patience` seconds.
        """
        until = time.monotonic() + patience
        while True:
            try:
                return await self.client.resource(value["apiVersion"], value["kind"])
            except NotServed:
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(_PERIOD)

    async def get(self, value: Object) -> Object | None:
        """The object of that kind and name; None where there is none."""
        try:
            resource, metadata = await self.resource(value), value["metadata"]
            return await self.client.get(resource, metadata["name"], metadata.get("namespace", ""))
        except (NotFound, NotServed):
            return None

    async def apply(self, value: Object, *, dry_run: bool = False, force: bool = False) -> Object:
        """The object as stored, or as it would be.

        Args:
            value: what the program says of it.
            dry_run: store nothing.
            force: take fields from other managers whatever is configured.

        Raises:
            Conflict: Another manager has a field with another value.
            Invalid: The server refuses it.
        """
        annotations = value["metadata"].get("annotations") or {}
        if not dry_run:
            await self.resource(value, _ESTABLISHING)
        return await self.client.apply(
            value,
            manager=annotations.get(_MANAGER, MANAGER),
            force=force or self.settings.forces or annotations.get(_FORCE) == "true",
            dry_run=dry_run,
        )

    async def create(self, value: Object) -> Object:
        """A new object, as stored.

        Raises:
            Exists: There is one already, and the provider is not to take it.
        """
        there = None if self.settings.upserts else await self.get(value)
        if there is not None:
            name = there["metadata"]["name"]
            raise Exists(
                409,
                "AlreadyExists",
                f"there is already a {value['kind']} {name!r}; import it, or set "
                "upsert_existing_objects of the Provider",
            )
        return await self.apply(value)

    async def created(self, value: Object) -> Object | None:
        """The object as a create would store it; None where the server cannot know yet.

        That is so where its namespace or kind is to come, and where it is to replace one of its name.

        Raises:
            Invalid: The server refuses it.
        """
        if await self.get(value) is None:
            with suppress(NotFound, NotAvailable):
                return await self.apply(value, dry_run=True)
        return None

    async def prediction(self, value: Object) -> Prediction:
        """What an update would make of the object that is there, whoever owns its fields.

        What the server refuses as an update and would take under another name is to be replaced.

        Raises:
            Invalid: The server refuses it under every name.
        """
        if await self.get(value) is None:
            return Prediction()
        try:
            return Prediction(await self.apply(value, dry_run=True, force=True))
        except Invalid as refused:
            metadata = {**value["metadata"], "name": f"{value['metadata']['name'][:50]}-replaced"}
            try:
                await self.apply({**value, "metadata": metadata}, dry_run=True)
            except Invalid:
                raise refused from None
            return Prediction(refused=tuple(each.path for each in refused.problems))

    async def ready(self, value: Object, seconds: float, report: Report) -> Object:
        """The object once it is ready.

        Raises:
            NotReady: It has failed, or `seconds` are over, or it is gone.
        """
        until, said = time.monotonic() + _timeout(value, seconds), ""
        while True:
            try:
                waits_for = await readiness.missing(self.client, value)
            except (readiness.HasFailed, ValueError) as error:
                raise NotReady(value, str(error)) from None
            if not waits_for:
                return value
            if waits_for != said:
                said = waits_for
                await report(f"waits for {said}")
            if time.monotonic() >= until:
                raise NotReady(value, f"still waits for {said}")
            await asyncio.sleep(_PERIOD)
            latest = await self.get(value)
            if latest is None:
                raise NotReady(value, "another client deleted it")
            value = latest

    async def delete(self, value: Object, seconds: float, report: Report) -> None:
        """Delete the object that a state knows, and wait until it is gone.

        Raises:
            NotReady: It is still there after `seconds`.
        """
        metadata = value["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        annotations = metadata.get("annotations") or {}
        how: Propagation = {"orphan": "Orphan", "foreground": "Foreground"}.get(  # type: ignore[assignment]
            annotations.get(_PROPAGATION, "").lower(), "Background"
        )
        until, said = time.monotonic() + _timeout(value, seconds), False
        try:
            resource = await self.resource(value)
            await self.client.delete(
                resource, name, namespace, uid=metadata.get("uid", ""), propagation=how
            )
            while True:
                there = await self.client.get(resource, name, namespace)
                if there["metadata"]["uid"] != metadata.get("uid", there["metadata"]["uid"]):
                    return
                if time.monotonic() >= until:
                    held = (
                        ", ".join(there["metadata"].get("finalizers") or ())
                        or "nothing that it names"
                    )
                    raise NotReady(there, f"it is still being deleted, held by {held}")
                if not said:
                    said = True
                    await report("is being deleted")
                await asyncio.sleep(_PERIOD)
        except (NotFound, NotServed):
            return


def _timeout(value: Object, seconds: float) -> float:
    annotations = value["metadata"].get("annotations") or {}
    return float(annotations.get(readiness.TIMEOUT) or seconds or TIMEOUT)
