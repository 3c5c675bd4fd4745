"""Text -> the Kubernetes objects in it, each with the places of its fields.

Called by `sources` for files and by `kustomize` and `helm` for what they print. Documents that are
no Kubernetes object (values files, CI configuration) are passed over: a repository is full of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainer_infra.api import yaml_source
from trainer_infra.api.finding import Finding, Path
from trainer_infra.api.yaml_source import Source

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file."""

    value: JSON
    """As kubectl's reader takes it."""
    file: str
    """As reports name it."""
    source: Source | None
    """The YAML document that it is in; None for an object of a cluster."""
    start: Path = ()
    """Where it is in that document: an item of a List."""
    lines: tuple[str, ...] = ()
    """The file's text."""

    def findings(self) -> Iterator[Finding]:
        """What is wrong with its YAML, with paths in the object."""
        for each in self.source.findings if self.source else ():
            if each.path[: len(self.start)] == self.start:
                path = each.path[len(self.start) :]
                yield Finding(path, each.what, each.got, each.fix)


def read(text: str, file: str) -> tuple[Document, ...]:
    """The objects of a text; `List` objects are unfolded.

    Raises:
        InvalidInput: It is no YAML; one problem, with line and column.
    """
    lines = tuple(text.splitlines())
    return tuple(
        Document(value, file, source, path, lines)
        for source in yaml_source.read(text, file)
        for path, value in _objects(source.value)
    )


def _objects(value: Any) -> Iterator[tuple[Path, JSON]]:
    if not isinstance(value, Mapping):
        return
    if not all(isinstance(value.get(key), str) for key in ("apiVersion", "kind")):
        return
    items = value.get("items")
    if str(value["kind"]).endswith("List") and isinstance(items, list):
        for position, item in enumerate(items):
            yield from ((("items", position, *path), each) for path, each in _objects(item))
    else:
        yield (), value
