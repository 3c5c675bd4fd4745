"""This machine as a Target.

A retry is the same run: its logs, its reports and the folders of its pods are those of the new try; volume claims stay, as a
cluster keeps them.
"""

import os
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from trainer_infra import home_folders, names
from trainer_infra.catalog.initializers import ROLES
from trainer_infra.errors import Problem, Refused
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.in_pod.initializers.units import bytes_text
from trainer_infra.json_values import JSONObject
from trainer_infra.local import (
    capacity,
    network,
    processes,
    run_folder,
    run_record,
    runs,
    supervision,
    unsupported_fields,
)
from trainer_infra.local.pod_environment import Mounts
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.phases import Plugin
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Run, RunKey

WORTH_SAYING: Final = 1 << 30
"""Bytes of all copies together."""
LOOKED_AT: Final = 50_000
"""Files of one source: a preview is quick."""
TIMEOUT: Final = 20.0
"""Seconds to wait for the supervisor."""


def retry_run(key: RunKey) -> Run:
    """Run a run again that failed.

    Raises:
        NotAvailable: There is no such run, or its supervisor cannot be started.
        Refused: It is another owner's by now, or has not failed.
    """
    target = run_folder.folder_of(key.namespace, key.name)
    with run_folder.locked_folder(target):
        run = run_record.present_run(target, key.uid, key.owner)
        if not sentences.may_be_retried(run):
            raise Refused(sentences.no_retry(run))
        supervision.end_supervisor(target, TIMEOUT)
        processes.kill_everywhere(run.uid)
        for part in (target.pods, target.logs):
            shutil.rmtree(part)
            part.mkdir(mode=0o700)
        target.metrics.unlink(missing_ok=True)
        target.status.unlink()
        supervision.start_supervisor(target, TIMEOUT)
        return run_record.present_run(target, run.uid)


class ThisMachine:
    """Runs that are processes here; keeps `runs.target.Target`."""

    runtimes = None
    submit = staticmethod(runs.submit)
    get = staticmethod(runs.get)
    list_runs = staticmethod(runs.list_runs)
    suspend = staticmethod(runs.suspend)
    retry = staticmethod(retry_run)
    update_secrets = staticmethod(runs.update_secrets)
    repair = staticmethod(runs.repair)
    give = staticmethod(runs.give)
    delete = staticmethod(runs.delete)
    logs = staticmethod(runs.logs)
    history = staticmethod(runs.history)

    def host(self, _namespace: str = "") -> str:
        """The machine's name."""
        return platform.node()

    def is_here(self, host: str, _namespace: str) -> bool:
        """Whether a host is this machine."""
        return host == platform.node()

    def answers(self) -> bool:
        """Always."""
        return True

    def controller(self) -> str:
        """None."""
        return ""

    def problems(
        self, _job: JSONObject, objects: tuple[JSONObject, ...], _controller: str = ""
    ) -> tuple[Problem, ...]:
        """What this machine cannot run."""
        return unsupported_fields.unsupported_here(objects)

    def behaviour(
        self, plugins: tuple[Plugin, ...], _owner: Owner, _controller: str = ""
    ) -> Behaviour:
        """The plugins alone: nothing is stored under the names of objects."""
        return Behaviour(plugins)

    def warnings(self, objects: tuple[JSONObject, ...]) -> tuple[str, ...]:
        """Ports that something else listens on, what this machine has less of, and what is copied."""
        lacking = capacity.capacity_warnings(objects, capacity.Machine.here())
        copied = source_warnings(objects, home_folders.state_home())
        return (*map(str, network.ports_in_use(objects)), *lacking, *copied)

    def unseen(self, _namespace: str) -> str:
        """Nothing: the runs here are the user's own."""
        return ""


def source_warnings(objects: Sequence[JSONObject], home: Path) -> Iterator[str]:
    """A sentence for each source of an initializer that is not here, and for each whose copies are large.

    The objects are of all runs that begin together. Each run has its own copy below `home`, for a training may
    write to it.
    """
    for (shown, path), count in Counter(_sources(objects)).items():
        if not path.exists():
            yield (
                f"{shown} is {path} on this machine, and there is none: "
                "the run fails unless an earlier job makes it"
            )
            continue
        size, is_all = _size(path)
        there = next(each for each in (home, *home.parents) if each.exists())
        free = shutil.disk_usage(there).free
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
    for count, pod in capacity.demands(objects):
        for container in pod.get("containers") or ():
            if found := _source(container, pod):
                yield from [found] * count


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
    """The mounts of a container; the folder of one that only a run makes is not an absolute path."""
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
