"""What a checkpoint says: values that can be, a place of its own, and a program that saves there."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.rules.recovery import saving
from trainer_infra.rules.recovery.saving import Saving
from trainer_infra.rules.rule import (
    Context,
    Finding,
    Parameters,
    Rule,
    Severity,
    Subject,
    Value,
    World,
)

_KINDS: Final = frozenset((names.TRAIN_JOB, names.JOBSET))
_ENDED: Final = ("Complete", "Completed", "Failed")
_NAMES_OURS: Final = re.compile(
    r"trainer_infra\.(checkpoint|callbacks)\b|\bfrom\s+trainer_infra\s+import\b|\bCheckpointer\b"
)
Key = tuple[str, str, str]
"""Namespace, volume and path; or a URI alone."""


def _check_values(place: Saving, context: Context[Parameters]) -> Iterator[Finding]:
    if place.said is None:
        fix = 'write for example {"place": "output://checkpoints", "every_steps": 100}'
        yield place.value.finding("is not a JSON object", None, fix)
        return
    for each in checkpoint.checkpoint_problems(checkpoint.arguments_said(place.said)):
        name = each.path.rpartition(".")[2]
        yield place.value.finding(f"{name} {each.what}", each.got, each.fix)
    key, subject = _key(place), context.subject
    if subject.kind in _KINDS and key is not None:
        others = context.world.once(_sharing).get(key, ())
        name = next((each for each in others if each != _name(subject)), "")
        if name:
            what = f"names the place where {name} saves, too: each run would remove the other one's checkpoints"
            yield place.value.finding(what, None, "give each run its own, for example with {run} in the uri")


def _sharing(world: World) -> dict[Key, tuple[str, ...]]:
    """The jobs that save to each place; those that have ended do no more."""
    found: dict[Key, tuple[str, ...]] = {}
    for kind in sorted(_KINDS):
        for subject in world.of_kind(kind):
            every, _ = subject.places(saving.trainings)
            for key in {_key(each) for each in every if each.said and not _has_ended(subject)} - {None}:
                found[key] = (*found.get(key, ()), _name(subject))
    return found


def _has_ended(subject: Subject) -> bool:
    conditions = subject.object.at("status", "conditions").raw
    found = conditions if isinstance(conditions, list | tuple) else ()
    return any(each.get("type") in _ENDED and each.get("status") == "True" for each in found)


def _name(subject: Subject) -> str:
    # A TrainJob and the JobSet that it is rendered to have one name.
    return f"run {subject.namespace}/{subject.name}".replace(" /", " ")


def _key(place: Saving) -> Key | None:
    """Where it saves, as far as that is the same in another job; None where that is not known."""
    folder, container = str((place.said or {}).get("place", "")), place.job.container
    if folder.startswith(checkpoint.OUTPUT):
        name = folder.removeprefix(checkpoint.OUTPUT).upper().replace("-", "_")
        folder = str(place.variable(f"{names.OUTPUT_VARIABLE}{name}").raw)
    if "://" in folder:
        return "", "", folder.rstrip("/")
    mounts = [each for each in container.value["volumeMounts"].items() if each["mountPath"].raw == folder]
    for volume in container.pod.spec["volumes"].items() if mounts else ():
        claim = volume.at("persistentVolumeClaim", "claimName").raw
        if volume["name"].raw == mounts[0]["name"].raw and isinstance(claim, str):
            return place.job.namespace, claim, str(mounts[0]["subPath"].raw)
    return None


CHECKPOINT_VALUES: Final = Rule(
    id="checkpoint-values",
    title="A checkpoint must say when, where and from what, and the place must be the run's own",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints"),
    why=(
        "The program ends at its first save, saves when it is too late, or resumes from what another run has "
        "written."
    ),
    fix="Write what `Checkpoint` takes, and give each run a place of its own.",
    places=saving.savings,
    check=_check_values,
    looks_around=True,
)
"""Values are those of `checkpoint=Checkpoint(...)`, judged as in a program (`api.checkpoint`)."""


def _check_use(place: Saving, context: Context[Parameters]) -> Iterator[Finding]:
    code = context.subject.code
    if code is None or code["code"]["stored"].is_there():
        return
    files: dict[str, Value] = dict(code["code"]["files"].fields())
    launch = saving.read(files["launch.json"].text()) if "launch.json" in files else None
    texts = [each.text() for path, each in files.items() if path.endswith(".py")]
    if not texts or (launch or {}).keys() & {"program", "framework"}:
        return
    uses = any(map(_NAMES_OURS.search, texts))
    if place.said and not uses:
        what = "is given, and the program names no Checkpointer, so that nothing is saved"
        fix = "use trainer_infra.checkpoint.Checkpointer in it, or leave checkpoint= out"
        yield place.value.finding(what, None, fix)
    elif not place.said and any("Checkpointer" in each for each in texts):
        what = "uses Checkpointer, which does nothing in a run without checkpoint="
        yield code["code"].finding(what, None, "give the TrainJob checkpoint=Checkpoint(...)")


CHECKPOINT_USED: Final = Rule(
    id="checkpoint-used",
    title="A checkpoint must be used by the program",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("recovery", "checkpoints"),
    why="The run looks as if it survived a preemption, and starts from its first line.",
    fix="Save by `trainer_infra.checkpoint.Checkpointer`, and give the TrainJob `checkpoint=Checkpoint(...)`.",
    places=saving.trainings,
    check=_check_use,
)
