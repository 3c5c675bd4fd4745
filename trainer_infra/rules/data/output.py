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
from trainer_infra.rules.placement import lookup, patches
from trainer_infra.rules.pods import INITIALIZERS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT

VARIABLES: Final = ("OUTPUT_DIR", "CHECKPOINT_DIR", "CKPT_DIR", "SAVE_DIR", "RESULTS_DIR")
"""Variables that name a folder of results."""
OPTIONS: Final = (*map(str.lower, VARIABLES), "default_root_dir")
"""Arguments that do, with `_` or `-`, with `--` or as `key=value`."""
_QUOTES: Final = "'\""
_VOLUMES: Final = (
    *("persistentVolumeClaim", "nfs", "csi", "cephfs", "rbd", "iscsi", "fc", "glusterfs"),
    *("azureFile", "azureDisk", "awsElasticBlockStore", "gcePersistentDisk", "portworxVolume"),
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
    claims: Value
    """The volumeClaimPolicies of its JobSet, whose volumes pods have without saying so."""


def jobs(subject: Subject) -> Iterator[OutputJob]:
    """The containers that train."""
    for spec in pods.jobsets(subject):
        for each in pods.containers(subject):
            is_other = each.is_init or each.pod.step in INITIALIZERS
            if not is_other and each.value["name"].raw == names.NODE:
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
    """What becomes of a folder of the container."""
    if "://" in folder:
        return Fate.LOST if folder.startswith("file://") else Fate.KEPT
    if "$" in folder:
        return Fate.OPEN
    path = PurePosixPath(job.container.value["workingDir"].text(), folder)
    if not path.is_absolute() and _mounts(job):
        return Fate.OPEN
    named = (each for each in _mounts(job) if each["mountPath"].text())
    mounts = [each for each in named if path.is_relative_to(each["mountPath"].text())]
    if not mounts:
        return Fate.LOST
    return _fate_of(max(mounts, key=lambda each: len(each["mountPath"].text())), job)


def keeps(job: OutputJob) -> bool:
    """Whether the container can write anything that outlives its pod and the pod's machine."""
    mounts = (each for each in _mounts(job) if each["readOnly"].flag() is not True)
    return any(_fate_of(each, job) in SAFE for each in mounts)


def _mounts(job: OutputJob) -> tuple[Value, ...]:
    return tuple(lookup.items(job.container.value["volumeMounts"]))


def _fate_of(mount: Value, job: OutputJob) -> Fate:
    name = mount["name"].text()
    volume = lookup.item_named(job.container.pod.spec["volumes"], name)
    if volume is not None:
        if any(volume[kind].raw is not ABSENT for kind in _VOLUMES):
            return Fate.KEPT
        return Fate.LOST if volume["hostPath"].raw is ABSENT else Fate.MACHINE
    return Fate.KEPT if name in _claimed(job.claims) else Fate.OPEN


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


class PersistentOutput(Parameters):
    """What names a folder of results."""

    env: tuple[str, ...] = VARIABLES
    """Variables."""
    options: tuple[str, ...] = OPTIONS
    """Arguments, without dashes in front and with `_` between words."""


def _check_output(place: OutputJob, context: Context[PersistentOutput]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    given = context.parameters
    for each in outputs(place.container.value, given.env, given.options):
        if fate(each.folder, place) is Fate.LOST:
            what = "is lost with the pod: no volume that outlives it is mounted there"
            fix = "mount a persistentVolumeClaim there, or write to a folder that is on one"
            yield each.value.finding(what, each.folder, fix)


PERSISTENT_OUTPUT: Final = Rule(
    id="persistent-output",
    title="Results must be written to storage that outlives the pod",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("data", "volumes", "checkpoints"),
    why=(
        "A container's disk and an emptyDir are deleted with the pod: the result is gone when "
        "training ends, and a restart begins from scratch."
    ),
    fix="Write to a mounted persistentVolumeClaim or to an object store.",
    places=jobs,
    check=_check_output,
    parameters=PersistentOutput,
)
