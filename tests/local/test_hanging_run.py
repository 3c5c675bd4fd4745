"""A run of this machine whose training hangs says so, and goes on from its checkpoint when it is asked to."""

import json
import sys
from pathlib import Path

from tests.local.jobs import Job, eventually, finished, lines, now
from trainer_infra.in_pod import init
from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.runs.run import Run

PROGRAM = """
import os, sys, time
from trainer_infra.checkpoint import Checkpointer

def work(step):
    while step == 27 and not os.path.exists(sys.argv[1]):
        time.sleep(0.1)

checkpointer = Checkpointer()
state = checkpointer.restore({"step": 0})
print("begins", state["step"], flush=True)
for step in range(state["step"], 60):
    if state["step"] and sys.argv[2:] == ["once"]:
        open(sys.argv[1], "w").close()
    work(step)
    checkpointer.step(step + 1, {"step": step + 1})
print("ends", flush=True)
"""


def submitted(folder: Path, on_hang: str, *arguments: str) -> Run:
    arranged = {
        "place": str(folder / "place"),
        "run": "default/tj",
        "every_steps": 10,
        "hang_seconds": 3,
        "on_hang": on_hang,
    }
    words = [sys.executable, str(init.__file__), sys.executable, "-u", "-c", PROGRAM]
    env = ({"name": "TRAINER_INFRA_CHECKPOINT", "value": json.dumps(arranged)},)
    return Job(command=[*words, str(folder / "goes-on"), *arguments], env=env).submit()


def test_a_run_that_hangs_is_stuck_until_it_goes_on(tmp_path: Path) -> None:
    run = submitted(tmp_path, "say")
    eventually(lambda: now(run).stuck)
    seen = now(run)
    assert seen.stuck.startswith(f"rank 0 (pod {seen.nodes[0].pod}) made no step for ")
    assert ", since step 27: it sleeps or is blocked, at <string> line " in seen.stuck
    assert (seen.phase, seen.cause, seen.waiting_for) == ("Running", "hang", seen.stuck)
    said = lines(run)
    assert any('File "<string>", line' in each and each.endswith(" in work") for each in said)
    assert not any(hangs.PREFIX in each for each in said)

    (tmp_path / "goes-on").touch()
    done = finished(run)
    assert (done.phase, done.stuck, done.cause) == ("Complete", "", "")


def test_asked_to_restart_it_goes_on_from_its_last_checkpoint(tmp_path: Path) -> None:
    run = submitted(tmp_path, "restart", "once")
    done = finished(run)
    assert done.phase == "Complete", done.message
    said = lines(run)
    assert [each for each in said if each.startswith("begins")] == ["begins 0", "begins 20"]
    assert any("on_hang='restart': the pod ends" in each for each in said)
    assert done.nodes[0].restarts == 1
