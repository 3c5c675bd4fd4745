"""The supervisor process of one run: `python -m trainer_infra.local.supervisor RUN_FOLDER`.

Started by `runs.submit`, from which it detaches at once. It holds the lock of the run's folder as
long as it or its guard lives, so there is never a second one. What comes next is `reconciler`.
"""

import asyncio
import fcntl
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Final

from trainer_infra.local import guard, processes, run_folder
from trainer_infra.local.children import Children
from trainer_infra.local.reconciler import Reconciler
from trainer_infra.local.run_folder import RunFolder

LOCK_TIMEOUT: Final = 2.0
"""Seconds to wait for the lock: `run_folder.is_supervised` takes it for a moment to look."""


def main() -> int:
    """Start guard and supervisor in the background; 0 once they own the run, 1 if others do."""
    target = RunFolder(Path(sys.argv[1]))
    if not _claim(target):
        return 1
    if target.status.exists():
        # Another supervisor, started by a submit that was killed, has run the job meanwhile.
        return 0
    if os.fork() == 0:
        guard.watch_supervisor(target, lambda: asyncio.run(supervise(target)))
        os._exit(0)
    return 0


def _claim(target: RunFolder) -> bool:
    """Take the lock for this process and its forks; it is released when the last of them ends."""
    until = time.monotonic() + LOCK_TIMEOUT
    while run_folder.hold_file(target.lock, fcntl.LOCK_EX | fcntl.LOCK_NB) is None:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


async def supervise(target: RunFolder) -> None:
    """Run one job to its end, or until a signal ends the supervisor."""
    processes.adopt_orphans()
    reconciler = Reconciler(target, Children())
    loop = asyncio.get_running_loop()
    received: list[int] = []

    def end(number: int) -> None:
        received.append(number)
        reconciler.stop()

    loop.add_signal_handler(signal.SIGUSR1, reconciler.wake)
    loop.add_signal_handler(signal.SIGTERM, end, signal.SIGTERM)
    loop.add_signal_handler(signal.SIGHUP, _guard_died, target)
    # Write who supervises: from now on signals come, so their handlers are there.
    who = {"supervisor": os.getpid(), "guard": os.getppid()}
    found = {role: processes.identity_of(pid) for role, pid in who.items()}
    run_folder.write_json(
        target.identities, {role: asdict(each) for role, each in found.items() if each is not None}
    )
    await reconciler.run()
    processes.kill_descendants(os.getpid())
    if received:
        # The guard reads from this how the supervisor ended.
        loop.remove_signal_handler(signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)


def _guard_died(target: RunFolder) -> None:
    """No guard is left to clean up after this process, so it does that itself, now."""
    processes.kill_descendants(os.getpid())
    guard.record_loss(target, "lost its guard process")
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
