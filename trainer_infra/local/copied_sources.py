"""What initializers take from this machine: what is not here, and what their copies need. Warnings of all runs at once.

Each run has its own copy, for a training may write to it. Called at preview by `target`.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from trainer_infra import names
from trainer_infra.catalog.initializers import ROLES
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.in_pod.initializers.units import bytes_text
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset import replicated_job
from trainer_infra.local.mounts import Mounts

WORTH_SAYING: Final = 1 << 30
"""Bytes of all copies together."""
LOOKED_AT: Final = 50_000
"""Files of one source: a preview is quick."""


def source_warnings(objects: Sequence[JSONObject], home: Path) -> Iterator[str]:
    """A sentence for each source that is not here, and for each whose copies are large.

    Args:
        objects: of all runs that begin together.
        home: below which the copies lie.
    """
    for (shown, path), count in Counter(_sources(objects)).items():
        if not path.exists():
            yield (
                f"{shown} is {path} on this machine, and there is none: "
                "the run fails unless an earlier job makes it"
            )
            continue
        size, is_all = _size(path)
        free = _free(home)
        if size * count >= min(WORTH_SAYING, free):
            least = "" if is_all else "at least "
            amount = f"{least}{bytes_text(size)}"
            who = "an initializer copies"
            if count > 1:
                who = f"{count} initializers copy"
                amount += f" each, {least}{bytes_text(size * count)} in all"
            yield (
                f"{who} {shown}: {amount}, and {bytes_text(free)} are free in {home}; XFS and Btrfs keep such "
                "copies once, and a path in func_args=, or in model= or dataset= of a trainer, is read in place"
            )


def _sources(objects: Sequence[JSONObject]) -> Iterator[tuple[str, Path]]:
    """URI and folder of each pod that copies from this machine."""
    for each in objects:
        if each["kind"] != "JobSet":
            continue
        for job in replicated_job.read_jobs(each["spec"]):
            for container in job.pod_spec.get("containers") or ():
                if found := _source(container, job.pod_spec):
                    yield from [found] * (job.replicas * job.parallelism)


def _source(container: JSONObject, pod: JSONObject) -> tuple[str, Path] | None:
    """Of an initializer that reads this machine's files; None of any other container."""
    variables = {each["name"]: each.get("value") for each in container.get("env") or ()}
    try:
        uri = parse_uri(variables.get(names.STORAGE_URI) or "", ROLES[str(container["name"])])
    except (DownloadFailure, KeyError):
        return None
    if uri.scheme not in {"file", "pvc"}:
        return None
    above = f"{names.CLAIMS_MOUNT}/{uri.authority}" if uri.scheme == "pvc" else ""
    path = f"{above}/{unquote(uri.path)}"
    found = _mounts(container, pod).folder(path) or Path(path)
    # What is on a volume of the run is not there as yet.
    return (uri.shown, found) if found.is_absolute() else None


def _mounts(container: JSONObject, pod: JSONObject) -> Mounts:
    """The mounts of a container; the folder of one that only a run makes is no absolute path."""
    volumes = {each["name"]: each for each in pod.get("volumes") or ()}
    folders = {
        each["mountPath"].rstrip("/"): (volumes.get(each["name"]) or {}).get("hostPath") or {}
        for each in container.get("volumeMounts") or ()
    }
    return Mounts({path: Path(each.get("path") or ".") for path, each in folders.items()})


def _size(path: Path) -> tuple[int, bool]:
    """Bytes of a file or of all files below a folder, and whether all were looked at."""
    if not path.is_dir():
        return path.stat().st_size, True
    size = count = 0
    for folder, _, files in os.walk(path):
        for each in files:
            count += 1
            if count > LOOKED_AT:
                return size, False
            with suppress(OSError):
                size += Path(folder, each).stat().st_size
    return size, True


def _free(home: Path) -> int:
    there = next(each for each in (home, *home.parents) if each.exists())
    return shutil.disk_usage(there).free
