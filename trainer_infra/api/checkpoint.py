"""`Checkpoint`: where and when a run saves its state, and from what it resumes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem

LATEST: Final = "latest"
VARIABLE: Final = "TRAINER_INFRA_CHECKPOINT"
"""Of the trainer: what `in_pod.checkpoints.arrangement` reads."""
OUTPUT: Final = "output://"
DEFAULT_PLACE: Final = "output://checkpoints"
SAVE_SECONDS: Final = 60
"""That a step and a save take at most, where nobody says."""
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)")
_SECONDS: Final[Mapping[str, int]] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MEANT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd])[a-z]*", re.IGNORECASE)
"""A time in other words, such as `10 min`."""
_SCHEME: Final = re.compile(r"([a-z][-+.a-z0-9]*)://", re.IGNORECASE)
_WRITTEN: Final = frozenset(
    (
        *("output", "pvc", "file", "s3", "s3a", "gs", "gcs", "az", "adl", "abfs", "abfss", "azure"),
        *("hdfs", "webhdfs", "oss", "tos", "tosfs", "oci", "ocilake", "ftp", "sftp", "ssh", "smb"),
        *("webdav", "dbfs", "hf", "lakefs", "root", "box", "dropbox", "gdrive"),
    )
)
"""Schemes by which obstore, fsspec or a mount writes files (obstore 0.12, fsspec 2026)."""
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
    resume: Input[Literal["latest"] | str | int | bool] = LATEST
    """`latest`, a step, an address of other checkpoints, or False to begin anew."""
    on_preemption: Input[bool] = True
    """Whether it saves when the run is suspended, preempted or deleted."""
    save_seconds: Input[int] = SAVE_SECONDS
    """Seconds that the longest step and a save take together: pods get that long to end in, and some more."""
    mean_time_between_failures: Input[str | None] = None
    """How long the run goes on, on average, until something ends it: a time such as `6h`. `every` is judged by it."""

    def as_mapping(self) -> dict[str, Any]:
        """The arguments by name, of any type until they are judged."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def checkpoint_problems(given: Any) -> Iterator[Problem]:
    """What is wrong with the arguments of a checkpoint as a program gave them."""
    if not isinstance(given, Mapping):
        fix = 'write checkpoint=Checkpoint(uri="pvc://CLAIM/PATH", every=100)'
        yield Problem("checkpoint", "must be a Checkpoint", got=given, fix=fix)
        return
    yield from _interval_problems(given)
    for name in ("keep", "save_seconds"):
        if not _is_count(given[name]):
            yield Problem(f"checkpoint.{name}", "must be a whole number from 1 on", got=given[name])
    if given["keep"] == 1 and _is_count(given["keep"]):
        what = (
            "leaves nothing to resume from when the run ends while the last checkpoint is written"
        )
        yield Problem("checkpoint.keep", what, got=1, fix="write 2 or more")
    if not isinstance(given["on_preemption"], bool):
        got = given["on_preemption"]
        yield Problem("checkpoint.on_preemption", "must be True or False", got=got)
    elif not given["on_preemption"] and given["every"] is None:
        what, fix = "is False, and every is not given, so that nothing is ever saved", "give every="
        yield Problem("checkpoint.on_preemption", what, fix=fix)
    yield from _uri_problems(given["uri"])
    yield from _resume_problems(given["resume"], given["uri"])


def _interval_problems(given: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the two times, and with what they say of one another."""
    every, failures = (given.get(each) for each in ("every", "mean_time_between_failures"))
    seconds, between = seconds_of(every), seconds_of(failures)
    if every is not None and seconds is None and not _is_count(every):
        meant = _MEANT.fullmatch(every.strip()) if isinstance(every, str) else None
        own = (
            f"every='{meant[1]}{meant[2].lower()}'" if meant and float(meant[1]) else "every='10m'"
        )
        fix = f"write a number of steps, every=100, or a time, {own}"
        yield Problem("checkpoint.every", "must be steps or a time", got=every, fix=fix)
    if failures is not None and between is None:
        what = "must be a time"
        yield Problem("checkpoint.mean_time_between_failures", what, failures, "write '6h'")
    save = given["save_seconds"]
    if seconds is not None and _is_count(save) and seconds < save:
        what = f"is shorter than a step and a save, which take up to {save} s (save_seconds)"
        fix = "save less often, or write what a save takes"
        yield Problem("checkpoint.every", what, got=every, fix=fix)
    if seconds is not None and between is not None and seconds > between:
        what = f"is longer than the mean time between failures, {failures}, so that most of them lose all work"
        yield Problem("checkpoint.every", what, got=every, fix="save more often")


def _uri_problems(uri: Any) -> Iterator[Problem]:
    """What is wrong with a place whatever the target; the rest is said of the output that it becomes."""
    if not isinstance(uri, str) or not uri:
        yield Problem("checkpoint.uri", "names no place", got=uri, fix=f"write {_PLACES}")
        return
    found = _SCHEME.match(uri)
    if "://" in uri and (found is None or found[1] not in _WRITTEN):
        got = None if _CREDENTIALS.search(uri) else uri
        what = "is an address to which no checkpoint can be written"
        yield Problem("checkpoint.uri", what, got=got, fix=f"write {_PLACES}")


def _resume_problems(resume: Any, uri: Any) -> Iterator[Problem]:
    is_place = isinstance(resume, str) and ("://" in resume or resume[:1] == "/")
    is_step = isinstance(resume, int) and not isinstance(resume, bool) and resume >= 0
    if isinstance(resume, str) and _CREDENTIALS.search(resume):
        what, fix = (
            "has credentials in it, and an address is shown",
            "pass them in env as Secret(...)",
        )
        yield Problem("checkpoint.resume", what, fix=fix)
    elif resume is not False and resume != LATEST and not is_place and not is_step:
        fix = 'write "latest", a step, the address of other checkpoints, or False'
        yield Problem("checkpoint.resume", "names nothing to resume from", got=resume, fix=fix)
    elif is_place and (resume.startswith(OUTPUT) or resume.rstrip("/") == str(uri).rstrip("/")):
        what = "is where the run itself saves"
        yield Problem(
            "checkpoint.resume", what, resume, 'leave it out: "latest" resumes from there'
        )
    elif is_place and ".." in resume.split("/"):
        yield Problem("checkpoint.resume", "may not have .. in it", got=resume)


def seconds_of(every: Any) -> float | None:
    """The seconds of a time such as `10m`; None for what is none."""
    found = _TIME.fullmatch(every) if isinstance(every, str) else None
    return float(found[1]) * _SECONDS[found[2]] or None if found else None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def arguments_said(said: Any) -> dict[str, Any]:
    """The arguments by name of what the variable says, as `checkpoint_problems` takes them."""
    known = {each.name: said[each.name] for each in fields(Checkpoint) if each.name in said}
    seconds = said.get("every_seconds")
    every = said.get("every_steps") if seconds is None else _text(seconds)
    between = said.get("mean_time_between_failures")
    times = {"every": every, "mean_time_between_failures": between and _text(between)}
    return {**Checkpoint().as_mapping(), **known, **times, "uri": said.get("place", "")}


def _text(seconds: Any) -> Any:
    return f"{seconds:.15g}s" if isinstance(seconds, int | float) else seconds
