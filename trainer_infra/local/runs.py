"""Runs on this machine: submit, look, suspend, read logs, delete. The facade of the local target.

Nothing stays behind when a run's folder and its supervisor are gone. Functions about a run that is there raise
what `runs.target.Target` says.
"""

import os
import platform
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, NotAvailable, Unreadable
from trainer_infra.lifecycle import conditions
from trainer_infra.local import (
    disk_use,
    guard,
    metrics_file,
    network,
    processes,
    run_folder,
    run_record,
    supervision,
    unsupported_fields,
)
from trainer_infra.local.run_folder import RunFolder
from trainer_infra.runs import identity, report_history, reports, sentences
from trainer_infra.runs.identity import Claim
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import (
    CREATED,
    FINISHED,
    SUSPENDED,
    Contents,
    Listing,
    LogSelection,
    Owner,
    Run,
    RunKey,
    Submission,
    code_origin_of,
    outputs_of,
    run_to_json,
)
from trainer_infra.runs.settings import settings_of

SUSPEND_TIMEOUT: Final = 5.0
"""Seconds to wait for the supervisor to have seen what the user wants."""
PAUSE: Final = 0.1
"""Seconds between two looks at files that a container may still write."""
BLOCK: Final = 64 * 1024
"""Bytes that are read at once from the end of a log."""
Line = tuple[str, str]
"""Pod and line."""


