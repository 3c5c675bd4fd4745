"""The provider protocol of Pulumi's engine, for Kubernetes objects.

Methods carry the protocol's names (`ResourceProvider` in `pulumi.runtime.proto`). This stands in for
Pulumi's own Kubernetes plugin where that cannot be fetched; tests/contract/kubernetes_plugin holds
both to the same cases.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from importlib.metadata import version
from typing import Any, Final, Never, TypeVar

import grpc.aio
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import engine_pb2 as engine
from pulumi.runtime.proto import provider_pb2 as proto
from pulumi.runtime.proto import status_pb2
from pulumi.runtime.proto.engine_pb2_grpc import EngineStub
from pulumi.runtime.proto.plugin_pb2 import PluginInfo
from pulumi.runtime.proto.provider_pb2_grpc import ResourceProviderServicer
from typing_extensions import override

from from_source.kubernetes_plugin import object_difference, object_inputs, provider_settings
from from_source.kubernetes_plugin.cluster_objects import (
    ClusterObjects,
    NotReady,
    Object,
    Report,
)
from from_source.kubernetes_plugin.object_difference import Prediction
from from_source.kubernetes_plugin.property_struct import Path, Properties, properties, struct
from from_source.kubernetes_plugin.provider_settings import Settings
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.kube.http import connect_client
from trainer_infra.kube.refusals import NotServed

VERSION: Final = version("pulumi-kubernetes")
"""Of the SDK: the engine warns of a plugin that is older."""
_SERVER_FIELDS: Final = (
    "creationTimestamp", "deletionTimestamp", "generation", "managedFields", "resourceVersion",
    "selfLink", "uid",
)  # fmt: skip
"""Of metadata: what no program writes."""
_SECRET_FIELDS: Final = ("data", "stringData")

Context = Any
"""A call's grpc.aio.ServicerContext."""
_Answer = TypeVar("_Answer")
_Method = Callable[["KubernetesProvider", Any, Context], Awaitable[_Answer]]


def _answered(method: _Method[_Answer]) -> _Method[_Answer]:
    """The method with every failure as one sentence, and what is not ready kept in the state."""

    @wraps(method)
    async def answer(self: "KubernetesProvider", request: Any, context: Context) -> _Answer:
        try:
            return await method(self, request, context)
        except NotReady as error:
            await _abort_not_ready(
                context, error, getattr(request, "news", None) or request.properties
            )
        except (TrainerInfraError, TimeoutError) as error:
            await context.abort(
                grpc.StatusCode.UNKNOWN, str(error) or "the API server did not answer"
            )
        raise AssertionError

    return answer


