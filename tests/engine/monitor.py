"""What a program talks to in the place of the engine: its calls, in this process."""
# ruff: noqa: N802  the methods have the names of the protocol's

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import resource_pb2
from typing_extensions import override

from tests.engine import backend, values
from tests.engine.backend import StackFiles
from tests.engine.deployment import Deployment, Stopped
from tests.engine.planner import urn_of
from tests.engine.state import Resource, from_request
from tests.engine.values import Properties

_FEATURES: Final = [
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_OUTPUT_VALUES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
]
"""Without transforms and hooks: what needs them is tested with the CLI."""
REFERENCE: Final = "pulumi:pulumi:StackReference"


class MonitorGone(grpc.RpcError):
    """The answer to a call once the deployment has failed."""

    @override
    def code(self) -> grpc.StatusCode:
        """As of a server that has ended."""
        return grpc.StatusCode.UNAVAILABLE

    @override
    def details(self) -> str:
        """For people."""
        return "the deployment has failed"


class Monitor:
    """Keeps the protocol of Pulumi's resource monitor for one program."""

    def __init__(self, deployment: Deployment, stack: StackFiles, config: Properties) -> None:
        """Begin.

        Args:
            deployment: does what the program asks for.
            stack: that it is a deployment of.
            config: of the stack, by full names.
        """
        self._deployment = deployment
        self._stack = stack
        self._config = config
        self._providers: dict[str, str] = {}
        self._lock = threading.Lock()

    def GetDeploymentInfo(self, _request: empty_pb2.Empty) -> resource_pb2.DeploymentInfo:
        """What there is to ask for."""
        return resource_pb2.DeploymentInfo(supportedFeatures=_FEATURES)

    def RegisterResource(
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Make a resource what the program says."""
        new = from_request(
            request, urn_of(self._stack.place, request.parent, request.type, request.name)
        )
        try:
            if new.custom and not new.provider and not new.is_provider:
                new.provider = self._default_provider(request.type.partition(":")[0])
            done, result = self._deployment.register(request, new)
        except Stopped:
            raise MonitorGone from None
        return resource_pb2.RegisterResourceResponse(
            urn=done.urn, id=done.id, object=values.to_wire(done.outputs), result=result
        )

    def RegisterResourceOutputs(
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Take the outputs of a component, or of the stack."""
        self._deployment.register_outputs(request.urn, values.from_wire(request.outputs))
        return empty_pb2.Empty()

    def ReadResource(
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        """Read another stack's outputs."""
        assert request.type == REFERENCE, f"no engine for tests reads a {request.type}"
        outputs, secret = _outputs_of(self._stack.backend, request.id)
        new = Resource(
            urn=urn_of(self._stack.place, request.parent, request.type, request.name),
            custom=True,
            type=request.type,
            id=request.id,
            inputs={"name": request.id},
            outputs={"name": request.id, "outputs": outputs, "secretOutputNames": secret},
            parent=request.parent,
            provider=self._default_provider("pulumi"),
            external=True,
        )
        self._deployment.read(new)
        return resource_pb2.ReadResourceResponse(
            urn=new.urn, id=new.id, properties=values.to_wire(new.outputs)
        )

    def SignalAndWaitForShutdown(self, _request: empty_pb2.Empty) -> empty_pb2.Empty:
        """Let the program end: what it does not ask for is deleted then."""
        return empty_pb2.Empty()

    def _default_provider(self, package: str) -> str:
        """The provider of resources that name none, registered for the first of them."""
        with self._lock:
            if package not in self._providers:
                type_ = f"pulumi:providers:{package}"
                # The one that reads stacks is the engine itself.
                config = {} if package == "pulumi" else self._config
                request = resource_pb2.RegisterResourceRequest(
                    type=type_, name="default", custom=True, object=values.to_wire(config)
                )
                new = from_request(request, urn_of(self._stack.place, "", type_, "default"))
                done, _ = self._deployment.register(request, new)
                self._providers[package] = f"{done.urn}::{done.id}"
            return self._providers[package]


def _outputs_of(folder: Path, name: str) -> tuple[Mapping[str, Any], list[str]]:
    """Outputs of a stack, `organization/project/stack`, and the names of those that are secret."""
    project, stack = name.split("/")[-2:]
    root = next(iter(backend.resources(folder, project, stack)), None)
    outputs = root.outputs if root else {}
    return outputs, [key for key, each in outputs.items() if values.has_secret(each)]
