"""A supervisor that starts warm is, to all that look at it, one that was started as users start it."""

import os
import subprocess
from multiprocessing import connection
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import warm_supervisors
from tests.local.jobs import Job, eventually, finished, left, supervision
from trainer_infra.local import supervision as starting
from trainer_infra.runs.run import Run


def seen(run: Run) -> list[dict[str, Any]]:
    """What the machine shows of the guard and the supervisor of a run, what differs by run left out."""

    def of_any_run(text: str) -> str:
        return text.replace(run.uid, "UID").replace(run.name, "RUN")

    return [
        {
            "command": [of_any_run(word) for word in each.cmdline() if word],
            "environment": {name: of_any_run(value) for name, value in each.environ().items()},
            "folder": of_any_run(each.cwd()),
            "files": {
                number: Path(f"/proc/{each.pid}/fd/{number}").readlink().name for number in range(3)
            },
            "leads its session": os.getsid(each.pid) == each.pid,
            "session of its own": os.getsid(each.pid) != os.getsid(0),
            "open files": len(list(Path(f"/proc/{each.pid}/fd").iterdir())),
            "ignored and caught signals": _signals(each),
        }
        for each in sorted(supervision(run), key=psutil.Process.create_time)
    ]


def _signals(process: psutil.Process) -> list[str]:
    status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return [line for line in status if line.startswith(("SigIgn", "SigCgt", "SigBlk"))]


def test_it_looks_like_one_that_was_started_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    warm = Job(command=["sleep", "60"], name="warm").submit()
    monkeypatch.setattr(starting, "subprocess", subprocess)
    real = Job(command=["sleep", "60"], name="real").submit()

    eventually(lambda: len(left(warm)) == len(left(real)) == 3)
    assert len(seen(warm)) == 2
    # How many files are open depends on the moment.
    eventually(lambda: seen(warm) == seen(real), timeout=60)


def test_one_that_is_killed_before_it_has_asked_ends_no_other() -> None:
    with connection.Client(warm_supervisors.launcher().address):
        pass
    assert finished(Job().submit()).phase == "Complete"
