"""What our dynamic providers need at their edge with the engine, met once for all of them.

Numbers arrive as floats, unknown values as objects, exceptions leave as Python tracebacks, and a
cancelled operation is not told (Pulumi facts rows 6, 13, 14, 17 and 18). Here is also what is of
the serving process and not of an operation: its one session, its arguments, its end.
"""

import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent import futures
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import grpc
from pulumi.dynamic import CheckFailure, ConfigureRequest
from pulumi.output import Unknown
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, provider_pb2, status_pb2
from typing_extensions import override

from trainer_infra import names
from trainer_infra.deploy.operations.answers import UnfinishedOperation
from trainer_infra.deploy.operations.session import Connection, EngineGone, Messages, StackSession
from trainer_infra.deploy.operations.values import plain_json
from trainer_infra.errors import Problem, TrainerInfraError, without_secrets

ENGINE_TIMEOUT: Final = 5.0
"""Seconds after which an engine that does not answer is taken for gone."""
AT_ONCE: Final = 64
"""Operations that are served at once at most; how many the engine asks for is its `--parallel`."""
_CONFIG_FILE: Final = "--config-file"
_SHELLS: Final = 2
"""Processes between this one and the Pulumi command, at most, and one more."""


def from_engine(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties as plain JSON, without the pickled provider that the engine keeps among them."""
    plain: dict[str, Any] = plain_json(properties, Unknown)
    plain.pop("__provider", None)
    return plain


def failure_details(problems: Iterable[Problem]) -> list[CheckFailure]:
    """The problems as the engine shows them: a line each; of a property that is named it would print all of the value."""
    return [CheckFailure("", str(problem)) for problem in problems]


class EngineMessages(Messages):
    """Messages that the engine shows beside a resource."""

    def __init__(self, urn: str) -> None:
        self._urn = urn

    @override
    def status(self, message: str) -> None:
        self._send(engine_pb2.INFO, message, ephemeral=True)

    @override
    def info(self, message: str) -> None:
        self._send(engine_pb2.INFO, message)

    @override
    def warn(self, message: str) -> None:
        self._send(engine_pb2.WARNING, message)

    def _send(self, severity: Any, message: str, *, ephemeral: bool = False) -> None:
        engine = _engine()
        if engine is None:
            return
        request = engine_pb2.LogRequest(
            severity=severity, message=without_secrets(message), urn=self._urn, ephemeral=ephemeral
        )
        try:
            engine.Log(request, timeout=ENGINE_TIMEOUT)
        except grpc.RpcError as error:
            raise EngineGone("the Pulumi engine ended while a gate was waiting") from error


@cache
def _engine() -> Any:
    """The engine that started this process; None where none did."""
    address = sys.argv[1] if len(sys.argv) > 1 else ""
    return engine_pb2_grpc.EngineStub(grpc.insecure_channel(address)) if ":" in address else None


def _config_file() -> Path | None:
    """The file that the Pulumi command was told to read in place of the stack's own."""
    import psutil  # noqa: PLC0415  a program does not need it

    process = psutil.Process().parent()
    for _ in range(_SHELLS):
        words = process.cmdline() if process else []
        for word, following in pairwise((*words, "")):
            option, _, value = word.partition("=")
            if option == _CONFIG_FILE and process:
                return Path(process.cwd()) / (value or following)
        process = process.parent() if process else None
    return None


SESSION: Final = StackSession(EngineMessages, config_file=_config_file)
"""The one of this process, which serves one operation of the engine on one stack, then ends."""


@contextmanager
def while_engine_lives() -> Iterator[None]:
    """End the process when the engine is gone.

    The command that asked was killed: this process must not wait on. What it waits for goes
    on, and the next `pulumi up` waits for it again.
    """
    try:
        yield
    except EngineGone:
        os._exit(1)


def configure_session(request: ConfigureRequest) -> None:
    """Take the stack's connection, and make this process report errors and Ctrl-C as users need them."""
    ours, others = (
        [request.config.get(f"{room}:{key}") for key in ("kubeconfig", "context")]
        for room in ("trainer", "kubernetes")
    )
    SESSION.connection = Connection(*(ours if any(ours) else others))
    serving = sys.modules["__main__"]
    servicer = getattr(serving, "DynamicResourceProviderServicer", None)
    if servicer is not None:
        serving.traceback = _OneLine  # type: ignore[attr-defined]  # the SDK's script has it
        # gRPC bound the method when the server started, so the function itself must change.
        servicer.Cancel.__code__ = _cancel.__code__
        serving.proto = _DetailedProto(serving.proto)  # type: ignore[attr-defined]  # the same
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
        if isinstance(error, UnfinishedOperation):
            call = sys._getframe(1).f_locals  # noqa: SLF001  the SDK hands over nothing else
            call["context"].set_trailing_metadata(((DETAILS, _details(error, call["request"])),))
        if isinstance(error, KeyError) and error.args == ("__provider",):
            # The SDK's own: to import a resource, the engine sends nothing to know it by.
            return names.NOT_IMPORTED
        return str(error) if isinstance(error, TrainerInfraError) else traceback.format_exc()


DETAILS: Final = "grpc-status-details-bin"
"""Where gRPC carries a status whole."""


def _details(error: UnfinishedOperation, request: Any) -> bytes:
    """The status that tells the engine what was made all the same, of a request to create or update."""
    failed = provider_pb2.ErrorResourceInitFailed(id=error.created.id, reasons=[str(error)])
    is_update = isinstance(request, provider_pb2.UpdateRequest)
    failed.properties.CopyFrom(request.news if is_update else request.properties)
    failed.properties.update(error.created.outputs)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=str(error))
    status.details.add().Pack(failed)
    return status.SerializeToString()


class Detail(threading.local):
    """Which inputs differ, for a diff that answers in this thread; the SDK has no word for it.

    Without it the engine shows a changed object with everything else that is in it.
    """

    paths: Mapping[str, str] | None = None
    """As `Difference.paths` has them."""


DETAIL: Final = Detail()

OF_OUTPUTS: Final = frozenset({"drift"})
"""Paths of which the engine finds the old value among the outputs."""


class _DetailedProto:
    """Stands in for the `proto` module of the serving process: a diff says its details as well."""

    def __init__(self, proto: Any) -> None:
        self._proto = proto
        self.DiffResponse = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._proto, name, None) or getattr(provider_pb2.DiffResponse, name)

    def __call__(self, **fields: Any) -> Any:
        paths, DETAIL.paths = DETAIL.paths, None
        kinds = provider_pb2.PropertyDiff
        details = {
            path: kinds(kind=getattr(kinds, kind), inputDiff=path not in OF_OUTPUTS)
            for path, kind in (paths or {}).items()
        }
        return provider_pb2.DiffResponse(
            **fields, detailedDiff=details, hasDetailedDiff=paths is not None
        )


def _cancel(_self: object, _request: object, _context: object) -> object:
    # Runs with the globals of the serving process, so it brings its own names.
    from google.protobuf import empty_pb2  # noqa: PLC0415  see above

    from trainer_infra.deploy.boundary import SESSION  # noqa: PLC0415  see above

    SESSION.cancelled.set()
    return empty_pb2.Empty()
