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
from trainer_infra.api import checkpoint
from trainer_infra.render.command_lines import python_code
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes, patches
from trainer_infra.rules.pods import INITIALIZERS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT
from trainer_infra.rules.world import World

VARIABLES: Final = ("OUTPUT_DIR", "CHECKPOINT_DIR", "CKPT_DIR", "SAVE_DIR", "RESULTS_DIR")
"""Variables that name a folder of results."""
OPTIONS: Final = (
    *(*map(str.lower, VARIABLES), "default_root_dir", "default_local_dir", "exp_dir"),
    *("save_folder", "save_path", "output_folder", "output_path", "checkpoint_folder"),
)
"""Arguments that do, with `_` or `-`, with `--` or as `key=value`, also below another key (`a.output_dir`)."""
_IN_CODE: Final = (
    *("output_dir", "default_root_dir", "default_local_dir", "save_dir", "results_dir", "dirpath"),
)
"""Arguments of functions that do: others of `OPTIONS` are names of what is read, too."""
_READ_BELOW: Final = ("checkpoint_dir", "ckpt_dir")
"""Of these what stands below another key: torchtune's `checkpointer.checkpoint_dir` is read."""
_QUOTES: Final = "'\";"
_VOLUMES: Final = (
    *("persistentVolumeClaim", "nfs", "csi", "cephfs", "rbd", "iscsi", "fc", "glusterfs"),
    *("azureFile", "azureDisk", "awsElasticBlockStore", "gcePersistentDisk", "portworxVolume"),
    *("cinder", "vsphereVolume", "flexVolume", "quobyte", "scaleIO", "storageos", "flocker"),
)
"""Kinds of volumes that outlive a pod."""
_NEVER_WRITTEN: Final = ("configMap", "secret", "projected", "downwardAPI", "image")
"""Kinds of volumes that containers cannot write to."""
_CLAIM: Final = "persistentVolumeClaim"
_OF_SECRETS: Final = ("secrets-store.csi.k8s.io", "csi.cert-manager.io", "csi.spiffe.io")
"""CSI drivers whose volumes hold what a pod is given."""


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
    READ_ONLY = auto()
    """It cannot be written."""


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
    jobset: Value
    """The spec of its JobSet, of whose claims pods have volumes without saying so."""
    namespace: str
    """Where claims are that its volumes name."""


def jobs(subject: Subject) -> Iterator[OutputJob]:
    """The containers that train."""
    training = [each.value for each in subject.once(nodes.training_containers)]
    for spec in pods.jobsets(subject):
        for each in pods.containers(subject):
            is_other = each.is_init or each.pod.step in INITIALIZERS
            is_node = each.value["name"].raw == names.NODE or each.value in training
            if not is_other and is_node:
                yield OutputJob(each, spec, subject.namespace)


def outputs(container: Value, variables: Sequence[str], options: Sequence[str]) -> Iterator[Output]:
    """The folders of results that a container names, its checkpoint's first; what is not known names none."""
    yield from _of_checkpoint(container)
    for each in container["env"].items():
        value = each["value"]
        known = not each["name"].is_noted() and not value.is_noted()
        if known and each["name"].text() in variables and value.text():
            yield Output(value, value.text())
    for part in ("command", "args"):
        yield from _of_arguments(container[part], variables, options)


def _of_checkpoint(container: Value) -> Iterator[Output]:
    """Where the checkpoint of a TrainJob is: in an output, whose variable has the address."""
    said = _value_of(container, checkpoint.VARIABLE)
    place = "" if said is None else _place_of(said)
    if said is None or not place:
        return
    output = place.removeprefix(checkpoint.OUTPUT).upper().replace("-", "_")
    if not place.startswith(checkpoint.OUTPUT):
        yield Output(said, place)
    elif address := _value_of(container, f"{names.OUTPUT_VARIABLE}{output}"):
        yield Output(said, address.text())


def _value_of(container: Value, variable: str) -> Value | None:
    found = [each["value"] for each in container["env"].items() if each["name"].raw == variable]
    return next((each for each in found[-1:] if not each.is_noted()), None)


def _place_of(value: Value) -> str:
    """Where the variable of a checkpoint says that it is; empty of any other value."""
    return str((checkpoint.said_of(value.text()) or {}).get("place") or "")


def fate(folder: str, job: OutputJob, world: World) -> Fate:
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
    return _fate_of(max(mounts, key=lambda each: len(each["mountPath"].text())), job, world)


def keeps(job: OutputJob, world: World) -> bool:
    """Whether the container can write anything that outlives its pod and the pod's machine."""
    return any(_fate_of(each, job, world) in SAFE for each in _mounts(job))


def _mounts(job: OutputJob) -> tuple[Value, ...]:
    return tuple(lookup.items(job.container.value["volumeMounts"]))


