"""What a program declares, seen by Pulumi's mock of its engine: no plugin, no cluster."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.runtime import mocks
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto.resource_pb2 import RegisterResourceResponse
from typing_extensions import override

from from_source.kubernetes_plugin.property_struct import Path, properties
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.manifests.object_resources import FIELD_MANAGER, object_key


@dataclass(frozen=True)
class DeclaredResource:
    """A resource as the engine gets it."""

    kind: str
    """Its type, for example `kubernetes:apps/v1:Deployment`."""
    name: str
    urn: str
    parent: str
    """Its parent's URN."""
    dependencies: frozenset[str]
    """URNs of what it depends on."""
    provider: str
    """URN and id of the provider that the program chose; empty for the default one."""
    inputs: dict[str, Any]
    secrets: frozenset[Path]


class _NoAnswers(Mocks):
    """The recorder asks it nothing."""

    @override
    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError

    @override
    def call(self, args: MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError


class _Recorder(MockMonitor):
    """Answers with the inputs; Pulumi's own reads them first, and leaves an event loop for each open."""

    def __init__(self) -> None:
        super().__init__(_NoAnswers())
        self.seen: list[DeclaredResource] = []

    @override
    def RegisterResource(self, request: Any) -> Any:
        urn = self.make_urn(request.parent, request.type, request.name)
        inputs = properties(request.object)
        self.seen.append(
            DeclaredResource(
                request.type,
                request.name,
                urn,
                request.parent,
                frozenset(request.dependencies),
                request.provider,
                inputs.value,
                inputs.secrets,
            )
        )
        return RegisterResourceResponse(urn=urn, id=request.name, object=request.object)


def declared_resources(program: Callable[[], object]) -> Sequence[DeclaredResource]:
    """Everything that a program declares, in the order in which the engine gets it.

    Raises:
        pulumi.RunError: What the program ends with.
    """
    recorder = _Recorder()
    # Pulumi's settings and the event loop belong to a thread: those of other tests stay as they are.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_run, program, recorder).result()
    return [each for each in recorder.seen if each.kind != "pulumi:pulumi:Stack"]


def _run(program: Callable[[], object], recorder: _Recorder) -> None:
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        mocks.set_mocks(recorder.mocks, monitor=recorder)
        pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def as_object(declared: DeclaredResource) -> JSONObject:
    """What the API server gets, without the field manager that the platform adds."""
    metadata = dict(declared.inputs["metadata"])
    annotations = dict(metadata.pop("annotations"))
    assert annotations.pop("pulumi.com/patchFieldManager") == FIELD_MANAGER
    if annotations:
        metadata["annotations"] = annotations
    return {**declared.inputs, "metadata": metadata}


def declared_objects(program: Callable[[], object]) -> dict[str, JSONObject]:
    """The objects that a program declares, by kind, namespace and name."""
    made = (as_object(each) for each in declared_resources(program) if "metadata" in each.inputs)
    return {object_key(each): each for each in made}
