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
from trainer_infra.rules.value import ABSENT

_KINDS: Final = frozenset((names.TRAIN_JOB, names.JOBSET))
_ENDED: Final = ("Complete", "Completed", "Failed")
_NAMES_OURS: Final = re.compile(
    r"trainer_infra\.(checkpoint|callbacks)\b|\bfrom\s+trainer_infra\s+import\b|\bCheckpointer\b"
)
_OF_CODE: Final = 3
"""Words of `python -c TEXT`."""
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
            yield place.value.finding(
                what, None, "give each run its own, for example with {run} in the uri"
            )


def _sharing(world: World) -> dict[Key, tuple[str, ...]]:
    """The jobs that save to each place; those that have ended do no more."""
    found: dict[Key, tuple[str, ...]] = {}
    for kind in sorted(_KINDS):
        for subject in world.of_kind(kind):
            every = () if _has_ended(subject) else subject.places(saving.savings)[0]
            for key in {_key(each) for each in every}:
                if key is not None:
                    found[key] = (*found.get(key, ()), _name(subject))
    return found


def _has_ended(subject: Subject) -> bool:
    conditions = subject.object.at("status", "conditions").raw
    found = conditions if isinstance(conditions, list | tuple) else ()
    return any(each.get("type") in _ENDED and each.get("status") == "True" for each in found)


def _name(subject: Subject) -> str:
    # A TrainJob and the JobSet that it is rendered to have one name.
    return "/".join(filter(None, (subject.namespace, subject.name)))


def _key(place: Saving) -> Key | None:
    """Where it saves, as far as that is the same in another job; None where that is not known."""
    folder, container = str((place.said or {}).get("place", "")), place.job.container
    if folder.startswith(checkpoint.OUTPUT):
        name = folder.removeprefix(checkpoint.OUTPUT).upper().replace("-", "_")
        folder = str(place.variable(f"{names.OUTPUT_VARIABLE}{name}").raw)
    if "://" in folder:
        return "", "", folder.rstrip("/")
    mounts = [
        each for each in container.value["volumeMounts"].items() if each["mountPath"].raw == folder
    ]
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
    where, texts = _program(place, context.subject)
    if where is None:
        return
    if place.said and not any(map(_NAMES_OURS.search, texts)):
        what = "names no Checkpointer, so that nothing is saved although the run has a checkpoint"
        fix = "use trainer_infra.checkpoint.Checkpointer, or leave checkpoint= out"
        yield where.finding(what, None, fix)
    elif place.said == {} and any("Checkpointer(" in each for each in texts):
        what = "uses Checkpointer, which does nothing in a run without checkpoint="
        yield where.finding(what, None, "give the TrainJob checkpoint=Checkpoint(...)")


def _program(place: Saving, subject: Subject) -> tuple[Value | None, list[str]]:
    """Where the Python program stands whose text is known as a whole, and its files; else None."""
    if subject.code is not None:
        code = subject.code["code"]
        files = dict(code["files"].fields())
        launch = saving.read(files["launch.json"].text()) if "launch.json" in files else None
        texts = [each.text() for path, each in files.items() if path.endswith(".py")]
        is_whole = (
            not (launch or {}).keys() & {"program", "framework"} and code["stored"].raw is ABSENT
        )
        return code if texts and is_whole else None, texts
    words = place.command.words if place.command else ()
    if len(words) < _OF_CODE or words[1].raw != "-c" or "python" not in str(words[0].raw):
        return None, []
    return words[2], [words[2].text()]


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
