"""The guard of a supervisor: it adopts what a killed supervisor leaves, ends it, and says so.

The guard forks the supervisor before any thread exists; when it ends without a final status, the
guard ends every descendant and writes Failed with reason SupervisorLost. When the guard dies first,
the supervisor gets SIGHUP.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from trainer_infra import names
from trainer_infra.local import processes, run_folder
from trainer_infra.local.run_folder import RunFolder
from trainer_infra.runs import view
from trainer_infra.runs.run import FINISHED, Run, run_from_json, run_to_json


def watch_supervisor(target: RunFolder, supervise: Callable[[], None]) -> None:
    """Fork a process that runs `supervise`, and clean up after it."""
    processes.adopt_orphans()
    guard = os.getpid()
    supervisor = os.fork()
    if supervisor == 0:
        _supervise(guard, supervise)
    # Adopted processes that end meanwhile are reaped.
    while (ended := os.waitpid(-1, 0))[0] != supervisor:
        pass
    processes.kill_descendants(guard)
    code = os.waitstatus_to_exitcode(ended[1])
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    record_loss(target, f"ended with {how}")


def record_loss(target: RunFolder, how: str) -> Run | None:
    """Record that a run's supervisor is gone, unless the run is finished; None if it was removed.

    When it cannot be recorded, the next look finds it again.
    """
    value = run_folder.read_json(target.status)
    if value is None:
        return None
    run = run_from_json(value)
    if run.phase in FINISHED:
        return run
    message = (
        f"the supervisor on {run.host} {how} while the run was unfinished; "
        "its processes were ended, run it again"
    )
    now = view.lost_run(run, names.SUPERVISOR_LOST, message, datetime.now(UTC))
    with suppress(OSError):
        target.reserve.unlink(missing_ok=True)
        run_folder.write_json(target.status, run_to_json(now))
    return now


def _supervise(guard: int, supervise: Callable[[], None]) -> None:
    """The forked process; never returns."""
    code = 1
    try:
        processes.die_with_parent(guard, signal.SIGHUP)
        supervise()
        code = 0
    except BaseException:  # noqa: BLE001  whatever it is, the log has it and the guard goes on
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
