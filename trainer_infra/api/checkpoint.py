"""`Checkpoint`: where and when a run saves its state, and from what it resumes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem

LATEST: Final = "latest"
VARIABLE: Final = "TRAINER_INFRA_CHECKPOINT"
"""Of the trainer: what `in_pod.checkpoints.arrangement` reads."""
OUTPUT: Final = "output://"
DEFAULT_PLACE: Final = "output://checkpoints"
SAVE_SECONDS: Final = 60
"""That a step and a save take at most, where nobody says."""
_TIME: Final = re.compile(r"([1-9]\d*(?:\.\d+)?)\s*(s|m|h)")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where and when a run saves its state, and from what it resumes.

    The program saves by `trainer_infra.checkpoint.Checkpointer`, or by a callback of its framework; what that
    needs is arranged in the run: the place, the time that pods get to end in, and torchrun's.
    """

    uri: Input[str] = DEFAULT_PLACE
    """Where: an output of the run, `output://NAME`, or an address as outputs have them: `pvc://CLAIM/PATH`, a URI
    such as `s3://BUCKET/PATH`, or a folder of this machine. Without it the output `checkpoints`."""
    every: Input[int | str | None] = None
    """How often: a number of steps, or a time such as `10m`, `90s` or `1h`. Without it only when the run is to end."""
    keep: Input[int] = 3
    """Whole checkpoints that stay; older ones are removed."""
    resume: Input[str | int | bool] = LATEST
    """`latest`, a step, an address of other checkpoints, or False to begin anew."""
    on_preemption: Input[bool] = True
    """Whether it saves when the run is suspended, preempted or deleted."""
    save_seconds: Input[int] = SAVE_SECONDS
    """Seconds that the longest step and a save take together: pods get that long to end in, and some more."""

    def as_mapping(self) -> dict[str, Any]:
        """The arguments by name, of any type until they are judged."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def checkpoint_problems(given: Any) -> Iterator[Problem]:
    """What is wrong with the arguments of a checkpoint as a program gave them."""
    if not isinstance(given, Mapping):
        fix = 'write checkpoint=Checkpoint(uri="pvc://CLAIM/PATH", every=100)'
        yield Problem("checkpoint", "must be a Checkpoint", got=given, fix=fix)
        return
    every = given["every"]
    if every is not None and seconds_of(every) is None and not _is_count(every):
        fix = "write a number of steps, every=100, or a time, every='10m'"
        yield Problem("checkpoint.every", "must be steps or a time", got=every, fix=fix)
    for name in ("keep", "save_seconds"):
        if not _is_count(given[name]):
            yield Problem(f"checkpoint.{name}", "must be a whole number from 1 on", got=given[name])
    if not isinstance(given["on_preemption"], bool):
        got = given["on_preemption"]
        yield Problem("checkpoint.on_preemption", "must be True or False", got=got)
    if not isinstance(given["uri"], str) or not given["uri"]:
        what, fix = (
            "names no place",
            "write output://NAME, pvc://CLAIM/PATH, or a URI such as s3://BUCKET/PATH",
        )
        yield Problem("checkpoint.uri", what, got=given["uri"], fix=fix)
    yield from _resume_problems(given["resume"])


def _resume_problems(resume: Any) -> Iterator[Problem]:
    is_place = isinstance(resume, str) and (
        resume == LATEST or "://" in resume or resume[:1] == "/"
    )
    is_step = isinstance(resume, int) and not isinstance(resume, bool) and resume >= 0
    if resume is not False and not is_place and not is_step:
        fix = 'write "latest", a step, the address of other checkpoints, or False'
        yield Problem("checkpoint.resume", "names nothing to resume from", got=resume, fix=fix)


def seconds_of(every: Any) -> float | None:
    """The seconds of a time such as `10m`; None for what is none."""
    found = _TIME.fullmatch(every) if isinstance(every, str) else None
    return float(found[1]) * _SECONDS[found[2]] if found else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
