"""`Checkpoint`: where and when a run saves its state, and from what it resumes."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject

LATEST: Final = "latest"
VARIABLE: Final = "TRAINER_INFRA_CHECKPOINT"
"""Of the trainer: what `in_pod.checkpoints.arrangement` reads."""
HANG: Final = "hang_seconds"
"""What the variable has where the first process of a pod watches the training."""
ELASTIC_TIMEOUT: Final = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
"""Variable by which torchrun knows how long its workers may take to end."""
GRACE: Final = "terminationGracePeriodSeconds"
MARGIN: Final = 15
"""Seconds that pods have beyond a save: torchrun and the interpreter end after their workers."""
OUTPUT: Final = "output://"
DEFAULT_PLACE: Final = "output://checkpoints"
SAY: Final = "say"
RESTART: Final = "restart"
SAVE_SECONDS: Final = 60
"""That a step and a save take at most, unless the user says it."""
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SCHEME: Final = re.compile(r"([a-z][-+.a-z0-9]*)://", re.IGNORECASE)
_WRITTEN: Final = (
    *("output", "pvc", "file", "s3", "s3a", "gs", "gcs", "az", "adl", "abfs", "abfss", "azure"),
    *("hdfs", "webhdfs", "oss", "tos", "tosfs", "oci", "ocilake", "ftp", "sftp", "ssh", "smb"),
    *("webdav", "dbfs", "hf", "lakefs", "root", "box", "dropbox", "gdrive"),
)
"""Schemes by which obstore, fsspec or a mount writes files (obstore 0.12, fsspec 2026)."""
_FAILURES: Final = "mean_time_between_failures"
_CREDENTIALS: Final = re.compile(r"://[^/]*@")
_PLACES: Final = "output://NAME, pvc://CLAIM/PATH, or a URI such as s3://BUCKET/PATH"


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
    mean_time_between_failures: Input[str | None] = None
    """How long the run goes on, on average, until something ends it: a time such as `6h`. `every` is judged by it."""
    hang_after: Input[str | None] = None
    """How long the program may make no step, a time such as `10m`, until it is said to hang: longer than the longest
    step, and than what it does before, between and after steps. Without it no hang is looked for."""
    on_hang: Input[str] = SAY
    """`say` which rank hangs and where, or `restart` the pods from the last checkpoint too."""

    def as_mapping(self) -> dict[str, Any]:
        """The arguments by name, of any type until they are judged."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def checkpoint_problems(given: Any) -> Iterator[Problem]:
    """What is wrong with the arguments of a checkpoint as a program gave them."""
    if not isinstance(given, Mapping):
        fix = 'write checkpoint=Checkpoint(uri="pvc://CLAIM/PATH", every=100)'
        yield Problem("checkpoint", "must be a Checkpoint", got=given, fix=fix)
        return
    for name, what, fix in (
        *_of_times(given),
        *_of_hangs(given),
        *_of_numbers(given),
        *_of_places(given),
    ):
        got = None if _CREDENTIALS.search(str(given[name])) else given[name]
        yield Problem(f"checkpoint.{name}", what, got=got, fix=fix)


def _of_times(given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    every, failures, save = (given[each] for each in ("every", _FAILURES, "save_seconds"))
    seconds, between = seconds_of(every), seconds_of(failures)
    if every is not None and seconds is None and not _is_count(every):
        fix = "write a number of steps, every=100, or a time, every='10m'"
        yield "every", "must be steps or a time", fix
    if failures is not None and between is None:
        yield _FAILURES, "must be a time", "write '6h'"
    if seconds is not None and _is_count(save) and seconds < save:
        what = f"is shorter than a step and a save, which take up to {save} s (save_seconds)"
        yield "every", what, "save less often, or write what a save takes"
    if seconds is not None and between is not None and seconds > between:
        yield (
            "every",
            f"is longer than the mean time between failures, {failures}",
            "save more often",
        )


def _of_hangs(given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    after, save, action = given["hang_after"], given["save_seconds"], given["on_hang"]
    seconds = seconds_of(after)
    if after is not None and seconds is None:
        yield "hang_after", "must be a time", "write '10m'"
    if seconds is not None and _is_count(save) and seconds <= save:
        what = f"is not longer than a step and a save, which take up to {save} s (save_seconds)"
        yield "hang_after", what, "raise it, or write what a save takes"
    if action not in (SAY, RESTART):
        yield "on_hang", f'must be "{SAY}" or "{RESTART}"', ""
    elif action == RESTART and after is None:
        yield "on_hang", "has no effect without hang_after=", "give hang_after='10m'"


def _of_numbers(given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name in ("keep", "save_seconds"):
        if not _is_count(given[name]):
            yield name, "must be a whole number from 1 on", ""
    if _is_count(given["keep"]) and given["keep"] == 1:
        yield (
            "keep",
            "leaves nothing to resume from while the last one is written",
            "write 2 or more",
        )
    if not isinstance(given["on_preemption"], bool):
        yield "on_preemption", "must be True or False", ""
    elif not given["on_preemption"] and given["every"] is None:
        yield (
            "on_preemption",
            "is False without every=, so that nothing is ever saved",
            "give every=",
        )


def _of_places(given: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """What is wrong whatever the target; the rest is said of the output that the place becomes."""
    resume, uri = given["resume"], given["uri"]
    scheme = _SCHEME.match(uri) if isinstance(uri, str) else None
    if not isinstance(uri, str) or not uri:
        yield "uri", "names no place", f"write {_PLACES}"
    elif "://" in uri and (scheme is None or scheme[1] not in _WRITTEN):
        yield "uri", "is an address to which no checkpoint can be written", f"write {_PLACES}"
    is_place = isinstance(resume, str) and ("://" in resume or resume[:1] == "/")
    is_step = isinstance(resume, int) and not isinstance(resume, bool) and resume >= 0
    if is_place and _CREDENTIALS.search(resume):
        what = "has credentials in it, and an address is shown"
        yield "resume", what, "pass them in env as Secret(...)"
    elif is_place and resume.rstrip("/") == str(uri).rstrip("/"):
        yield "resume", "is where the run itself saves", 'leave it out: "latest" resumes from there'
    elif resume is not False and resume != LATEST and not is_place and not is_step:
        fix = 'write "latest", a step, the address of other checkpoints, or False'
        yield "resume", "names nothing to resume from", fix


def seconds_of(every: Any) -> float | None:
    """The seconds of a time such as `10m`; None for what is none."""
    found = _TIME.fullmatch(every) if isinstance(every, str) else None
    return float(found[1]) * _SECONDS[found[2]] or None if found else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def said_of(text: str) -> JSONObject | None:
    """What the variable's text says; empty where there is none, None where it is not an object."""
    try:
        said = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, Mapping) and bool(said) == bool(text) else None


def save_seconds_said(said: JSONObject | None) -> int | None:
    """Seconds that a step and a save take by what the variable says; None where it says nothing that can be read."""
    seconds = (said or {}).get("save_seconds", SAVE_SECONDS)
    return seconds if said and isinstance(seconds, int) else None


def arguments_said(said: JSONObject) -> dict[str, Any]:
    """What the variable says, by the names of the arguments, as `checkpoint_problems` takes it."""
    known = {key: said.get(key, each) for key, each in Checkpoint().as_mapping().items()}
    seconds, hang = said.get("every_seconds"), said.get(HANG)
    every = said.get("every_steps") if seconds is None else f"{seconds}s"
    after = None if hang is None else f"{hang}s"
    return known | {"uri": said.get("place"), "every": every, "hang_after": after}
