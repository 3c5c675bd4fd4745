"""Dynamic providers, served as `pulumi.dynamic` serves them: by the SDK's own servicer, without gRPC."""

import ast
import contextvars
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, NoReturn

import pulumi.dynamic
from pulumi.runtime.proto import provider_pb2, status_pb2

from tests.engine import values
from tests.engine.state import Resource
from tests.engine.values import Properties
from trainer_infra.deploy import boundary

_SCRIPT: Final = Path(pulumi.dynamic.__file__).with_name("__main__.py")


@dataclass(frozen=True)
class Made:
    """What a provider made: it may have failed all the same."""

    id: str
    outputs: Properties
    failure: str = ""


class ProviderFailed(Exception):
    """A provider that did not do what was asked of it; the message is its own."""


class _Call:
    """One call, as the servicer sees it: how it ends where it does not return."""

    def __init__(self) -> None:
        self.metadata: dict[str, bytes] = {}

    def set_trailing_metadata(self, metadata: Any) -> None:
        """Keep what comes with the error."""
        self.metadata.update(metadata)

    def abort(self, _code: Any, details: str) -> NoReturn:
        """End the call."""
        raise ProviderFailed(details)


class ProviderHost:
    """Serves the dynamic providers of one operation, in this process."""

    def __init__(self, config: Mapping[str, str], log: Any, *, preview: bool) -> None:
        """Begin to serve.

        Args:
            config: of the stack, by full names.
            log: what takes the providers' messages.
            preview: whether values may be unknown.
        """
        serving = _serving()
        self._servicer = serving.DynamicResourceProviderServicer()
        self._servicer.Configure(
            provider_pb2.ConfigureRequest(args=values.to_wire(dict(config))), None
        )
        self._preview = preview
        vars(boundary)["_engine"] = lambda: log

    def check(
        self, new: Resource, olds: Properties, news: Properties
    ) -> tuple[Properties, list[str]]:
        """The inputs of a resource with what its provider fills in, and what is wrong with them."""
        known = news if self._preview else values.known(news)
        request = provider_pb2.CheckRequest(urn=new.urn, olds=_sent(olds), news=_sent(known))
        answer = self._ask("Check", request)
        inputs = values.from_wire(answer.inputs)
        values.mark_like(inputs, news)
        return inputs, [each.reason for each in answer.failures]

    def diff(
        self, old: Resource, news: Properties, ignored: list[str]
    ) -> provider_pb2.DiffResponse:
        """What other inputs of a resource mean."""
        request = provider_pb2.DiffRequest(
            id=old.id,
            urn=old.urn,
            old_inputs=_sent(old.inputs),
            olds=_sent(old.outputs),
            news=_sent(news),
            ignoreChanges=ignored,
        )
        answer: provider_pb2.DiffResponse = self._ask("Diff", request)
        return answer

    def create(self, new: Resource) -> Made:
        """Make a resource."""
        request = provider_pb2.CreateRequest(urn=new.urn, properties=_sent(new.inputs))
        return self._make("Create", request, new)

    def update(self, old: Resource, new: Resource) -> Made:
        """Change a resource."""
        request = provider_pb2.UpdateRequest(
            id=old.id,
            urn=old.urn,
            old_inputs=_sent(old.inputs),
            olds=_sent(old.outputs),
            news=_sent(new.inputs),
        )
        return self._make("Update", request, new, old.id)

    def read(self, old: Resource) -> tuple[str, Properties, Properties]:
        """Id, inputs and outputs of a resource as it is now; no id where it is gone."""
        request = provider_pb2.ReadRequest(
            id=old.id, urn=old.urn, properties=_sent(old.outputs), inputs=_sent(old.inputs)
        )
        answer = self._ask("Read", request)
        inputs = values.from_wire(answer.inputs) if answer.HasField("inputs") else dict(old.inputs)
        outputs = values.from_wire(answer.properties)
        values.mark_like(inputs, old.inputs)
        values.mark_like(outputs, old.outputs)
        return answer.id, inputs, outputs

    def delete(self, old: Resource) -> None:
        """Take a resource away."""
        properties = _sent(old.outputs)
        self._ask(
            "Delete", provider_pb2.DeleteRequest(id=old.id, urn=old.urn, properties=properties)
        )

    def _make(self, method: str, request: Any, new: Resource, id_: str = "") -> Made:
        call, failure = _Call(), ""
        try:
            answer = self._ask(method, request, call)
            id_, sent = id_ or answer.id, answer.properties
        except ProviderFailed as error:
            if boundary.DETAILS not in call.metadata:
                raise
            status = status_pb2.Status.FromString(call.metadata[boundary.DETAILS])
            made = provider_pb2.ErrorResourceInitFailed()
            status.details[0].Unpack(made)
            id_, sent, failure = made.id, made.properties, str(error)
        outputs = values.from_wire(sent)
        values.mark_like(outputs, new.inputs)
        return Made(id_, outputs, failure)

    def _ask(self, method: str, request: Any, call: _Call | None = None) -> Any:
        # The program's settings of the SDK are no provider's.
        asked: Callable[..., Any] = getattr(self._servicer, method)
        return contextvars.Context().run(asked, request, call or _Call())


def _sent(properties: Properties) -> Any:
    return values.to_wire(values.plain(properties))


def _serving() -> ModuleType:
    """The SDK's script, as the process has it that serves providers, but for its server."""
    module = ModuleType("__main__")
    exec(_script(), module.__dict__)
    inner, cached = module.get_provider, module._PROVIDER_CACHE  # noqa: SLF001  it has no other name

    def get_provider(properties: Properties, config: Properties) -> Any:
        if properties["__provider"] in cached:
            return inner(properties, config)
        with _as_main(module):
            return inner(properties, config)

    module.get_provider = get_provider  # type: ignore[attr-defined]  # the script's own
    return module


@contextmanager
def _as_main(module: ModuleType) -> Any:
    """The script as the process's main module, where a provider that is configured looks for it."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = module
    try:
        yield
    finally:
        sys.modules["__main__"] = before


@cache
def _script() -> CodeType:
    tree = ast.parse(_SCRIPT.read_text())
    last = tree.body.pop()
    assert ast.unparse(last) == "main()", "the SDK's script no longer ends with its server"
    return compile(tree, os.fspath(_SCRIPT), "exec")
