"""What the engine prints: steps and their properties, messages, and a summary."""

import dataclasses
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from pulumi.runtime.proto import engine_pb2

from tests.engine import differences, printed, values
from tests.engine.differences import ABSENT, Difference
from tests.engine.state import Resource

CREATE, UPDATE, REPLACE, DELETE = "create", "update", "replace", "delete"
SAME, READ, DISCARD = "same", "read", "discard"
_MARKS: Final = {
    CREATE: "+ ",
    UPDATE: "~ ",
    REPLACE: "+-",
    DELETE: "- ",
    SAME: "  ",
    READ: "> ",
    DISCARD: "< ",
}
_PAST: Final = {CREATE: "created", UPDATE: "updated", REPLACE: "replaced", DELETE: "deleted"}
_LEVELS: Final[dict[int, str]] = {engine_pb2.WARNING: "warning: ", engine_pb2.ERROR: "error: "}
SHUTTING_DOWN: Final = "Resource monitor has terminated, shutting down"
"""What the SDK logs once the engine has ended, which nobody hears."""


class Screen:
    """Takes what an operation has to say; safe to use from several threads."""

    def __init__(self, *, preview: bool) -> None:
        self._preview = preview
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self.failures = 0
        """How many steps have failed."""
        self._parents: dict[str, str] = {}

    @property
    def changes(self) -> int:
        """How many resources are made, changed or taken away."""
        return sum(self._counts.values()) - self._counts[SAME]

    def Log(self, request: engine_pb2.LogRequest, timeout: float = 0) -> None:  # noqa: N802  gRPC's
        """A message of the program, or of a provider."""
        del timeout
        if request.severity != engine_pb2.DEBUG and request.message != SHUTTING_DOWN:
            self.say(request.message, request.severity)

    def error(self, message: str) -> None:
        """A message that something failed."""
        self.say(message, engine_pb2.ERROR)

    def warn(self, message: str) -> None:
        """A message that something is not as it should be."""
        self.say(message, engine_pb2.WARNING)

    def say(self, message: str, severity: int = engine_pb2.INFO) -> None:
        """A message."""
        with self._lock:
            sys.stderr.write(f"{_LEVELS.get(severity, '')}{message}\n")

    def count(self, kind: str, resource: Resource) -> None:
        """Count a step that is done."""
        if not _is_hidden(resource) and kind not in (READ, DISCARD):
            with self._lock:
                self._counts[kind] += 1

    def step(
        self,
        kind: str,
        old: Resource | None,
        new: Resource | None,
        found: Difference | None = None,
    ) -> None:
        """Show a step, and what it does.

        Args:
            kind: of the step.
            old: the resource as it was.
            new: the resource as it is to be.
            found: what the provider says that differs; None where that is to be compared.
        """
        shown = new or old
        assert shown is not None
        if _is_hidden(shown):
            return
        with self._lock:
            self._parents[shown.urn] = shown.parent
            if kind == SAME and not shown.is_stack and not _is_freed(old, new):
                return
            indent = self._indent(shown.urn)
            details = _details(kind, old, new, found, indent)
            sys.stdout.write(_header(kind, old, shown, indent) + details)

    def outputs(self, resource: Resource, before: Mapping[str, Any] | None) -> None:
        """Show what a resource put out that its inputs do not say, and that is new.

        Args:
            resource: as it is now; a stack says all that it put out, but at a preview.
            before: what it had put out; None where it is new.
        """
        told = resource.is_stack or resource.external
        if _is_hidden(resource) or (self._preview and not told):
            return
        found = differences.between(before or {}, resource.outputs)
        whole = before is None or (resource.is_stack and not self._preview)
        shown = {
            key: each
            for key, each in (found.inner or _unchanged(resource.outputs)).items()
            if resource.inputs.get(key) != each.new
            and (whole or not (each.is_same or self._is_untold(each)))
        }
        indent = self._indent(resource.urn) + 1
        if before is None:
            text = printed.properties(
                {key: each.new for key, each in shown.items() if each.new not in printed.EMPTY},
                indent,
            )
        else:
            text = printed.changes(Difference(before, resource.outputs, shown), indent)
        if text:
            with self._lock:
                sys.stdout.write(f"{printed.margin(indent)}--outputs:--\n{text}")

    def gone(self, resource: Resource) -> None:
        """Show that there is nothing any more that a resource puts out."""
        if not self._preview:
            self.outputs(dataclasses.replace(resource, inputs={}, outputs={}), resource.outputs)

    def summary(self) -> None:
        """Show how many resources each kind of step was about."""
        to = "to " if self._preview else ""
        lines = [
            f"    {_MARKS[kind]}{count} {to}{kind if self._preview else _PAST[kind]}"
            for kind, count in self._counts.items()
            if kind != SAME and count
        ]
        pieces = [f"{self.changes} changes"] * (len(lines) > 1)
        if same := self._counts[SAME]:
            pieces.append(f"{same} unchanged")
        lines += [f"    {'. '.join(pieces)}"] * bool(pieces)
        lines += [f"    {self.failures} errored"] * bool(self.failures)
        sys.stdout.write("\n".join(["Resources:", *lines, ""]))

    def _is_untold(self, found: Difference) -> bool:
        """Whether it is an output of which a preview does not know what becomes of it."""
        return self._preview and found.old is not ABSENT and values.is_unknown(found.new)

    def _indent(self, urn: str) -> int:
        parent, depth = self._parents.get(urn), 0
        while parent in self._parents:
            parent, depth = self._parents[parent], depth + 1
        return depth


def _header(kind: str, old: Resource | None, shown: Resource, indent: int) -> str:
    protected = " 🔒" if shown.protect else " 🔓" if old and old.protect else ""
    retained = "[retain]" if old and old.retain_on_delete and kind in (DELETE, REPLACE) else ""
    margin = "    " * indent
    lines = [f"{margin}{_MARKS[kind]}{shown.type}: ({kind}{retained}){protected}"]
    lines += [f"{margin}    [id={old.id}]"] if old and old.id else []
    lines += [f"{margin}    [urn={shown.urn}]"]
    of_program = shown.provider and "::default::" not in shown.provider
    lines += [f"{margin}    [provider={shown.provider}]"] * bool(of_program)
    return "".join(f"{line}\n" for line in lines)


def _details(
    kind: str, old: Resource | None, new: Resource | None, found: Difference | None, indent: int
) -> str:
    indent += 2
    if kind == SAME:
        return ""
    if old is None or new is None:
        only = new or old
        assert only is not None
        return printed.properties(_visible(only.inputs), indent - 1)
    late = bool(new.outputs) and kind != READ
    was, now = (old.outputs, new.outputs) if late else (old.inputs, new.inputs)
    whole = found or differences.between(was, now)
    return printed.changes(whole, indent - 1) or printed.properties(now, indent - 1)


def _is_freed(old: Resource | None, new: Resource | None) -> bool:
    return bool(old and new and old.protect and not new.protect)


def _is_hidden(resource: Resource) -> bool:
    """Whether it is a provider that the engine makes by itself."""
    return resource.is_provider and resource.name == "default"


def _unchanged(given: Mapping[str, Any]) -> dict[str, Difference]:
    return {key: Difference(each, each) for key, each in sorted(given.items())}


def _visible(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: each for key, each in given.items() if each is not None}
