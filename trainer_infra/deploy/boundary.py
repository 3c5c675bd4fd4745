"""What a dynamic provider needs at its edge with the engine, met once for all our providers.

Numbers arrive as floats, unknown values as objects, exceptions leave as Python tracebacks, and a
cancelled operation is not told (Pulumi facts rows 6, 13, 14, 17 and 18).
`provider` derives from `Provider`; nothing else here is called from outside the room.
"""

import sys
import threading
import traceback
from collections.abc import Mapping
from concurrent import futures
from types import MappingProxyType
from typing import Any, Final

import grpc
from pulumi.dynamic import CheckFailure, ConfigureRequest, ResourceProvider
from pulumi.output import Unknown
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, status_pb2
from typing_extensions import override

from trainer_infra import names
from trainer_infra.deploy import targets
from trainer_infra.errors import Problem, TrainerInfraError

CANCELLED: Final = threading.Event()
"""Set once the user pressed Ctrl-C; the process serves one operation of the engine, then ends."""

ENGINE_TIMEOUT: Final = 5.0
"""Seconds after which an engine that does not answer is taken for gone."""


def plain(value: Any) -> Any:
    """The value as JSON has it: whole floats are integers, keys with None are left out."""
    # Most values are texts, and asking whether one is a Mapping takes ten times as long.
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def unknown(value: Any) -> bool:
    """Whether the value is, or holds, one that only the deployment will tell."""
    if isinstance(value, str):
        return value == UNKNOWN_TEXT
    if isinstance(value, Mapping):
        return any(unknown(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(unknown(each) for each in value)
    return isinstance(value, Unknown)


AT_ONCE: Final = 64
"""Operations that are served at once at most; how many the engine asks for is its `--parallel`."""

UNKNOWN_TEXT: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the engine writes an unknown value on the wire."""


def failures(problems: tuple[Problem, ...]) -> list[CheckFailure]:
    """The problems as the engine shows them: one line each.

    No property is named: the engine would print its whole value, and the path is in the sentence.
    """
    return [CheckFailure("", str(problem)) for problem in problems]


class Provider(ResourceProvider):
    """A provider of ours. Holds no state: it is pickled by reference into every resource."""

    serialize_as_secret_always = False
    """A reference is no secret, and the engine would encrypt it in every resource, twice."""

    @override
    def configure(self, req: ConfigureRequest) -> None:
        """Make the process that serves us report errors and Ctrl-C as users need them."""
        targets.configure(req)
        serving = sys.modules["__main__"]
        servicer = getattr(serving, "DynamicResourceProviderServicer", None)
        if servicer is not None:
            serving.traceback = _OneLine  # type: ignore[attr-defined]  # the SDK's script has it
            # gRPC bound the method when the server started, so the function itself must change.
            servicer.Cancel.__code__ = _cancel.__code__
            serving.proto = _Messages(serving.proto)  # type: ignore[attr-defined]  # the same
            _serve_more_at_once()


def _serve_more_at_once() -> None:
    """Raise the number of threads of the executor in one of whose threads this is called.

    The SDK's script makes it with four, and each delete that waits, and each gate, takes one. Where
    it cannot be found they stay four.
    """
    worker, frame = futures.thread._worker.__code__, sys._getframe()  # noqa: SLF001  names no API has
    while frame.f_back is not None and frame.f_code is not worker:
        frame = frame.f_back
    reference = frame.f_locals.get("executor_reference")
    executor = reference() if reference is not None else None
    if isinstance(executor, futures.ThreadPoolExecutor):
        executor._max_workers = max(AT_ONCE, executor._max_workers)  # noqa: SLF001  the same


class _OneLine:
    """Stands in for the `traceback` module of the serving process: our errors are one sentence."""

    @staticmethod
    def format_exc() -> str:
        """The message of an error of ours; the whole traceback of a bug."""
        error = sys.exc_info()[1]
        if isinstance(error, Unfinished):
            call = sys._getframe(1).f_locals  # noqa: SLF001  the SDK hands over nothing else
            call["context"].set_trailing_metadata(((DETAILS, error.details(call["request"])),))
        if isinstance(error, KeyError) and error.args == ("__provider",):
            # The SDK's own: to import a resource, the engine sends nothing to know it by.
            return names.NOT_IMPORTED
        return str(error) if isinstance(error, TrainerInfraError) else traceback.format_exc()


DETAILS: Final = "grpc-status-details-bin"
"""Where gRPC carries a status whole."""


class Unfinished(TrainerInfraError):
    """An operation that failed, and made something all the same: the state keeps it.

    The engine shows the sentence, and asks for an update at the next `up`.
    """

    def __init__(self, message: str, id_: str, outputs: Mapping[str, Any]) -> None:
        super().__init__(message)
        self._id, self._outputs = id_, outputs

    def details(self, request: Any) -> bytes:
        """The status that tells the engine, of a request to create or update."""
        failed = provider_pb2.ErrorResourceInitFailed(id=self._id, reasons=[str(self)])
        inputs = (
            request.news if isinstance(request, provider_pb2.UpdateRequest) else request.properties
        )
        failed.properties.CopyFrom(inputs)
        failed.properties.update(self._outputs)
        status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(self))
        status.details.add().Pack(failed)
        return status.SerializeToString()


class Detail(threading.local):
    """Which inputs differ, for a diff that answers in this thread; the SDK has no word for it.

    Without it the engine shows a changed object with everything else that is in it.
    """

    paths: Mapping[str, str] = MappingProxyType({})
    """Path of an input, as the engine writes it, to `ADD`, `UPDATE` or `DELETE`, or one of these with
    `_REPLACE`."""


DETAIL: Final = Detail()

OF_OUTPUTS: Final = frozenset({"drift"})
"""Paths of which the engine finds the old value among the outputs."""


class _Messages:
    """Stands in for the `proto` module of the serving process: a diff says its details as well."""

    def __init__(self, proto: Any) -> None:
        self._proto = proto
        self.DiffResponse = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._proto, name, None) or getattr(provider_pb2.DiffResponse, name)

    def __call__(self, **fields: Any) -> Any:
        paths, DETAIL.paths = DETAIL.paths, MappingProxyType({})
        kinds = provider_pb2.PropertyDiff
        details = {
            path: kinds(kind=getattr(kinds, kind), inputDiff=path not in OF_OUTPUTS)
            for path, kind in paths.items()
        }
        return provider_pb2.DiffResponse(
            **fields, detailedDiff=details, hasDetailedDiff=bool(details)
        )


def _cancel(_self: object, _request: object, _context: object) -> object:
    # Runs with the globals of the serving process, so it brings its own names.
    from google.protobuf import empty_pb2  # noqa: PLC0415  see above

    from trainer_infra.deploy.boundary import CANCELLED  # noqa: PLC0415  see above

    CANCELLED.set()
    return empty_pb2.Empty()


class Messages:
    """Messages to the user, beside the resource they are about."""

    def __init__(self, urn: str) -> None:
        self._urn = urn
        self._stub: Any = None
        address = sys.argv[1] if len(sys.argv) > 1 else ""
        if ":" in address:
            self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def status(self, message: str) -> None:
        """A message that the next one replaces."""
        self._send(engine_pb2.INFO, message, ephemeral=True)

    def info(self, message: str) -> None:
        """A message that stays."""
        self._send(engine_pb2.INFO, message)

    def warn(self, message: str) -> None:
        """Something that worked, but not as asked."""
        self._send(engine_pb2.WARNING, message)

    def _send(self, severity: Any, message: str, *, ephemeral: bool = False) -> None:
        if self._stub is None:
            return
        request = engine_pb2.LogRequest(
            severity=severity, message=message, urn=self._urn, ephemeral=ephemeral
        )
        try:
            self._stub.Log(request, timeout=ENGINE_TIMEOUT)
        except grpc.RpcError as error:
            raise EngineGone("the Pulumi engine ended while a gate was waiting") from error


class EngineGone(TrainerInfraError):
    """The engine that asked is no more: nobody is left to tell."""