def submit(submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
    """Start a run and return once its supervisor acknowledged; never waits for training nor pip.

    The same content of the same owner is the same run: it is returned as it is, and its supervisor
    is started when an earlier submit was interrupted before that. When starting fails, or takes longer
    than `timeout` seconds, what was made is removed. With `adopt` a run of that name that another owner
    declared is taken over; one with other content is replaced.

    Raises:
        InvalidInput: This machine cannot run it; has every problem.
        Refused: A run of that name has another owner or other content.
        NotAvailable: The supervisor cannot be started.
    """
    metadata = submission.job["metadata"]
    target = run_folder.folder_of(names.namespace_of(metadata.get("namespace")), metadata["name"])
    with run_folder.locked_folder(target):
        run = run_record.look_up(target)
        if run is not None:
            run = _claimed(target, run, submission, adopt=adopt)
        if run is None:
            found = (
                *unsupported_fields.unsupported_here(submission.objects),
                *network.ports_in_use(submission.objects),
            )
            if found:
                raise InvalidInput(found)
            _made(target, submission)
        elif target.status.exists():
            return run
        try:
            supervision.start_supervisor(target, timeout)
        except Exception:
            supervision.end_supervisor(target, 1)
            run_folder.remove_folder(target)
            raise
        started = run_record.look_up(target)
    if started is None:
        raise NotAvailable(f"the run in {target.path} was removed while it started")
    return started


def get(namespace: str, name: str, uid: str = "") -> Run | None:
    """The run as it is now, whatever its owner; None when it is gone or has another uid.

    A run whose supervisor is gone while it is unfinished is Failed with reason SupervisorLost, and
    recorded so. A run of another machine, seen through a shared home, is as it was recorded there.
    """
    target = run_folder.folder_of(namespace, name)
    run = run_record.look_up(target)
    if run is None or (uid and run.uid != uid):
        return None
    begun = run.phase not in FINISHED and target.status.exists()
    if not begun or run.host != platform.node() or run_folder.is_supervised(target):
        return run
    with run_folder.locked_folder(target):
        return _lost(target)


def list_runs(namespace: str | None = None) -> Listing:
    """All runs of this machine's state folder, and the folders that cannot be read."""
    runs, unread = [], []
    for each in run_folder.existing_folders(namespace):
        try:
            run = get(each.namespace, each.name)
        except (InvalidInput, Unreadable) as error:
            unread.append(str(error))
        else:
            runs += [run] if run else []
    return Listing(tuple(runs), tuple(unread))


def suspend(key: RunKey, value: bool) -> Run:
    """Suspend or resume a run; returns once its supervisor has seen it. A finished run stays."""
    target = run_folder.folder_of(key.namespace, key.name)
    with run_folder.locked_folder(target):
        run = run_record.present_run(target, key.uid, key.owner)
        run_folder.write_json(target.control, {"suspend": value})
    supervision.signal_supervisor(target, signal.SIGUSR1)
    until = time.monotonic() + SUSPEND_TIMEOUT
    while time.monotonic() < until:
        run = get(*key.address) or run
        if run.phase in FINISHED or (run.phase == SUSPENDED) is value:
            break
        time.sleep(supervision.PAUSE)
    return run


def update_secrets(key: RunKey, data: Mapping[str, str]) -> None:
    """Replace the secret values: running pods keep the old ones, later tries get the new."""
    target = run_folder.folder_of(key.namespace, key.name)
    with run_folder.locked_folder(target):
        run_record.present_run(target, key.uid, key.owner)
        run_folder.write_json(target.secrets, dict(data))


def give(key: RunKey, to: Owner) -> None:
    """Make a run another owner's."""
    target = run_folder.folder_of(key.namespace, key.name)
    with run_folder.locked_folder(target):
        run_record.give_owner(target, run_record.present_run(target, key.uid, key.owner), to)


def repair(key: RunKey, _contents: Contents) -> Run:
    """The run as it is: no other writer has a run's folder."""
    target = run_folder.folder_of(key.namespace, key.name)
    return run_record.present_run(target, key.uid, key.owner)


def delete(key: RunKey, timeout: float = 60) -> str:
    """End every process of a run and remove its folder; a sentence about what is left, or empty.

    Gone already, or another run of that name, is fine; one of another owner is left alone. With a
    uid it goes also where a file of its folder is damaged.
    """
    namespace, name, uid = key.address
    target = run_folder.folder_of(namespace, name)
    with run_folder.locked_folder(target):
        run = run_record.identified_run(target) if uid else run_record.look_up(target)
        if run is None or (uid and run.uid != uid):
            return ""
        if key.owner is not None and not run.owner.is_same(key.owner):
            return sentences.left_alone(key, run.owner.shown())
        ended = supervision.end_supervisor(target, timeout)
        ended = processes.kill_everywhere(run.uid) and ended
        run_folder.remove_folder(target)
    if run.host != platform.node() and run.phase not in FINISHED:
        return f"run {namespace}/{name} runs on {run.host}; its supervisor there ends by itself"
    if ended:
        return ""
    return f"some processes of {namespace}/{name} did not end within {timeout:g} s"


def logs(key: RunKey, wanted: LogSelection) -> Iterator[tuple[str, str]]:
    """The lines of a run's pods as (pod, line), pod after pod; with `follow` as they come."""
    target, pod = run_folder.folder_of(key.namespace, key.name), wanted.pod
    run = run_record.present_run(target, key.uid, key.owner)
    known = {node.pod for node in run.nodes} | {path.stem for path in target.logs.glob("*.log")}
    if pod is not None and pod not in known:
        shown = ", ".join(sorted(known)) or "none yet"
        raise NotAvailable(f"run {key.namespace}/{key.name} has no pod {pod}; its pods are {shown}")

    def files() -> tuple[Path, ...]:
        return tuple(sorted(target.logs.glob(f"{pod or '*'}.log")))

    def ended() -> bool:
        return not (wanted.follow and run_folder.is_supervised(target))

    return read_lines(files, ended, wanted.tail)


def history(key: RunKey) -> tuple[PastReport, ...]:
    """What the run's training reported so far, in order of time."""
    target = run_folder.folder_of(key.namespace, key.name)
    run = run_record.present_run(target, key.uid, key.owner)
    return report_history.with_last_reports(run, metrics_file.read_metrics(target.metrics))


def _claimed(target: RunFolder, run: Run, submission: Submission, *, adopt: bool) -> Run | None:
    """The run, with its new owner where it is adopted; None after one was removed."""
    match identity.claim(run, submission, adopt=adopt):
        case Claim.SAME:
            return run
        case Claim.ADOPT:
            return run_record.give_owner(target, run, submission.owner)
        case Claim.REPLACE:
            supervision.end_supervisor(target, 60)
            run_folder.remove_folder(target)
            return None


def _made(target: RunFolder, submission: Submission) -> None:
    run = Run(
        namespace=target.namespace,
        name=target.name,
        uid=str(uuid.uuid4()),
        host=platform.node(),
        owner=submission.owner,
        content=submission.content,
        created=conditions.timestamp(datetime.now(UTC)),
        phase=CREATED,
        outputs=outputs_of(submission.job),
        code_origin=code_origin_of(submission.job),
        settings=settings_of(submission.job),
    )
    record = {
        "job": submission.job,
        "runtime": submission.runtime,
        "objects": submission.objects,
        "packages": submission.packages,
        "plugins": submission.plugins,
    }
    try:
        run_folder.create_folder(target, run_to_json(run), record, submission.secret_data)
    except OSError as error:
        raise NotAvailable(disk_use.not_written(target.path, error)) from error


def _lost(target: RunFolder) -> Run | None:
    """The run whose supervisor is gone, recorded as lost; what is left of it is ended."""
    run = run_record.look_up(target)
    if run is None or run.phase in FINISHED or run_folder.is_supervised(target):
        return run
    processes.kill_everywhere(run.uid)
    return guard.record_loss(target, "and its guard are gone")


def read_lines(
    files: Callable[[], tuple[Path, ...]], ended: Callable[[], bool], tail: int | None
) -> Iterator[Line]:
    """The lines that are there, of each pod the last `tail`, then each new one, until `ended` and all was read."""
    offsets: dict[Path, int] = {}
    first = True
    while True:
        over = ended()
        for path in files():
            if path not in offsets:
                offsets[path] = _skip(path, tail) if first else 0
            data = _after(path, offsets[path])
            whole = data if over else data[: data.rfind(b"\n") + 1]
            offsets[path] += len(whole)
            for line in reports.without_reports(_lines(whole)):
                yield path.stem, line
        if over:
            return
        first = False
        time.sleep(PAUSE)


def _lines(data: bytes) -> list[str]:
    lines = data.decode(errors="replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _after(path: Path, offset: int) -> bytes:
    """What a file has behind an offset; nothing when the run was deleted meanwhile."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read()
    except FileNotFoundError:
        return b""


def _skip(path: Path, tail: int | None) -> int:
    """Where the last `tail` lines begin; of a long log only the end is read."""
    if tail is None:
        return 0
    start, read = 0, b""
    with suppress(FileNotFoundError), path.open("rb") as file:
        start = file.seek(0, os.SEEK_END)
        while start and read.count(b"\n") <= tail:
            size = min(BLOCK, start)
            start = file.seek(start - size)
            read = file.read(size) + read
    lines = read.split(b"\n")[:-1]
    return start + sum(len(line) + 1 for line in lines[: max(0, len(lines) - tail)])