def _fate_of(mount: Value, job: OutputJob, world: World) -> Fate:
    name = mount["name"].text()
    if mount["readOnly"].flag():
        return Fate.READ_ONLY
    volume = lookup.item_named(job.container.pod.spec["volumes"], name)
    if volume is not None:
        return _fate_on(volume, job, world)
    claim = dict(lookup.claim_templates(job.jobset)).get(name)
    if claim is None:
        return Fate.OPEN
    return Fate.READ_ONLY if _only_reads(claim) else Fate.KEPT


def _fate_on(volume: Value, job: OutputJob, world: World) -> Fate:
    for kind, source in volume.fields():
        if source.raw is ABSENT:
            continue
        is_fixed = kind == _CLAIM and _is_fixed(source, job, world)
        if kind in _NEVER_WRITTEN or source["readOnly"].flag() or is_fixed:
            return Fate.READ_ONLY
        if kind in _VOLUMES and source["driver"].text() not in _OF_SECRETS:
            return Fate.KEPT
        if kind == "hostPath":
            return Fate.MACHINE
    return Fate.LOST


def _is_fixed(source: Value, job: OutputJob, world: World) -> bool:
    """Whether a claim, or the volume that it names, can only be read."""
    claim = lookup.spec_of(world, lookup.CLAIM, source["claimName"].text(), job.namespace)
    if claim.raw is ABSENT:
        return False
    volume = lookup.spec_of(world, lookup.VOLUME, claim["volumeName"].text())
    is_set = any(each["readOnly"].flag() for kind, each in volume.fields() if kind in _VOLUMES)
    return is_set or "ro" in volume["mountOptions"].texts() or _only_reads(claim)


def _only_reads(claim: Value) -> bool:
    return {each.text() for each in lookup.items(claim["accessModes"])} == {"ReadOnlyMany"}


def _of_arguments(
    arguments: Value, variables: Sequence[str], options: Sequence[str]
) -> Iterator[Output]:
    """Options in a list of arguments; in a script that is one argument those with dashes, and variables."""
    awaited = False
    for each in arguments.items():
        text = "" if each.is_noted() else each.text()
        yield from (Output(each, folder) for folder in _of_code(text))
        words = text.split()
        awaited = awaited and bool(words)
        for word in words:
            if awaited:
                yield Output(each, word.strip(_QUOTES))
            name, equals, value = word.partition("=")
            dashed = name.startswith("-")
            if not (dashed or equals):
                awaited = False
                continue
            whole = name.lstrip("-").replace("-", "_")
            above, _, key = whole.rpartition(".")
            is_below = key in options and not (above and key in _READ_BELOW)
            is_option = is_below or whole in options
            is_key = dashed or bool(above) or len(words) == 1
            if value and (name in variables or (is_option and is_key)):
                yield Output(each, value.strip(_QUOTES))
            awaited = is_option and dashed and not equals


def _of_code(text: str) -> Iterator[str]:
    """Folders that Python code names by arguments of what it calls; not those below where it runs."""
    found = python_code.read_python(text).texts if "import" in text else ()
    yield from (folder for name, folder in found if folder.startswith("/") and name in _IN_CODE)


class PersistentOutput(Parameters):
    """What names a folder of results."""

    env: tuple[str, ...] = VARIABLES
    """Variables."""
    options: tuple[str, ...] = OPTIONS
    """Arguments, without dashes in front and with `_` between words."""


def _check_output(place: OutputJob, context: Context[PersistentOutput]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    given, code = context.parameters, context.subject.code
    files = () if code is None else (each for _, each in code["code"]["files"].fields())
    in_code = (Output(file, one) for file in files for one in _of_code(file.text()))
    for each in (*outputs(place.container.value, given.env, given.options), *in_code):
        found = fate(each.folder, place, context.world)
        if found is Fate.LOST:
            what = "is lost with the pod: no volume that outlives it is mounted there"
            fix = "mount a persistentVolumeClaim there, or write to a folder that is on one"
            yield each.value.finding(what, each.folder, fix)
        elif found is Fate.MACHINE and _place_of(each.value):
            what = "is a folder of a machine, and the next pod of the run may start on another one"
            yield each.value.finding(
                what, each.folder, "write to a persistentVolumeClaim or a bucket"
            )
        elif found is Fate.READ_ONLY:
            what = "is on a volume that the container can only read, so that nothing is saved"
            fix = "take readOnly away from the mount, its volume and its claim, or write elsewhere"
            yield each.value.finding(what, each.folder, fix)


PERSISTENT_OUTPUT: Final = Rule(
    id="persistent-output",
    title="Results must be written to storage that takes them and outlives the pod",
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
    looks_around=True,
    parameters=PersistentOutput,
)
