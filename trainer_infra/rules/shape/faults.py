"""What an object's schema says is wrong with it, for the rules `schema` and `quoted-strings`.

The kinds of the trainer, JobSet's and Kueue's have a published schema. Volcano's are judged by their
metadata and by fields that are texts in all of them. What stands below a value that is not known is
noted and left out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import finding as api
from trainer_infra.api import queue_schema, schema
from trainer_infra.api.object_meta import OBJECT_META
from trainer_infra.api.schema_walk import Walk
from trainer_infra.rules import unknown
from trainer_infra.rules.placement import queue_objects
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.shape import texts
from trainer_infra.rules.value import ABSENT

_TYPED: Final = names.RUNTIMES | {names.TRAIN_JOB}
_VERSIONS: Final = {
    **dict.fromkeys(_TYPED, names.API_VERSION),
    names.JOBSET: names.JOBSET_API_VERSION,
    **dict.fromkeys((names.CLUSTER_QUEUE, names.LOCAL_QUEUE), names.KUEUE_VERSIONS[0]),
}
"""The apiVersion of the kinds that no other group has."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong."""

    value: Value
    """Where."""
    finding: api.FieldFinding
    """What; its path is below the part of the object that was judged."""

    @property
    def wants_quotes(self) -> bool:
        """Whether it is a number or a boolean where a text belongs."""
        return self.finding.fix == api.QUOTE

    @property
    def got(self) -> object:
        """What to show of the offending value: no variable's value, and nothing large."""
        got = self.finding.got
        is_hidden = "env" in self.value.path or not isinstance(got, str | int | float)
        return None if is_hidden else got


def faults_of(subject: Subject) -> Iterator[Fault]:
    """Everything wrong with the object as it was written."""
    if not subject.fits_schema:
        yield from faults_by(subject, schema.VERSIONS[-1])


def faults_by(subject: Subject, trainer_version: str) -> Iterator[Fault]:
    """Everything wrong with it by the schemas of a release of Trainer."""
    whole = subject.object
    version = _VERSIONS.get(subject.kind)
    if version and whole["apiVersion"].raw is ABSENT:
        missing = api.FieldFinding(("apiVersion",), "is required", fix=f"write {version}")
        yield Fault(whole["apiVersion"], missing)
    if subject.kind in _TYPED:
        judge = partial(schema.schema_findings, name=subject.kind, version=trainer_version)
        yield from _found(whole, judge)
    elif subject.kind == names.JOBSET:
        yield from _found(whole, _of_jobset)
    elif subject.kind in names.KUEUE_KINDS:
        if queue_objects.is_of_kueue(subject):
            yield from _found(whole, partial(queue_schema.queue_findings, kind=subject.kind))
    else:
        yield from _found(whole["metadata"], _of_metadata)
        yield from _found(whole["spec"], texts.unquoted_texts)


def _found(value: Value, judge: Callable[[Any], Iterable[api.FieldFinding]]) -> Iterator[Fault]:
    if value.raw is ABSENT:
        yield Fault(value, api.FieldFinding((), "is required"))
        return
    hidden = tuple(unknown.unknown_paths(value.raw))
    for each in hidden:
        value.at(*each).is_noted()
    for finding in judge(unknown.with_stand_ins(value.raw) if hidden else value.raw):
        if not any(finding.path[: len(each)] == each for each in hidden):
            yield Fault(value.at(*finding.path), finding)


def _of_jobset(value: Any) -> Iterable[api.FieldFinding]:
    """What is wrong with a JobSet but for what JobSet's webhook fills in before it is judged."""
    found = schema.schema_findings(value, names.JOBSET)
    return (each for each in found if not (_is_rule_name(each.path) and each.got is None))


def _is_rule_name(path: api.Path) -> bool:
    return path[:3] == ("spec", "failurePolicy", "rules") and path[4:] == ("name",)


def _of_metadata(value: Any) -> Iterable[api.FieldFinding]:
    return schema.in_order(Walk({}), value, OBJECT_META)
