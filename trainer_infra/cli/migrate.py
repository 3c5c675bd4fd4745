"""`trainer-infra migrate`: v1 jobs of files -> TrainJobs and TrainingRuntimes, as text.

For each v1 job the runtime comes first, then the TrainJob: what an API server wants to know first.
What has no counterpart goes to stderr, and into YAML and Python as a comment. A job that cannot be
migrated does not stop the others. In a Pulumi program each TrainJob has its runtime inline and the v1 job's
name, for the runtime has host names that begin with it.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

import typer

from trainer_infra import migrate
from trainer_infra.api import yaml_source, yamltext
from trainer_infra.api.finding import Path as FieldPath
from trainer_infra.api.yaml_source import Source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.migrate.migration import Migration
from trainer_infra.review import source_objects, sources

HEAD: Final = '''\
"""v1 jobs as TrainJobs, written by `trainer-infra migrate -o python`."""

from trainer_infra import TrainJob
'''

WIDTH: Final = 100
"""Columns of a line."""
ARGUMENTS: Final = {
    "trainer": "trainer",
    "suspend": "suspend",
    "activeDeadlineSeconds": "active_deadline_seconds",
}
"""Fields of the spec of a migrated TrainJob, and the arguments of the resource."""
NO_ARGUMENT: Final = "# - spec.managedBy: {!r}: is left out: the stack's target runs the job\n"

Placed: TypeAlias = tuple[Source, FieldPath, Any]
"""An object, and where it is in which document."""


@dataclass(frozen=True, slots=True)
class MigratedJob:
    """A v1 job of a file and what became of it."""

    origin: str
    """Its kind, name and place."""
    migration: Migration
    """What it became."""
    lost: tuple[str, ...]
    """Each note with its file and line."""


def show(files: Sequence[str], output: str) -> None:
    """Print what the v1 jobs of files become, and on stderr what has no counterpart.

    Raises:
        InvalidInput: holds every problem of every file, after everything else was printed.
    """
    found, problems, refused = _migrated(files)
    if found:
        typer.echo(_FORMATS[output](found), nl=False)
    for each in found:
        for line in each.lost:
            typer.echo(line, err=True)
    if found and refused:
        objects = f"{refused} of {refused + len(found)} objects"
        typer.echo(f"{objects} cannot be migrated; the others are printed:", err=True)
    if problems:
        raise InvalidInput(problems)


def _migrated(files: Sequence[str]) -> tuple[list[MigratedJob], list[Problem], int]:
    """What became of the jobs of files, every problem, and how many objects have one."""
    found: list[MigratedJob] = []
    problems: list[Problem] = []
    refused = 0
    for file in files:
        objects, unread = _of_folder(file) if Path(file).is_dir() else _of_file(file)
        problems += unread
        for source, path, value in objects:
            try:
                found.append(_one(source, path, value))
            except InvalidInput as error:
                problems += error.problems
                refused += 1
    if not found and not problems:
        problems = [Problem("", f"no document in {', '.join(files)}")]
    return found, problems, refused


def _of_file(file: str) -> tuple[list[Placed], Sequence[Problem]]:
    """Every object of a file, or of stdin, each of which has to be a v1 job; or why there is none."""
    try:
        documents = yaml_source.read_yaml(*source_objects.text_of(file))
    except InvalidInput as error:
        return [], error.problems
    return [(each, path, value) for each in documents for path, value in _objects(each.value)], ()


def _of_folder(folder: str) -> tuple[list[Placed], Sequence[Problem]]:
    """The v1 jobs of a folder, as `check` reads it, and what could not be read."""
    found = sources.read_sources([folder])
    jobs = [
        (each.source, each.start, each.value)
        for each in found.documents
        if each.source is not None and each.value["kind"] in migrate.KINDS
    ]
    return jobs, [Problem("", each) for each in found.problems]


def _one(source: Source, path: FieldPath, value: Any) -> MigratedJob:
    wrong = [
        *source.findings,
        *(replace(each, path=(*path, *each.path)) for each in migrate.v1_findings(value)),
    ]
    if wrong:
        raise InvalidInput(
            each.problem("{}:{}:{}".format(source.file, *source.place(each.path))) for each in wrong
        )
    place = f"{source.file}:{source.line_of(path)}"
    origin = f"{value['kind']} {value['metadata']['name']}"
    try:
        migration = migrate.migrate_job(value)
    except InvalidInput as error:
        where = f"{place}: {origin}"
        problems = [
            replace(each, where=f"{where}: {each.where}" if each.where else where)
            for each in error.problems
        ]
        raise InvalidInput(problems) from None
    lines = ((source.place((*path, *note.path))[0], note) for note in migration.notes)
    lost = tuple(f"{source.file}:{line}: {note}" for line, note in lines)
    return MigratedJob(f"{origin} ({place})", migration, lost)


def _objects(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    """The objects of a document; those of a List, as kubectl writes it, one by one."""
    items = value.get("items") if isinstance(value, Mapping) else None
    if isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        yield from ((("items", index), item) for index, item in enumerate(items))
    else:
        yield (), value


def _yaml(found: Sequence[MigratedJob]) -> str:
    documents = [
        text
        for each in found
        for text in (
            _comment(each) + _document(each.migration.runtime),
            _document(each.migration.train_job),
        )
    ]
    return "---\n".join(documents)


def _comment(each: MigratedJob) -> str:
    lines = [f"From {each.origin}.", *(f"- {note}" for note in each.migration.notes)]
    return "".join(f"# {line}\n" for text in lines for line in text.splitlines())


def _document(value: Any) -> str:
    return yamltext.dump_yaml([value.to_wire()])


def _json(found: Sequence[MigratedJob]) -> str:
    items = [
        value.to_wire()
        for each in found
        for value in (each.migration.runtime, each.migration.train_job)
    ]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _python(found: Sequence[MigratedJob]) -> str:
    names = Counter(each.migration.train_job.metadata.name for each in found)
    parts = [
        _declaration(each, is_alone=names[each.migration.train_job.metadata.name] == 1)
        for each in found
    ]
    return "\n".join([HEAD, *parts])


_FORMATS: Final[Mapping[str, Callable[[Sequence[MigratedJob]], str]]] = {
    "yaml": _yaml,
    "json": _json,
    "python": _python,
}


def _declaration(each: MigratedJob, *, is_alone: bool) -> str:
    job = each.migration.train_job.to_wire()
    metadata, spec = job["metadata"], job["spec"]
    name, namespace = metadata["name"], metadata.get("namespace")
    resource = name if is_alone or not namespace else f"{namespace}-{name}"
    arguments = {
        "runtime": each.migration.runtime.to_wire(),
        **{ARGUMENTS[key]: value for key, value in spec.items() if key in ARGUMENTS},
        **{key: metadata[key] for key in metadata if key != "namespace" or namespace},
    }
    left = NO_ARGUMENT.format(spec["managedBy"]) if "managedBy" in spec else ""
    lines = [f"{_comment(each)}{left}TrainJob(", f"    {_literal(resource, 4)},"]
    lines += [f"    {key}={_literal(value, 4, len(key) + 1)}," for key, value in arguments.items()]
    return "\n".join([*lines, ")", ""])


def _literal(value: Any, indent: int, before: int = 0) -> str:
    """A JSON value as Python writes it, in one line where it fits behind the indent and what is before it."""
    flat = _flat(value)
    if not value or not isinstance(value, Mapping | list) or indent + before + len(flat) < WIDTH:
        return flat
    start, end = ("{", "}") if isinstance(value, Mapping) else ("[", "]")
    return "\n".join([start, *_items(value, indent + 4), f"{' ' * indent}{end}"])


def _items(value: Any, indent: int) -> Iterator[str]:
    space = " " * indent
    if isinstance(value, Mapping):
        for key, each in value.items():
            begin = f"{_flat(key)}: "
            yield f"{space}{begin}{_literal(each, indent, len(begin))},"
    else:
        for each in value:
            yield f"{space}{_literal(each, indent)},"


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(key)}: {_flat(value[key])}" for key in value) + "}"
    return "[" + ", ".join(map(_flat, value)) + "]" if isinstance(value, list) else repr(value)
