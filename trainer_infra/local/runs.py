"""Runs on this machine: submit, look, suspend, read logs, delete. The facade of the local target.

Called by `deploy` and `cli`. A run is a folder (`folder`) and a supervisor process
(`supervisor`), one per run; nothing else stays behind when both are gone.
"""

import os
import platform
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, NotAvailable, Refused, Unreadable
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import told
from trainer_infra.lifecycle.run import (
    CREATED,
    FINISHED,
    SUSPENDED,
    Contents,
    Failure,
    Listing,
    Node,
    Owner,
    Run,
    Submission,
    run_to_json,
)
from trainer_infra.local import (
    env,
    folder,
    full_disk,
    guard,
    log_files,
    ports,
    processes,
    run_record,
    support,
)
from trainer_infra.local.folder import RunFolder
from trainer_infra.local.processes import Identity

__all__ = [
    "Failure",
    "Node",
    "Owner",
    "Run",
    "Submission",
    "delete",
    "get",
    "give",
    "list_runs",
    "logs",
    "repair",
    "submit",
    "suspend",
    "update_secrets",
]

PAUSE: Final = 0.02
"""Seconds between two looks at a supervisor that starts or ends."""
SUSPEND_TIMEOUT: Final = 5.0
"""Seconds to wait for the supervisor to have seen what the user wants."""
_SUPERVISOR_ENV: Final = (*env.INSTALLERS, "TRAINER_INFRA_")


