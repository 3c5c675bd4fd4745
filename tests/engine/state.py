"""What is kept of one stack: in the folder of a backend, in the form in which the CLI exports it."""

import dataclasses
import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi.runtime.proto.resource_pb2 import RegisterResourceRequest

from tests.engine import values
from tests.engine.values import Properties


@dataclass(slots=True)
class Resource:
    """One resource, as the state has it."""

    urn: str
    custom: bool
    type: str
    id: str = ""
    delete: bool = False
    """Another has taken its place, and it is still to be deleted."""
    pending_replacement: bool = False
    """It was deleted, and what takes its place is still to be created."""
    inputs: Properties = field(default_factory=dict)
    outputs: Properties = field(default_factory=dict)
    parent: str = ""
    provider: str = ""
    protect: bool = False
    external: bool = False
    """It was read, not made."""
    retain_on_delete: bool = False
    deleted_with: str = ""
    dependencies: list[str] = field(default_factory=list)
    property_dependencies: dict[str, list[str]] = field(default_factory=dict)
    init_errors: list[str] = field(default_factory=list)
    additional_secret_outputs: list[str] = field(default_factory=list)
    ignore_changes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As the program has it."""
        return self.urn.rpartition("::")[2]

    @property
    def is_provider(self) -> bool:
        """Whether it serves others."""
        return self.type.startswith("pulumi:providers:")

    @property
    def is_stack(self) -> bool:
        """Whether it is the root."""
        return self.type == "pulumi:pulumi:Stack"

    @property
    def needs(self) -> set[str]:
        """URNs of what must be there while it is."""
        found = {self.parent, self.deleted_with, self.provider.rpartition("::")[0]}
        return (found | set(self.dependencies)) - {""}


def from_request(request: RegisterResourceRequest, urn: str) -> Resource:
    """The resource that a program asks for."""
    return Resource(
        urn=urn,
        custom=request.custom,
        type=request.type,
        inputs=values.from_wire(request.object),
        parent=request.parent,
        provider=request.provider,
        protect=request.protect,
        retain_on_delete=request.retainOnDelete,
        deleted_with=request.deletedWith,
        dependencies=sorted(request.dependencies),
        property_dependencies={
            key: sorted(each.urns) for key, each in request.propertyDependencies.items()
        },
        additional_secret_outputs=list(request.additionalSecretOutputs),
        ignore_changes=list(request.ignoreChanges),
    )


def exported(resource: Resource) -> dict[str, Any]:
    """The resource as JSON, without what is empty."""
    found = {_wire(each.name): getattr(resource, each.name) for each in _FIELDS}
    kept = {key: each for key, each in found.items() if each or key == "custom"}
    return {key: values.sealed(each) if key in _SEALED else each for key, each in kept.items()}


def imported(given: dict[str, Any]) -> Resource:
    """The resource of a JSON mapping; what no engine for tests needs is left out."""
    known = {each.name: given[_wire(each.name)] for each in _FIELDS if _wire(each.name) in given}
    return Resource(**{key: values.opened(e) if key in _SEALED else e for key, e in known.items()})


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


_FIELDS = dataclasses.fields(Resource)
_SEALED = ("inputs", "outputs")


class Snapshot:
    """The resources of a stack while an operation changes them; written down as it goes."""

    def __init__(self, file: Path, *, writes: bool) -> None:
        """Read it.

        Args:
            file: of the stack; it may be empty as yet.
            writes: whether the operation changes anything.
        """
        self._file = file
        self._writes = writes
        self._lock = threading.Lock()
        found = deployment(file)
        self.before = [imported(each) for each in found.get("resources", ())]
        self.after: list[Resource] = []
        self.unfinished: list[dict[str, Any]] = list(found.get("pending_operations", ()))
        """Operations whose end nobody has seen."""
        self._pending = [each for each in self.unfinished if each["type"] == "creating"]
        self._gone: set[int] = set()

    @property
    def resources(self) -> list[Resource]:
        """What there is by now."""
        return self.after + [each for each in self.before if id(each) not in self._gone]

    def begin(self, operation: str, resource: Resource) -> dict[str, Any]:
        """Note an operation, for the case that its end is not seen."""
        noted = {"resource": exported(resource), "type": operation}
        with self._lock:
            self._pending.append(noted)
            self.write()
        return noted

    def end(
        self,
        noted: dict[str, Any] | None,
        *,
        gone: Resource | None = None,
        new: Resource | None = None,
    ) -> None:
        """Note what an operation made and took away."""
        with self._lock:
            if noted in self._pending:
                self._pending.remove(noted)
            if gone is not None:
                self._gone.add(id(gone))
                self.after = [each for each in self.after if each is not gone]
            if new is not None:
                self.after.append(new)
            self.write()

    def rebuild(self, resources: Iterable[Resource]) -> None:
        """Take other resources as what there was before, as a refresh found them."""
        self.before, self.after, self._gone = list(resources), [], set()
        self.write()

    def write(self) -> None:
        """Write all of it down; a preview writes nothing."""
        if self._writes:
            write_deployment(self._file, map(exported, self.resources), self._pending)


def deployment(file: Path) -> dict[str, Any]:
    """The deployment in a file of the backend; empty where nothing was deployed yet."""
    found: dict[str, Any] = json.loads(file.read_text())["checkpoint"].get("latest") or {}
    return found


def write_deployment(
    file: Path, resources: Iterable[dict[str, Any]], pending: Iterable[dict[str, Any]] = ()
) -> None:
    """Put a deployment into a file of the backend, at once."""
    stack = f"organization/{file.parent.name}/{file.stem}"
    latest = {"manifest": {}, "resources": list(resources)}
    if pending := list(pending):
        latest["pending_operations"] = pending
    content = {"version": 3, "checkpoint": {"stack": stack, "latest": latest}}
    written = file.with_suffix(".new")
    written.write_text(json.dumps(content))
    written.replace(file)
