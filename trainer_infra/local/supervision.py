"""Starting and ending the supervisor of a run, the process that its pods are children of."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from trainer_infra import home_folders, names
from trainer_infra.errors import NotAvailable
from trainer_infra.local import pod_environment, processes, run_folder, run_record
from trainer_infra.local.processes import ProcessIdentity
from trainer_infra.local.run_folder import RunFolder

PAUSE: Final = 0.02
"""Seconds between two looks at a supervisor that starts or ends."""
_SUPERVISOR_ENV: Final = (*pod_environment.INSTALLERS, "TRAINER_INFRA_")


def start_supervisor(target: RunFolder, timeout: float) -> None:
    """Start the supervisor unless one lives, and wait until it wrote its first status.

    Raises:
        NotAvailable: It ended, or did not answer in time.
    """
    until = time.monotonic() + timeout
    if not run_folder.is_supervised(target):
        _launch(target, timeout)
    while not target.status.exists():
        if time.monotonic() > until or not run_folder.is_supervised(target):
            said = target.output.read_text(encoding="utf-8", errors="replace").strip()
            last = said.splitlines()[-1] if said else f"no answer within {timeout:g} s"
            run = f"{target.namespace}/{target.name}"
            raise NotAvailable(f"the supervisor of run {run} did not start: {last}")
        time.sleep(PAUSE)


def _launch(target: RunFolder, timeout: float) -> None:
    """Start the process that becomes guard and supervisor; it detaches before it answers."""
    environment = pod_environment.inherited_environment(*_SUPERVISOR_ENV) | {
        # The user's own path is kept for listed plugins; pods do not see it.
        "PYTHONPATH": os.pathsep.join(
            [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
        names.STATE_HOME: str(home_folders.state_home()),
        names.CACHE_HOME: str(home_folders.cache_home()),
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
    run = run_record.identified_run(target)
    return run.uid if run else ""


def signal_supervisor(target: RunFolder, number: int) -> None:
    """Signal the supervisor, when it is the very process that was recorded."""
    found = (run_folder.read_json(target.identities) or {}).get("supervisor")
    if found is not None:
        processes.send_signal(ProcessIdentity(**found), number)


def end_supervisor(target: RunFolder, timeout: float) -> bool:
    """End the supervisor and all its pods; whether everything ended in time."""
    until = time.monotonic() + timeout
    signal_supervisor(target, signal.SIGTERM)
    while run_folder.is_supervised(target):
        if time.monotonic() > until:
            # Guard and supervisor carry the mark as well.
            return processes.kill_everywhere(_uid(target))
        time.sleep(PAUSE)
    return True
