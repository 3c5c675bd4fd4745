"""A Pulumi program that declares what v1 jobs become, for `trainer-infra migrate -o python`.

Each TrainJob has its runtime inline and the v1 job's name, for the runtime has host names that
begin with it.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trainer_infra.migrate.migration import Migration

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


def program_text(migrations: Sequence[Migration], comments: Sequence[str]) -> str:
    """The program.

    Args:
        migrations: what the v1 jobs became.
        comments: the text above each of them, whole lines.
    """
    names = Counter(each.train_job.metadata.name for each in migrations)
    parts = [
        _declaration(each, comment, is_alone=names[each.train_job.metadata.name] == 1)
        for each, comment in zip(migrations, comments, strict=True)
    ]
    return "\n".join([HEAD, *parts])


def _declaration(migration: Migration, comment: str, *, is_alone: bool) -> str:
    job = migration.train_job.to_wire()
    metadata, spec = job["metadata"], job["spec"]
    name, namespace = metadata["name"], metadata.get("namespace")
    resource = name if is_alone or not namespace else f"{namespace}-{name}"
    arguments = {
        "runtime": migration.runtime.to_wire(),
        **{ARGUMENTS[key]: value for key, value in spec.items() if key in ARGUMENTS},
        **{key: metadata[key] for key in metadata if key != "namespace" or namespace},
    }
    left = NO_ARGUMENT.format(spec["managedBy"]) if "managedBy" in spec else ""
    lines = [f"{comment}{left}TrainJob(", f"    {_literal(resource, 4)},"]
    lines += [f"    {key}={_literal(value, 4, len(key) + 1)}," for key, value in arguments.items()]
    return "\n".join([*lines, ")", ""])


def _literal(value: Any, indent: int, before: int = 0) -> str:
    """The value as Python writes it, in one line where it fits.

    Args:
        value: JSON.
        indent: columns of the line in which it begins.
        before: columns of what stands before it in that line.
    """
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
