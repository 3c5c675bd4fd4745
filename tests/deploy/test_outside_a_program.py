"""A file that Python starts, or a cell of a notebook, declares nothing in silence: it says what to do."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import pulumi
from trainer_infra import CustomTrainer, TrainingRuntime, TrainJob, TrainJobs, catalog
from trainer_infra.platform import Workspace

def train():
    pass

job = {"runtime": "plain-distributed", "trainer": CustomTrainer(train)}
for declare in (
    lambda: TrainJob("a", **job),
    lambda: TrainJobs("b", jobs={"one": job}),
    lambda: TrainingRuntime("c", catalog.get("plain-distributed")),
    lambda: Workspace("d", namespace="d"),
):
    try:
        declare()
    except pulumi.RunError as error:
        print(str(error).partition("; ")[0])
"""


def test_a_resource_outside_a_program_says_how_it_would_be_made(tmp_path: Path) -> None:
    (tmp_path / "__main__.py").write_text(PROGRAM)
    command = [sys.executable, "__main__.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = "nothing is created, for no Pulumi program runs here"
    assert done.stdout.splitlines() == [
        f"{each}: {said}"
        for each in ("TrainJob a", "TrainJobs b", "TrainingRuntime c", "Workspace d")
    ]