def submit(submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
    """Start a run and return once its supervisor acknowledged; never waits for training nor pip.

    The same content of the same owner is the same run: it is returned as it is, and its supervisor
    is started when an earlier submit was interrupted before that. When starting fails, what was
    made is removed.

    Args:
        submission: What to run.
        adopt: Take over a run of that name that somebody else declared; one with other content is
            replaced.
        timeout: Seconds to wait for the supervisor.

    Raises:
        InvalidInput: This machine cannot run it; has every problem.
        Refused: A run of that name has another owner or other content.
        NotAvailable: The supervisor cannot be started.
    """
    target = _folder(submission)
    with folder.locked(target):
        run = run_record.look(target)
        if run is not None and not run_record.is_same(run, submission):
            if not adopt:
                raise Refused(told.exists(run, submission.owner))
            run = _adopted(target, run, submission)
        if run is None:
            found = (*support.problems(submission.objects), *ports.ports_in_use(submission.objects))
            if found:
                raise InvalidInput(found)
            _made(target, submission)
        elif target.status.exists():
            return run
        try:
            _start(target, timeout)
        except Exception:
            _end(target, 1)
            folder.remove(target)
            raise
        started = run_record.look(target)
    if started is None:
        raise NotAvailable(f"the run in {target.path} was removed while it started")
    return started


def get(namespace: str, name: str, uid: str = "") -> Run | None:
    """The run as it is now, whoever's it is; None when it is gone or has another uid.

    A run whose supervisor is gone while it is unfinished is Failed with reason SupervisorLost, and
    recorded so. A run of another machine, seen through a shared home, is as it was recorded there.

    Raises:
        Unreadable: What its folder says is damaged.
    """
    target = folder.of(namespace, name)
    run = run_record.look(target)
    if run is None or (uid and run.uid != uid):
        return None
    begun = run.phase not in FINISHED and target.status.exists()
    if not begun or run.host != platform.node() or folder.supervised(target):
        return run
    with folder.locked(target):
        return _lost(target)


def list_runs(namespace: str | None = None) -> Listing:
    """All runs of this machine's state folder, and the folders that cannot be read."""
    runs, unread = [], []
    for each in folder.existing(namespace):
        try:
            run = get(each.path.parent.name, each.path.name)
        except (InvalidInput, Unreadable) as error:
            unread.append(str(error))
        else:
            runs += [run] if run else []
    return Listing(tuple(runs), tuple(unread))


def suspend(namespace: str, name: str, uid: str, value: bool, *, owner: Owner | None = None) -> Run:
    """Suspend or resume a run; returns once its supervisor has seen it. A finished run stays.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now.
    """
    target = folder.of(namespace, name)
    with folder.locked(target):
        run = run_record.present(target, uid, owner)
        folder.write(target.control, {"suspend": value})
    _signal(target, signal.SIGUSR1)
    until = time.monotonic() + SUSPEND_TIMEOUT
    while time.monotonic() < until:
        run = get(namespace, name, uid) or run
        if run.phase in FINISHED or (run.phase == SUSPENDED) is value:
            break
        time.sleep(PAUSE)
    return run


def update_secrets(
    namespace: str, name: str, uid: str, data: Mapping[str, str], *, owner: Owner | None = None
) -> None:
    """Replace the secret values: running pods keep the old ones, later tries get the new.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now.
    """
    target = folder.of(namespace, name)
    with folder.locked(target):
        run_record.present(target, uid, owner)
        folder.write(target.secrets, dict(data))


def give(namespace: str, name: str, uid: str, to: Owner, *, owner: Owner | None = None) -> None:
    """Make a run another owner's.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now.
    """
    target = folder.of(namespace, name)
    with folder.locked(target):
        run_record.owned(target, run_record.present(target, uid, owner), to)


def repair(
    namespace: str, name: str, uid: str, _contents: Contents, *, owner: Owner | None = None
) -> Run:
    """The run as it is: nobody else writes a run's folder.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now.
    """
    return run_record.present(folder.of(namespace, name), uid, owner)


def delete(
    namespace: str, name: str, uid: str, timeout: float = 60, *, owner: Owner | None = None
) -> str:
    """End every process of a run and remove its folder; a sentence about what is left, or empty.

    Gone already, or another run of that name, is fine; one of another owner is left alone. With a
    uid it goes also where a file of its folder is damaged.
    """
    target = folder.of(namespace, name)
    with folder.locked(target):
        run = run_record.identified(target) if uid else run_record.look(target)
        if run is None or (uid and run.uid != uid):
            return ""
        if owner is not None and not run.owner.is_same(owner):
            return told.left_alone(namespace, name, run.owner.shown())
        ended = _end(target, timeout)
        ended = processes.kill_everywhere(run.uid) and ended
        folder.remove(target)
    if run.host != platform.node() and run.phase not in FINISHED:
        return f"run {namespace}/{name} runs on {run.host}; its supervisor there ends by itself"
    if ended:
        return ""
    return f"some processes of {namespace}/{name} did not end within {timeout:g} s"


def logs(
    namespace: str,
    name: str,
    *,
    pod: str | None = None,
    follow: bool = False,
    tail: int | None = None,
) -> Iterator[tuple[str, str]]:
    """The lines of a run's pods as (pod, line), pod after pod; with `follow` as they come.

    Args:
        namespace: The run's namespace.
        name: The run's name.
        pod: Only this pod.
        follow: Go on until the run has ended and all was read.
        tail: Begin with the last lines only, as many per pod.

    Raises:
        NotAvailable: There is no such run, or it never had such a pod.
    """
    target = folder.of(namespace, name)
    run = run_record.present(target)
    known = {node.pod for node in run.nodes} | {path.stem for path in target.logs.glob("*.log")}
    if pod is not None and pod not in known:
        shown = ", ".join(sorted(known)) or "none yet"
        raise NotAvailable(f"run {namespace}/{name} has no pod {pod}; its pods are {shown}")

    def files() -> tuple[Path, ...]:
        return tuple(sorted(target.logs.glob(f"{pod or '*'}.log")))

    if not follow:
        return log_files.read(files, tail)
    return log_files.follow(files, _over(target), tail)


def _over(target: RunFolder) -> Callable[[], bool]:
    return lambda: not folder.supervised(target)


def _folder(submission: Submission) -> RunFolder:
    metadata = submission.job["metadata"]
    return folder.of(metadata.get("namespace") or "default", metadata["name"])


def _adopted(target: RunFolder, run: Run, submission: Submission) -> Run | None:
    """The run with its new owner, or None after one with other content was removed."""
    if run.content != submission.content:
        _end(target, 60)
        folder.remove(target)
        return None
    return run_record.owned(target, run, submission.owner)


def _made(target: RunFolder, submission: Submission) -> None:
    """Make the run's folder.

    Raises:
        NotAvailable: The disk is full.
    """
    try:
        _create(target, submission)
    except OSError as error:
        if full_disk.is_full(error):
            raise NotAvailable(full_disk.message(target.path, error)) from error
        raise


def _create(target: RunFolder, submission: Submission) -> None:
    run = Run(
        namespace=target.path.parent.name,
        name=target.path.name,
        uid=str(uuid.uuid4()),
        host=platform.node(),
        owner=submission.owner,
        content=submission.content,
        created=of.timestamp(datetime.now(UTC)),
        phase=CREATED,
    )
    record = {
        "job": submission.job,
        "runtime": submission.runtime,
        "objects": submission.objects,
        "packages": submission.packages,
        "plugins": submission.plugins,
    }
    folder.create(target, run_to_json(run), record, submission.secret_data)


def _start(target: RunFolder, timeout: float) -> None:
    """Start the supervisor unless one lives, and wait until it wrote its first status.

    Raises:
        NotAvailable: It ended, or did not answer in time.
    """
    until = time.monotonic() + timeout
    if not folder.supervised(target):
        _launch(target, timeout)
    while not target.status.exists():
        if time.monotonic() > until or not folder.supervised(target):
            said = target.output.read_text(encoding="utf-8", errors="replace").strip()
            last = said.splitlines()[-1] if said else f"no answer within {timeout:g} s"
            where = f"{target.path.parent.name}/{target.path.name}"
            raise NotAvailable(f"the supervisor of run {where} did not start: {last}")
        time.sleep(PAUSE)


def _launch(target: RunFolder, timeout: float) -> None:
    """Start the process that becomes guard and supervisor; it detaches before it answers."""
    environment = env.inherited(*_SUPERVISOR_ENV) | {
        # The user's own path is kept for listed plugins; pods do not see it.
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
        names.STATE_HOME: str(folder.home()),
        names.CACHE_HOME: str(folder.cache()),
        names.PROCESS_MARK: f"{_uid(target)}/supervisor",
    }
    arguments = [sys.executable, "-P", "-m", "trainer_infra.local.supervisor", str(target.path)]
    with target.output.open("ab") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=target.path,
            env=environment,
            start_new_session=True,
            timeout=timeout,
            check=False,
        )


def _uid(target: RunFolder) -> str:
    run = run_record.identified(target)
    return run.uid if run else ""


def _signal(target: RunFolder, number: int) -> None:
    """Signal the supervisor, when it is the very process that was recorded."""
    found = (folder.read(target.identities) or {}).get("supervisor")
    if found is not None:
        processes.send(Identity(**found), number)


def _end(target: RunFolder, timeout: float) -> bool:
    """End the supervisor and all its pods; whether everything ended in time."""
    until = time.monotonic() + timeout
    _signal(target, signal.SIGTERM)
    while folder.supervised(target):
        if time.monotonic() > until:
            # Guard and supervisor carry the mark as well.
            return processes.kill_everywhere(_uid(target))
        time.sleep(PAUSE)
    return True


def _lost(target: RunFolder) -> Run | None:
    """The run whose supervisor is gone, recorded as lost; what is left of it is ended."""
    run = run_record.look(target)
    if run is None or run.phase in FINISHED or folder.supervised(target):
        return run
    processes.kill_everywhere(run.uid)
    return guard.lost(target, "and its guard are gone")
