"""Selectors by labels that the v1 operators write on pods: to the labels of JobSet and of Jobs.

They stand in affinity, spreads, NetworkPolicies, Services, PodMonitors and budgets. The masters and workers of
v1 are pods of one job in v2, of which number 0 is the master; Kubernetes writes that number as a label, too.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate.migration import Note, V1Job
from trainer_infra.migrate.operator_names import MASTER, WORKER, label_name

_KEYS: Final = frozenset({"matchLabelKeys", "mismatchLabelKeys"})
_EXPRESSIONS: Final = "matchExpressions"
_ITEMS: Final = {**dict.fromkeys(_KEYS, str), _EXPRESSIONS: Mapping}
_JOB, _TYPE, _ROLE, _INDEX = "job-name", "replica-type", "job-role", "replica-index"
_TYPES: Final = {MASTER, WORKER, names.LAUNCHER}
_ALL_NODES: Final = "means all nodes in v2: the master is node 0 of the job that the workers are"
_ALL_JOB_SETS: Final = "selects the pods of every JobSet in v2"
_NO_LABEL: Final = (
    "is a label that only v1 wrote, and its pods of v2 cannot be selected so: remove it"
)
_COUNTED: Final = "counts all nodes in v2, of which 0 is the master"
_JOB_KEYS: Final = frozenset({"job-name", "batch.kubernetes.io/job-name"})
"""Labels of a Job's pods; the MPI operator makes one of the launcher."""

Terms: TypeAlias = Mapping[str, tuple[str, ...]]
"""Labels, and the values of which the pods have one."""


@dataclass(frozen=True, slots=True)
class Selectors:
    """Selectors in one value."""

    job: V1Job
    own: Container[str]
    """Labels that the selected pods have from their template."""
    notes: list[Note]
    """Where those that have no exact counterpart are noted."""

    def takes(self, key: str, value: Any) -> bool:
        """Whether a field is a selector, or a part of one."""
        if key in _ITEMS:
            return isinstance(value, list) and all(isinstance(e, _ITEMS[key]) for e in value)
        is_flat = isinstance(value, Mapping) and all(isinstance(e, str) for e in value.values())
        return is_flat and key in {"matchLabels", "selector"}

    def renamed(self, key: str, value: Any, path: Path) -> Any:
        """The field with v2's labels."""
        if key == _EXPRESSIONS:
            return [self._expression(each, (*path, index)) for index, each in enumerate(value)]
        if key in _KEYS:
            return [self._key(each, (*path, index)) for index, each in enumerate(value)]
        made: dict[str, str] = {}
        beside = {self._name(label, (each,)): each for label, each in value.items()}
        for label, each in value.items():
            terms, advice = self._terms(label, (each,), beside)
            self._note((*path, label), each, advice)
            made |= {new: its[0] for new, its in terms.items()}
        return made

    def _key(self, key: str, path: Path) -> str:
        terms, advice = self._terms(key, (), {})
        self._note(path, key, advice if advice == _NO_LABEL else "")
        return next(iter(terms))

    def _expression(self, each: JSONObject, path: Path) -> JSONObject:
        key, values = str(each.get("key")), tuple(map(str, each.get("values") or ()))
        terms, advice = self._terms(key, values, {})
        self._note(path, dict(each), advice)
        # Of the master the last is its number, which suffices.
        *_, (new, its) = terms.items()
        is_same = (new, its) == (key, values)
        return each if is_same else {**each, "key": new} | ({"values": [*its]} if values else {})

    def _note(self, path: Path, value: object, advice: str) -> None:
        if advice:
            self.notes.append(Note(path, value, advice))

    def _name(self, key: str, values: tuple[str, ...]) -> str | None:
        """What a label is of; one without a prefix only where a value is one of v1's."""
        name, job = label_name(key, self.own), self.job
        bare = {_JOB: {job.name}, _TYPE: {*job.replicas}, _ROLE: {MASTER}}
        return name if name != key or not bare.get(key, set()).isdisjoint(values) else None

    def _terms(
        self, key: str, values: tuple[str, ...], beside: Mapping[str | None, str]
    ) -> tuple[Terms, str]:
        """What a label becomes, and what a note says of it; `beside` are the values of all in the selector."""
        name, masters = self._name(key, values), self.job.masters
        if name is None:
            launcher = f"{self.job.name}-{names.LAUNCHER}" if key in _JOB_KEYS else None
            return {key: tuple(f"{e}-0" if e == launcher else e for e in values)}, ""
        if name == _JOB:
            return {names.JOBSET_NAME_LABEL: values}, "" if values else _ALL_JOB_SETS
        if name == _INDEX:
            role = beside.get(_TYPE, "").lower()
            first = masters if role == WORKER else 0
            numbers = (str(int(each) + first) if each.isdecimal() else each for each in values)
            advice = _COUNTED if masters and not role else ""
            return {names.COMPLETION_INDEX: tuple(numbers)}, advice
        types = {each.lower() for each in values}
        if types <= _TYPES and (name == _TYPE or (name == _ROLE and values)):
            return self._of_types(types)
        is_told_apart = name == "operator-name" and _JOB in beside
        return ({}, "") if is_told_apart else ({key: values}, _NO_LABEL)

    def _of_types(self, types: set[str]) -> tuple[Terms, str]:
        """The pods of replica types; the training operator calls the launcher the master."""
        if self.job.is_mpi:
            jobs = sorted({names.NODE if each == WORKER else names.LAUNCHER for each in types})
            return {names.REPLICATED_JOB_LABEL: tuple(jobs)}, ""
        first = {names.COMPLETION_INDEX: ("0",)} if types == {MASTER} else {}
        is_of_workers = self.job.masters and WORKER in types and MASTER not in types
        made = {names.REPLICATED_JOB_LABEL: (names.NODE,), **first}
        return made, _ALL_NODES if is_of_workers else ""
