"""`trainer-infra migrate`: v1 jobs of files -> TrainJobs and TrainingRuntimes, as text.

For each v1 job the runtime comes first, then the TrainJob: what an API server wants to know first. Other
objects stay where they are between them, so that the output can take the place of what was read.
What has no counterpart goes to stderr, and into YAML and Python as a comment, without secrets. A job that
cannot be migrated does not stop the others. In a Pulumi program each TrainJob has its runtime inline and the
v1 job's name, for the runtime has host names that begin with it; other objects are named on stderr.
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
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import renaming
from trainer_infra.migrate.migration import Migration, V1Job
from trainer_infra.review import source_objects, sources
from trainer_infra.review.documents import Document
from trainer_infra.review.redaction import ReportRedaction
from trainer_infra.rules import subject

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

LEFT_OUT: Final = "is left out: the program must declare it with a resource of its own kind"

Placed: TypeAlias = tuple[Source, FieldPath, Any]
"""An object, and where it is in which document."""


@dataclass(frozen=True, slots=True)
class MigratedObject:
    """An object of a file and what became of it."""

    origin: str
    """Its kind, name and place."""
    made: tuple[JSONObject, ...]
    """Runtime and TrainJob of a v1 job; any other object with the names of v2."""
    notes: tuple[tuple[str, str], ...]
    """What has no counterpart, each with its file and line."""

    @property
    def is_job(self) -> bool:
        """Whether it was a v1 job."""
        return len(self.made) > 1


def show(files: Sequence[str], output: str) -> None:
    """Print what the v1 jobs of files become, and on stderr what has no counterpart.

    Raises:
        InvalidInput: holds every problem of every file, after everything else was printed.
    """
    found, problems, refused = _migrated(files)
    if found:
        typer.echo(_FORMATS[output](found), nl=False)
    for each in found:
        for place, note in each.notes:
            typer.echo(f"{place}: {note}", err=True)
        if output == "python" and not each.is_job:
            typer.echo(f"{each.origin}: {LEFT_OUT}", err=True)
    if found and refused:
        jobs = f"{refused} of {refused + sum(each.is_job for each in found)} v1 jobs"
        typer.echo(f"{jobs} cannot be migrated; the others are printed:", err=True)
    if problems:
        raise InvalidInput(problems)


def _migrated(files: Sequence[str]) -> tuple[list[MigratedObject], list[Problem], int]:
    """What became of the objects of files, every problem, and how many jobs have one."""
    objects: list[Placed] = []
    problems: list[Problem] = []
    for file in files:
        placed, unread = _of_folder(file) if Path(file).is_dir() else _of_file(file)
        objects += placed
        problems += unread
    done: list[tuple[Placed, Migration | None]] = []
    for each in objects:
        try:
            done.append((each, _migration(each) if _is_asked(each[2]) else None))
        except InvalidInput as error:
            problems += map(_redaction(each[2]).problem, error.problems)
    jobs = [migrate.v1_job(each[2]) for each, migration in done if migration]
    if not jobs and not problems:
        known = ", ".join(migrate.KINDS)
        raise InvalidInput([Problem("", f"no v1 job in {', '.join(files)}; known are {known}")])
    found = [_migrated_object(*each, jobs) for each in done] if jobs else []
    return found, problems, len(objects) - len(done)


def _of_file(file: str) -> tuple[list[Placed], Sequence[Problem]]:
    """Every object of a file, or of stdin; or why there is none."""
    try:
        documents = yaml_source.read_yaml(*source_objects.text_of(file))
    except InvalidInput as error:
        return [], error.problems
    return [(each, path, value) for each in documents for path, value in _objects(each.value)], ()


def _of_folder(folder: str) -> tuple[list[Placed], Sequence[Problem]]:
    """The objects of a folder, as `check` reads it, and what could not be read."""
    found = sources.read_sources([folder])
    return [*map(_placed, found.documents)], [Problem("", each) for each in found.problems]


def _placed(document: Document) -> Placed:
    """An object in its text; one that a tool made of no text of its own stands in one alone."""
    if document.source is not None:
        return document.source, document.start, document.value
    (made,) = yaml_source.read_yaml(yamltext.dump_yaml([document.value]), document.file)
    return made, (), made.value


def _is_asked(value: Any) -> bool:
    """Whether it is a v1 job, or no object: any other object goes along."""
    is_object = isinstance(value, Mapping) and value.get("apiVersion") and value.get("kind")
    return not is_object or migrate.is_v1(value)


def _migration(placed: Placed) -> Migration:
    source, path, value = placed
    wrong = [
        *source.findings,
        *(replace(each, path=(*path, *each.path)) for each in migrate.v1_findings(value)),
    ]
    if wrong:
        raise InvalidInput(
            each.problem("{}:{}:{}".format(source.file, *source.place(each.path))) for each in wrong
        )
    try:
        return migrate.migrate_job(value)
    except InvalidInput as error:
        where = f"{source.file}:{source.line_of(path)}: {_title(value)}"
        problems = [
            replace(each, where=f"{where}: {each.where}" if each.where else where)
            for each in error.problems
        ]
        raise InvalidInput(problems) from None


def _migrated_object(
    placed: Placed, migration: Migration | None, jobs: Sequence[V1Job]
) -> MigratedObject:
    source, path, value = placed
    if migration is None:
        found = [renaming.in_object(jobs, value)]
    else:
        others = [each for each in jobs if each.name != value["metadata"]["name"]]
        objects = (migration.runtime.to_wire(), migration.train_job.to_wire())
        found = [renaming.of_others(others, each) for each in objects]
    redaction = _redaction(value)
    told = [
        *(migration.notes if migration else ()),
        *(note for each in found for note in each.notes),
    ]
    notes = tuple(
        (f"{source.file}:{source.place((*path, *each.path))[0]}", redaction.sentence(str(each)))
        for each in told
    )
    origin = f"{_title(value)} ({source.file}:{source.line_of(path)})"
    return MigratedObject(origin, tuple(each.value for each in found), notes)


def _title(value: JSONObject) -> str:
    return f"{value['kind']} {(value.get('metadata') or {}).get('name', '')}".rstrip()


def _redaction(value: Any) -> ReportRedaction:
    """What notes and problems must not tell of an object."""
    return ReportRedaction.of((), [subject.subject_of(value)])


def _objects(value: Any) -> Iterator[tuple[FieldPath, Any]]:
    """The objects of a document; those of a List, as kubectl writes it, one by one."""
    items = value.get("items") if isinstance(value, Mapping) else None
    if isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        yield from ((("items", index), item) for index, item in enumerate(items))
    else:
        yield (), value


def _yaml(found: Sequence[MigratedObject]) -> str:
    documents = [
        (_comment(each) if each.is_job or each.notes else "") * (not index)
        + yamltext.dump_yaml([value])
        for each in found
        for index, value in enumerate(each.made)
    ]
    return "---\n".join(documents)


def _comment(each: MigratedObject) -> str:
    lines = [f"From {each.origin}.", *(f"- {note}" for _, note in each.notes)]
    return "".join(f"# {line}\n" for text in lines for line in text.splitlines())


def _json(found: Sequence[MigratedObject]) -> str:
    items = [value for each in found for value in each.made]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _python(found: Sequence[MigratedObject]) -> str:
    jobs = [each for each in found if each.is_job]
    names = Counter(each.made[-1]["metadata"]["name"] for each in jobs)
    parts = [
        _declaration(each, is_alone=names[each.made[-1]["metadata"]["name"]] == 1) for each in jobs
    ]
    return "\n".join([HEAD, *parts])


_FORMATS: Final[Mapping[str, Callable[[Sequence[MigratedObject]], str]]] = {
    "yaml": _yaml,
    "json": _json,
    "python": _python,
}


def _declaration(each: MigratedObject, *, is_alone: bool) -> str:
    runtime, job = each.made
    metadata, spec = job["metadata"], job["spec"]
    name, namespace = metadata["name"], metadata.get("namespace")
    resource = name if is_alone or not namespace else f"{namespace}-{name}"
    arguments = {
        "runtime": runtime,
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
