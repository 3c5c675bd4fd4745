"""A walk over a pod template, or over an object beside a job, that puts v2's names in the place of v1's.

What has an exact counterpart is renamed; for every other name that only v1 makes there is a note with its path.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.json_values import JSONObject, json_leaves, with_leaves
from trainer_infra.migrate.fields import V2_BETA_1
from trainer_infra.migrate.migration import Note, V1Job
from trainer_infra.migrate.operator_names import MADE, MASTER, label_name, mentions, with_hosts
from trainer_infra.migrate.selectors import Selectors

_NO_ADDRESS: Final = frozenset({"name", "generateName", "hostname", "serviceName"})
"""Fields that hold no address."""
_OF_JOBS: Final = {
    ("metadata", "labels"): (
        *(names.JOB_NAME_LABEL, names.JOB_NAME_OLD_LABEL, names.COMPLETION_INDEX),
        *("controller-uid", "batch.kubernetes.io/controller-uid"),
    ),
    ("spec",): ("hostname", "subdomain"),
}
"""Fields of a pod template that Jobs and JobSets write."""
_WRITTEN_BY_JOBS: Final = "is lost: Jobs and JobSets write it themselves"
_LABEL_FIELD: Final = re.compile(r"metadata\.labels\['(.+)'\]")
_NEW_FIELDS: Final = {
    "job-name": f"metadata.labels['{names.JOBSET_NAME_LABEL}']",
    "replica-index": names.COMPLETION_INDEX_FIELD,
}
"""Where the pods of v2 have what v1 wrote into a label."""
_KEYS: Final = "ssh-auth"
_HOSTFILE: Final = "mpi-job-config"
_OF_OPERATOR: Final = frozenset({_KEYS, _HOSTFILE, "mpi-job-kubectl"})
"""Volumes that the MPI operators added."""
_SERVICE_MONITOR: Final = "ServiceMonitor"
_NO_SERVICES: Final = "selects the Services that v1 made, one for each pod: write a PodMonitor"
_LOST_MOUNT: Final = "is lost: v2 adds no such volume to these pods"
_COUNTED: Final = "counts all nodes in v2, of which 0 is the master: a worker's is higher by 1"
_NO_LABEL: Final = "is a label that only v1 wrote: it is empty in v2, where node 0 is the master"


@dataclass(frozen=True, slots=True)
class RenamedValue:
    """A value with v2's names."""

    value: Any
    notes: tuple[Note, ...]
    """Names without an exact counterpart, one note each."""


def in_template(job: V1Job, role: str, template: JSONObject, path: Path) -> RenamedValue:
    """The pod template of a replica type, which stands at the path."""
    labels = frozenset(_below(template, "metadata", "labels"))
    volumes = frozenset(each.get("name") for each in _below(template, "spec", "volumes"))
    walk = _Walk(job, role.lower(), labels, volumes)
    made = walk.value(template, path)
    for keys, written in _OF_JOBS.items():
        part = _below(made, *keys)
        for key in [each for each in part if each in written]:
            walk.notes.append(Note((*path, *keys, key), part.pop(key), _WRITTEN_BY_JOBS))
    return RenamedValue(made, tuple(walk.notes))


def in_object(jobs: Sequence[V1Job], value: JSONObject) -> RenamedValue:
    """An object that stands beside jobs: it may select their pods, or name them."""
    texts = " ".join(str(leaf) for _, leaf in json_leaves(value))
    # Selectors are by the labels of the job that it names.
    named = [each for each in jobs if re.search(rf"(?<![\w-]){re.escape(each.name)}(?!\w)", texts)]
    labels = frozenset(_below(value, "spec", "template", "metadata", "labels"))
    made, notes = value, list[Note]()
    for job in named or jobs[:1]:
        walk = _Walk(job, "", labels, frozenset())
        made = walk.value(made, ())
        notes += (each for each in walk.notes if each not in notes)
    if value.get("kind") == _SERVICE_MONITOR and made != value:
        notes.append(Note(("kind",), _SERVICE_MONITOR, _NO_SERVICES))
    return RenamedValue(made, tuple(notes))


def of_others(jobs: Sequence[V1Job], value: JSONObject) -> RenamedValue:
    """What a job became, in which the hosts of other jobs may be named."""
    made, notes = value, list[Note]()
    for job in jobs:
        made = with_leaves(made, partial(with_hosts, job))
        pods, advice = next(mentions(job))
        found = (each for each in json_leaves(made) if isinstance(each[1], str))
        notes += (Note(*each, advice) for each in found if pods.search(each[1]))
    return RenamedValue(made, tuple(notes))


