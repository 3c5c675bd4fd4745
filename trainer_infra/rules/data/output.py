"""Where a training container writes its results: recognized options, and what is mounted there.

Recognized are variables and arguments that common training programs have for a folder of results:
`--output_dir` of transformers and torchtune, `CHECKPOINT_DIR`, and the like. A folder that outlives
the pod is on a volume with storage of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import INITIALIZERS, PodContainer
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.value import ABSENT

VARIABLES: Final = (
    "OUTPUT_DIR",
    "CHECKPOINT_DIR",
    "CKPT_DIR",
    "SAVE_DIR",
    "RESULTS_DIR",
)
"""Variables that name a folder of results."""
OPTIONS: Final = (
    "output_dir",
    "checkpoint_dir",
    "ckpt_dir",
    "save_dir",
    "results_dir",
    "default_root_dir",
)
"""Arguments that do, with `_` or `-`, with `--` or as `key=value`."""
_QUOTES: Final = "'\""
_VOLUMES: Final = (
    "persistentVolumeClaim",
    "nfs",
    "csi",
    "cephfs",
    "rbd",
    "iscsi",
    "fc",
    "glusterfs",
    "azureFile",
    "azureDisk",
    "awsElasticBlockStore",
    "gcePersistentDisk",
    "portworxVolume",
)
"""Kinds of volumes that outlive a pod."""


class Fate(Enum):
    """What becomes of a folder when its pod is gone."""

    KEPT = auto()
    """It is there."""
    LOST = auto()
    """It is gone."""
    MACHINE = auto()
    """It is there as long as the machine is."""
    OPEN = auto()
    """Not known: it is on a volume that stands nowhere."""


SAFE: Final = (Fate.KEPT, Fate.OPEN)
"""What may well outlive a machine."""


@dataclass(frozen=True, slots=True)
class Output:
    """A folder of results."""

    value: Value
    """The variable's value or the argument that names it."""
    folder: str
    """Its path or URI."""


@dataclass(frozen=True, slots=True)
class OutputJob:
    """A training container with what its volumes are."""

    container: PodContainer
    """The container."""
    claims: Value
    """The volumeClaimPolicies of its JobSet, whose volumes pods have without saying so."""


def jobs(subject: Subject) -> Iterator[OutputJob]:
    """The containers that train."""
    for spec in pods.jobsets(subject):
        for each in pods.containers(subject):
            if _trains(each):
                yield OutputJob(each, spec["volumeClaimPolicies"])


def outputs(container: Value, variables: Sequence[str], options: Sequence[str]) -> Iterator[Output]:
    """The folders of results that a container names; what is not known names none."""
    for each in container["env"].items():
        value = each["value"]
        known = not each["name"].is_noted() and not value.is_noted()
        if known and each["name"].text() in variables and value.text():
            yield Output(value, value.text())
    for part in ("command", "args"):
        yield from _of_arguments(container[part], options)


def fate(folder: str, job: OutputJob) -> Fate:
    """What becomes of a folder of the container.

    Raises:
        UnseenValue: What is mounted there is not known.
    """
    if "://" in folder:
        return Fate.LOST if folder.startswith("file://") else Fate.KEPT
    if "$" in folder:
        return Fate.OPEN
    path = PurePosixPath(job.container.value["workingDir"].text(), folder)
    if not path.is_absolute() and _mounts(job):
        return Fate.OPEN
    mounts = [each for each in _mounts(job) if _is_in(path, each["mountPath"].text())]
    if not mounts:
        return Fate.LOST
    return _fate_of(max(mounts, key=lambda each: len(each["mountPath"].text())), job)


def keeps(job: OutputJob) -> bool:
    """Whether the container can write anything that outlives its pod and the pod's machine.

    Raises:
        UnseenValue: It is not known.
    """
    mounts = (each for each in _mounts(job) if each["readOnly"].flag() is not True)
    return any(_fate_of(each, job) in SAFE for each in mounts)


def _trains(container: PodContainer) -> bool:
    is_other = container.is_init or container.pod.step in INITIALIZERS
    return not is_other and container.value["name"].raw == names.NODE


def _mounts(job: OutputJob) -> tuple[Value, ...]:
    return tuple(lookup.items(job.container.value["volumeMounts"]))


def _is_in(path: PurePosixPath, mount: str) -> bool:
    return bool(mount) and path.is_relative_to(mount)


def _fate_of(mount: Value, job: OutputJob) -> Fate:
    name = mount["name"].text()
    for each in lookup.items(job.container.pod.spec["volumes"]):
        if each["name"].text() == name:
            return _fate_of_volume(each)
    return Fate.KEPT if name in _claimed(job.claims) else Fate.OPEN


def _fate_of_volume(volume: Value) -> Fate:
    if any(volume[each].raw is not ABSENT for each in _VOLUMES):
        return Fate.KEPT
    return Fate.LOST if volume["hostPath"].raw is ABSENT else Fate.MACHINE


def _claimed(claims: Value) -> Iterator[str]:
    for policy in lookup.items(claims):
        for each in policy["templates"].items():
            yield each.at("metadata", "name").text()


def _of_arguments(arguments: Value, options: Sequence[str]) -> Iterator[Output]:
    """Options in a list of arguments, also those with dashes in a script that is one argument."""
    awaited = False
    for each in arguments.items():
        words = () if each.is_noted() else each.text().split()
        awaited = awaited and bool(words)
        for word in words:
            if awaited:
                yield Output(each, word.strip(_QUOTES))
            name, equals, value = word.partition("=")
            dashed = name.startswith("-")
            is_option = name.lstrip("-").replace("-", "_") in options
            if is_option and value and (dashed or len(words) == 1):
                yield Output(each, value.strip(_QUOTES))
            awaited = is_option and dashed and not equals