class KubernetesProvider(ResourceProviderServicer):
    """One provider of a stack; the engine configures it before any object."""

    def __init__(self, address: str) -> None:
        self._engine: Any = EngineStub(grpc.aio.insecure_channel(address))
        self._settings = Settings()
        self._objects: ClusterObjects | None = None

    @override
    async def GetPluginInfo(self, request: Empty, context: Context) -> PluginInfo:
        return PluginInfo(version=VERSION)

    @override
    async def Handshake(
        self, request: proto.ProviderHandshakeRequest, context: Context
    ) -> proto.ProviderHandshakeResponse:
        return proto.ProviderHandshakeResponse(accept_secrets=True)

    @override
    async def CheckConfig(
        self, request: proto.CheckRequest, context: Context
    ) -> proto.CheckResponse:
        failures = [
            proto.CheckFailure(property=key, reason=reason)
            for key, reason in provider_settings.problems(properties(request.news).value)
        ]
        return proto.CheckResponse(inputs=request.news, failures=failures)

    @override
    async def DiffConfig(self, request: proto.DiffRequest, context: Context) -> proto.DiffResponse:
        same = properties(request.olds).value == properties(request.news).value
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_NONE if same else proto.DiffResponse.DIFF_SOME
        )

    @override
    @_answered
    async def Configure(
        self, request: proto.ConfigureRequest, context: Context
    ) -> proto.ConfigureResponse:
        self._settings = Settings.of(properties(request.args).value)
        await self._log(
            "trainer_infra's stand-in serves this in place of Pulumi's own Kubernetes plugin, which is "
            "not on this machine; `pulumi plugin install resource kubernetes` fetches that one",
            request.urn,
        )
        return proto.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    @override
    @_answered
    async def Check(self, request: proto.CheckRequest, context: Context) -> proto.CheckResponse:
        kind, news = object_inputs.token(request.urn), properties(request.news)
        failures = [
            proto.CheckFailure(property=path, reason=reason)
            for path, reason in object_inputs.problems(kind, news.value)
        ]
        if failures:
            return proto.CheckResponse(failures=failures)
        name = request.urn.rpartition("::")[2]
        before = properties(request.olds).value
        value = object_inputs.with_name(news.value, before, name, request.randomSeed)
        if await self._has_namespaces(value):
            value = object_inputs.with_namespace(value, self._settings.namespace)
        return proto.CheckResponse(inputs=struct(value, news.secrets))

    @override
    @_answered
    async def Diff(self, request: proto.DiffRequest, context: Context) -> proto.DiffResponse:
        before, after = properties(request.old_inputs), properties(request.news)
        if before.value == after.value:
            # A refresh has put what differs into the inputs before.
            return proto.DiffResponse(changes=proto.DiffResponse.DIFF_NONE)
        same_object = object_inputs.identity(before.value) == object_inputs.identity(after.value)
        prediction = Prediction()
        if same_object and not after.has_unknown:
            prediction = await (await self._cluster()).prediction(after.value)
        live = properties(request.olds).value
        found = object_difference.changes(before.value, after.value, live, prediction)
        replaces = [object_difference.text(each.path) for each in found if each.replaces]
        return proto.DiffResponse(
            changes=proto.DiffResponse.DIFF_SOME if found else proto.DiffResponse.DIFF_NONE,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and object_difference.deletes_first(after.value),
            diffs=list(dict.fromkeys(str(each.path[0]) for each in found)),
            detailedDiff={
                object_difference.text(each.path): proto.PropertyDiff(
                    kind=f"{each.kind}{'_REPLACE' if each.replaces else ''}"  # type: ignore[arg-type]
                )
                for each in found
            },
            hasDetailedDiff=True,
        )

    @override
    @_answered
    async def Create(self, request: proto.CreateRequest, context: Context) -> proto.CreateResponse:
        inputs, objects = properties(request.properties), await self._cluster()
        if request.preview:
            known = None if inputs.has_unknown else await objects.created(inputs.value)
            return proto.CreateResponse(properties=_state(known or inputs.value, inputs))
        stored = await objects.create(inputs.value)
        ready = await objects.ready(stored, request.timeout, self._report(request.urn))
        return proto.CreateResponse(
            id=object_inputs.identity(ready), properties=_state(ready, inputs)
        )

    @override
    @_answered
    async def Read(self, request: proto.ReadRequest, context: Context) -> proto.ReadResponse:
        inputs = properties(request.inputs)
        named = inputs.value or _named(request.id, object_inputs.token(request.urn))
        there = await (await self._cluster()).get(named)
        if there is None:
            return proto.ReadResponse()
        written = _still_there(inputs.value, there) if inputs.value else _as_written(there)
        return proto.ReadResponse(
            id=object_inputs.identity(there),
            properties=_state(there, inputs),
            inputs=struct(written, inputs.secrets | _secret_fields(there)),
        )

    @override
    @_answered
    async def Update(self, request: proto.UpdateRequest, context: Context) -> proto.UpdateResponse:
        inputs, objects = properties(request.news), await self._cluster()
        if request.preview:
            known = None if inputs.has_unknown else await objects.apply(inputs.value, dry_run=True)
            return proto.UpdateResponse(properties=_state(known or inputs.value, inputs))
        stored = await objects.apply(inputs.value)
        ready = await objects.ready(stored, request.timeout, self._report(request.urn))
        return proto.UpdateResponse(properties=_state(ready, inputs))

    @override
    @_answered
    async def Delete(self, request: proto.DeleteRequest, context: Context) -> Empty:
        there = properties(request.properties).value
        await (await self._cluster()).delete(there, request.timeout, self._report(request.urn))
        return Empty()

    @override
    async def Cancel(self, request: Empty, context: Context) -> Empty:
        return Empty()

    async def close(self) -> None:
        """End every connection."""
        if self._objects is not None:
            await self._objects.client.close()

    async def _cluster(self) -> ClusterObjects:
        if self._objects is None:
            client = await connect_client(self._settings.kubeconfig, self._settings.context)
            self._objects = ClusterObjects(client, self._settings)
        return self._objects

    async def _has_namespaces(self, value: Object) -> bool:
        """Whether its kind has; one that is not served yet keeps what the program wrote."""
        try:
            return (await (await self._cluster()).resource(value)).namespaced
        except NotServed:
            return False

    def _report(self, urn: str) -> Report:
        async def report(said: str) -> None:
            await self._log(said, urn, ephemeral=True)

        return report

    async def _log(self, message: str, urn: str, *, ephemeral: bool = False) -> None:
        """Say it in the terminal; for an `ephemeral` one in the resource's line only."""
        await self._engine.Log(
            engine.LogRequest(severity=engine.INFO, message=message, urn=urn, ephemeral=ephemeral)
        )