def _below(value: Any, *keys: str) -> Any:
    """What stands below several keys; an empty mapping where there is nothing."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value or {}


@dataclass(slots=True)
class _Walk:
    """One walk, which notes what it cannot rename."""

    job: V1Job
    role: str
    """The replica type; empty beside a job."""
    own: frozenset[str]
    """Labels that the pods have from their template."""
    volumes: frozenset[Any]
    """Volumes of the template itself."""
    notes: list[Note] = field(default_factory=list)

    def value(self, value: Any, path: Path) -> Any:
        """The value at the path with v2's names."""
        if isinstance(value, Mapping):
            return dict(self._fields(value, path))
        if isinstance(value, list):
            return [self.value(each, (*path, index)) for index, each in enumerate(value)]
        return self._text(value, path) if isinstance(value, str) else value

    def _fields(self, value: JSONObject, path: Path) -> Iterator[tuple[str, Any]]:
        selectors = Selectors(self.job, self.own, self.notes)
        for key, each in value.items():
            at = (*path, key)
            literal = self._literal(each) if key == "valueFrom" else None
            if literal is not None:
                yield "value", literal
            elif selectors.takes(key, each):
                yield key, selectors.renamed(key, each, at)
            elif key == "volumeMounts" and self.job.is_mpi and self.role:
                yield key, [*self._mounts(each, at)]
            else:
                yield key, self.value(each, at)

    def _mounts(self, mounts: Sequence[JSONObject], path: Path) -> Iterator[JSONObject]:
        """Without those of a volume that v2 does not add."""
        added = {_KEYS: names.SSH_AUTH_VOLUME}
        if self.role == names.LAUNCHER:
            added[_HOSTFILE] = names.HOSTFILE_VOLUME
        for index, each in enumerate(mounts):
            name, at = each.get("name"), (*path, index)
            if name in self.volumes or name not in _OF_OPERATOR:
                yield self.value(each, at)
            elif name in added:
                yield {**each, "name": added[name]}
            else:
                self.notes.append(Note(at, dict(each), _LOST_MOUNT))

    def _text(self, text: str, path: Path) -> str:
        above, key = ("", "", *path)[-2:]
        if key == "fieldPath":
            return self._field(text, path)
        job = self.job.name
        for old, new, own, outer in MADE if self.job.is_mpi else ():
            is_named = key in own or (key == "name" and above in outer)
            if is_named and text == f"{job}{old}":
                return f"{job}{new}"
        made = text if key in _NO_ADDRESS else with_hosts(self.job, text)
        advice = [said for pattern, said in mentions(self.job) if pattern.search(made)]
        if advice:
            self.notes.append(Note(path, text, "; ".join(advice)))
        return made

    def _label(self, text: str) -> str | None:
        """Which label of v1 a fieldPath reads."""
        found = _LABEL_FIELD.fullmatch(text)
        return label_name(found[1], self.own) if found else None

    def _literal(self, source: Any) -> str | None:
        """What a variable of v1's labels is on every pod of the template; None where it differs."""
        name, job = self._label(str(_below(source, "fieldRef", "fieldPath"))), self.job
        is_beta = job.api_version == V2_BETA_1
        if self.role and name == "operator-name":
            return "mpi-operator" if is_beta else f"{job.kind.lower()}-controller"
        is_alone = job.is_mpi or len(job.replicas) == 1
        is_role = name == "replica-type" or (is_beta and name == "job-role")
        return self.role if self.role and is_alone and is_role else None

    def _field(self, text: str, path: Path) -> str:
        name, job, advice = self._label(text), self.job.name, ""
        if text == "metadata.name" and self.role:
            host = f"{job}-{names.NODE if self.role != names.LAUNCHER else self.role}-0-<index>"
            advice = f"has letters by chance at its end in v2; the host name is {host}, and its address {host}.{job}"
        elif name == "replica-index" and self.job.masters and self.role != MASTER:
            advice = _COUNTED
        elif name is not None and name not in _NEW_FIELDS:
            advice = _NO_LABEL
        if advice:
            self.notes.append(Note(path, text, advice))
        return _NEW_FIELDS.get(name or "", text)
