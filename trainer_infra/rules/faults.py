"""What is wrong with an object by its schema and its forms, for the rules `schema`, `quoted-strings`, and of admission.

The kinds of the trainer, JobSet's and Kueue's have a published schema. Volcano's are judged by their
metadata and by fields that are texts in all of them (scheduling v1beta1, topology v1alpha1). What stands below a
value that is not known is noted and left out. What pods and Jobs must be beyond that are forms, and rules of
admission say what is wrong: one walk finds it for all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import finding as api
from trainer_infra.api.shape import queue_schema, schema, workloads
from trainer_infra.api.shape.object_meta import OBJECT_META
from trainer_infra.api.shape.reading import has_unknown, unknown_paths, with_stand_ins
from trainer_infra.api.shape.walk import FormWalk, Schema, Walk
from trainer_infra.rules import pods
from trainer_infra.rules.placement import queue_objects
from trainer_infra.rules.rule import Finding, Subject, Value
from trainer_infra.rules.value import ABSENT

_TYPED: Final = names.RUNTIMES | {names.TRAIN_JOB}
_VERSIONS: Final = {
    **dict.fromkeys(_TYPED, names.API_VERSION),
    names.JOBSET: names.JOBSET_API_VERSION,
    **dict.fromkeys((names.CLUSTER_QUEUE, names.LOCAL_QUEUE), names.KUEUE_VERSIONS[0]),
}
"""The apiVersion of the kinds that no other group has."""
_TEXTS: Final = frozenset(
    (
        *("name", "namespace", "kind", "apiGroup", "key", "value", "operator", "effect"),
        *("clusterQueue", "cohort", "cohortName", "parent", "parentName", "queue"),
        *("nodeLabel", "topologyName", "controllerName", "provisioningClassName"),
        *("priorityClassName", "schedulerName"),
    )
)
_MAPS: Final = frozenset(
    ("labels", "annotations", "matchLabels", "nodeLabels", "nodeSelector", "parameters")
)
_LISTS: Final = frozenset(("args", "command", "values", "coveredResources", "onFlavors"))


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong."""

    value: Value
    finding: api.FieldFinding
    """Its path is below the part of the object that was judged."""

    @property
    def wants_quotes(self) -> bool:
        """Whether it is a number or a boolean where a text belongs."""
        return self.finding.fix == api.QUOTE

    @property
    def got(self) -> object:
        """What to show of the offending value: no variable's value, and nothing large."""
        return _shown(self.finding.got, is_hidden="env" in self.value.path)


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
        yield from _found(whole["metadata"], lambda it: schema.in_order(Walk({}), it, OBJECT_META))
        yield from _found(whole["spec"], _unquoted_texts)


def _found(value: Value, judge: Callable[[Any], Iterable[api.FieldFinding]]) -> Iterator[Fault]:
    if value.raw is ABSENT:
        yield Fault(value, api.FieldFinding((), "is required"))
        return
    hidden = tuple(unknown_paths(value.raw))
    for each in hidden:
        value.at(*each).is_noted()
    for finding in judge(with_stand_ins(value.raw) if hidden else value.raw):
        if not api.is_within(finding.path, hidden):
            yield Fault(value.at(*finding.path), finding)


def _of_jobset(value: Any) -> Iterable[api.FieldFinding]:
    """What is wrong with a JobSet but for what JobSet's webhook fills in before it is judged."""
    rules: api.Path = ("spec", "failurePolicy", "rules")
    for each in schema.schema_findings(value, names.JOBSET):
        is_rule_name = each.path[:3] == rules and each.path[4:] == ("name",)
        if not is_rule_name or each.got is not None:
            yield each


def _unquoted_texts(value: Any, path: api.Path = ()) -> Iterator[api.FieldFinding]:
    """The numbers and booleans that stand where a text belongs."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _field(key, each, path)
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _unquoted_texts(each, (*path, index))


def _field(key: object, value: Any, path: api.Path) -> Iterator[api.FieldFinding]:
    here: api.Path = (*path, str(key))
    if not isinstance(key, str):
        yield api.FieldFinding(here, "a key must be a string", key, api.QUOTE)
    elif key in _TEXTS:
        yield from _text(value, here)
    elif key in _MAPS and isinstance(value, Mapping):
        for name, each in value.items():
            yield from _text(each, (*here, str(name)))
    elif key in _LISTS and isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _text(each, (*here, index))
    if isinstance(key, str):
        yield from _unquoted_texts(value, here)


def _text(value: Any, path: api.Path) -> Iterator[api.FieldFinding]:
    if isinstance(value, bool | int | float):
        yield api.FieldFinding(path, "must be a string", value, api.QUOTE)


@dataclass(frozen=True, slots=True)
class RuledFinding:
    """What a rule says, or could not see."""

    rule: str
    finding: Finding | None = None
    unseen: api.Path = ()
    """What is not known, where that is why nothing is found."""


def findings_of(rule: str, subject: Subject) -> Iterator[Finding]:
    """What a rule finds in an object; what it could not see is noted."""
    for each in subject.once(_ruled):
        if each.rule != rule:
            continue
        if each.finding is None:
            subject.noted[each.unseen] = None
        else:
            yield each.finding


def _ruled(subject: Subject) -> Iterator[RuledFinding]:
    for place, shape in _shapes(subject):
        walk = _walked(place, shape)
        for rule, path in walk.unseen:
            yield RuledFinding(rule, unseen=_at(place, path).written.path)
        for each in walk.standing():
            value = _at(place, each.path)
            if not _is_refused(subject, value.written.path):
                got = _shown(each.got, is_hidden=each.rule == "field-types" and "env" in each.path)
                yield RuledFinding(each.rule, value.finding(each.what, got, each.fix))


def _is_refused(subject: Subject, path: api.Path) -> bool:
    """Whether the rule `schema` says already what is wrong at a place."""
    if subject.kind not in names.WITH_PODS:
        return False
    # What is not known of the whole object is not what a rule of pods could not see.
    found, _ = subject.places(faults_of)
    above = (each.value.written.path for each in found)
    return api.is_within(path, above)


def _shapes(subject: Subject) -> Iterator[tuple[Value, Schema]]:
    """The parts of the object that are judged, each with its types and forms."""
    own = workloads.judged_part(subject.kind, subject.api_version)
    if own is not None:
        path, shape = own
        yield subject.object.at(*path), shape
    elif subject.kind == names.TRAIN_JOB:
        for jobset in pods.jobsets(subject):
            yield jobset, workloads.jobset_spec(fills=False)


def _walked(place: Value, schema: Schema) -> FormWalk:
    root = place.root
    is_whole = not root.gaps and not has_unknown(place.raw)
    walk = FormWalk(None if is_whole else root.may_have)
    walk.check(None if place.raw is ABSENT else place.raw, schema, place.path)
    return walk


def _at(place: Value, path: api.Path) -> Value:
    return place.at(*path[len(place.path) :])


def _shown(got: object, *, is_hidden: bool) -> object:
    return got if isinstance(got, str | int | float) and not is_hidden else None