def _named(identity: str, kind: str) -> dict[str, Any]:
    """The object that an import or a `get` names.

    Raises:
        NotAvailable: The type names no kind.
    """
    namespace, _, name = identity.rpartition("/")
    api_version, _, word = kind.removeprefix("kubernetes:").rpartition(":")
    if not word:
        raise NotAvailable(f"{kind} names no kind of Kubernetes")
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    api_version = api_version.removeprefix("core/")
    return {"apiVersion": api_version, "kind": word, "metadata": metadata}


def _state(value: Object, inputs: Properties) -> Any:
    return struct(value, inputs.secrets | _secret_fields(value))


def _secret_fields(value: Object) -> frozenset[Path]:
    if (value["apiVersion"], value["kind"]) != ("v1", "Secret"):
        return frozenset()
    return frozenset((each,) for each in _SECRET_FIELDS if each in value)


def _as_written(there: Object) -> dict[str, Any]:
    """The inputs of an import: the object without what the server adds."""
    metadata = {key: each for key, each in there["metadata"].items() if key not in _SERVER_FIELDS}
    rest = {key: each for key, each in there.items() if key not in {"metadata", "status"}}
    return {**rest, "metadata": metadata}


def _still_there(inputs: Any, there: Any) -> Any:
    """The inputs with the values that the object has now, so that a refresh shows drift."""
    if isinstance(inputs, dict) and isinstance(there, Mapping):
        return {
            key: _still_there(each, there[key]) if key in there else each
            for key, each in inputs.items()
            if key in there or key in _SECRET_FIELDS
        }
    if isinstance(inputs, list) and isinstance(there, list) and len(inputs) == len(there):
        return [_still_there(*pair) for pair in zip(inputs, there, strict=True)]
    return there if inputs else inputs


async def _abort_not_ready(context: Context, error: NotReady, sent: Any) -> Never:
    """Fail, with the object in the state: the next `up` goes on with it."""
    inputs = properties(sent)
    details = proto.ErrorResourceInitFailed(
        id=object_inputs.identity(error.value),
        properties=_state(error.value, inputs),
        reasons=[str(error)],
        inputs=sent,
    )
    name = f"{error.value['kind']} {object_inputs.identity(error.value)}"
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=f"{name}: {error}")
    status.details.add().Pack(details)
    await context.abort(
        grpc.StatusCode.UNKNOWN,
        status.message,
        (("grpc-status-details-bin", status.SerializeToString()),),
    )
    raise AssertionError
