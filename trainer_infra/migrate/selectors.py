"""Selectors by labels that the v1 operators write on pods: to the labels of JobSet and of Jobs.

They stand in affinity, spreads, NetworkPolicies, Services, PodMonitors and budgets. The masters and workers of
v1 are pods of one job in v2, of which number 0 is the master; Kubernetes writes that number as a label, too.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate.migration import Note
from trainer_infra.migrate.operator_names import MASTER, WORKER, OperatorNames, label_name

_KEYS: Final = frozenset({"matchLabelKeys", "mismatchLabelKeys"})
_EXPRESSIONS: Final = "matchExpressions"
_JOB, _TYPE, _ROLE, _INDEX = "job-name", "replica-type", "job-role", "replica-index"
_NEW_KEYS: Final = {
    _JOB: names.JOBSET_NAME_LABEL,
    _TYPE: names.REPLICATED_JOB_LABEL,
    _INDEX: names.COMPLETION_INDEX,
}
_TYPES: Final = (WORKER, MASTER, names.LAUNCHER)
_ALL_NODES: Final = "selects all nodes in v2: the master is node 0 of the job that the workers are"
_ALL_JOB_SETS: Final = "selects the pods of every JobSet in v2"
_NO_LABEL: Final = (
    "is a label that only v1 wrote, and its pods of v2 cannot be selected so: remove it"
)
_COUNTED: Final = "counts all nodes in v2, of which 0 is the master"
_JOB_KEYS: Final = frozenset({"job-name", "batch.kubernetes.io/job-name"})
"""Labels of a Job's pods; the MPI operator makes one of the launcher."""


@dataclass(frozen=True, slots=True)
class Selectors:
    """Selectors in one value."""

    known: OperatorNames
    own: Container[str]
    """Labels that the selected pods have from their template."""
    notes: list[Note]
    """Where those that have no exact counterpart are noted."""

    def takes(self, key: str, value: Any) -> bool:
        """Whether a field is a selector, or a part of one."""
        if key in _KEYS or key == _EXPRESSIONS:
            return isinstance(value, list)
        is_flat = isinstance(value, Mapping) and all(isinstance(e, str) for e in value.values())
        return is_flat and key in {"matchLabels", "selector"}

    def renamed(self, key: str, value: Any, path: Path) -> Any:
        """The field with v2's labels."""
        if key == _EXPRESSIONS:
            return [self._expression(each, (*path, index)) for index, each in enumerate(value)]
        if key in _KEYS:
            return [self._key(each, (*path, index)) for index, each in enumerate(value)]
        made: dict[str, str] = {}
        for label, each in value.items():
            made |= self._label(label, each, value, (*path, label))
        return made

    def _note(self, path: Path, value: object, advice: str) -> None:
        self.notes.append(Note(path, value, advice))

    def _name(self, key: str, value: object) -> str | None:
        """What a label is of; one without a prefix only where its value is one of v1's."""
        name, known = label_name(key, self.own), self.known
        bare = {_JOB: (known.job.name,), _TYPE: known.roles, _ROLE: (MASTER,)}
        return name if name != key or value in bare.get(key, ()) else None

    def _label(
        self, key: str, value: str, labels: Mapping[str, str], path: Path
    ) -> Mapping[str, str]:
        name = self._name(key, value)
        if name is None:
            is_launcher = value == f"{self.known.job.name}-{names.LAUNCHER}"
            return {key: f"{value}-0" if key in _JOB_KEYS and is_launcher else value}
        if name == _JOB:
            return {names.JOBSET_NAME_LABEL: value}
        others = {self._name(*each): each[1] for each in labels.items()}
        if name == _INDEX and value.isdecimal():
            return self._numbered(int(value), others, path)
        if name in (_TYPE, _ROLE) and value.lower() in _TYPES:
            return self._of_type(value.lower(), path)
        if name == "operator-name" and _JOB in others:
            return {}
        self._note(path, value, _NO_LABEL)
        return {key: value}

    def _job(self, value: str) -> str:
        """The job that the pods of a replica type belong to; the training operator calls the launcher the master."""
        of_launcher = value.lower() == names.LAUNCHER or (
            self.known.is_mpi and value.lower() == MASTER
        )
        return names.LAUNCHER if of_launcher else names.NODE

    def _of_type(self, value: str, path: Path) -> Mapping[str, str]:
        """The pods of a replica type."""
        if self.known.is_mpi:
            return {names.REPLICATED_JOB_LABEL: self._job(value)}
        first = {names.COMPLETION_INDEX: "0"} if value == MASTER else {}
        if value == WORKER and self.known.masters:
            self._note(path, value, _ALL_NODES)
        return {names.REPLICATED_JOB_LABEL: names.NODE, **first}

    def _numbered(
        self, index: int, others: Mapping[str | None, str], path: Path
    ) -> Mapping[str, str]:
        """The pod of a number in its replica type."""
        role = others.get(_TYPE, "").lower()
        if not role and self.known.masters:
            self._note(path, str(index), _COUNTED)
        before = self.known.masters if role == WORKER else 0
        return {names.COMPLETION_INDEX: str(index + before)}

    def _key(self, key: str, path: Path) -> str:
        name = label_name(key, self.own)
        # Without a prefix it is not known to be v1's.
        if name is None or name == key:
            return key
        if name not in _NEW_KEYS:
            self._note(path, key, _NO_LABEL)
        return _NEW_KEYS.get(name, key)

    def _expression(self, each: JSONObject, path: Path) -> JSONObject:
        key, values = str(each.get("key", "")), tuple(each.get("values") or ())
        found = {self._name(key, value) for value in values or ("",)}
        name = found.pop() if len(found) == 1 else label_name(key, self.own)
        if name is None or (name == key and not values):
            return each
        made = dict(self._changed(name, each, values))
        for advice in self._inexact(name, values, is_changed=made != dict(each)):
            self._note(path, dict(each), advice)
        return made

    def _changed(
        self, name: str, each: JSONObject, values: tuple[str, ...]
    ) -> Iterator[tuple[str, Any]]:
        """The fields of an expression in v2."""
        if name in (_TYPE, _ROLE) and values == (MASTER,) and not self.known.is_mpi:
            yield from {**each, "key": names.COMPLETION_INDEX, "values": ["0"]}.items()
            return
        new = _NEW_KEYS.get(_TYPE if name == _ROLE and {*values} <= {*_TYPES} else name)
        yield from (each if new is None else {**each, "key": new}).items()
        if new == names.REPLICATED_JOB_LABEL and values:
            yield "values", list(dict.fromkeys(map(self._job, values)))

    def _inexact(self, name: str, values: tuple[str, ...], *, is_changed: bool) -> Iterator[str]:
        if not is_changed:
            yield _NO_LABEL
        elif name == _JOB and not values:
            yield _ALL_JOB_SETS
        elif name == _INDEX and self.known.masters:
            yield _COUNTED
        elif self.known.masters and WORKER in values and MASTER not in values:
            yield _ALL_NODES
