"""Initializers of jobs on this machine: processes that fetch before the training begins."""

from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.soak_sample import sampled

READING = """
def read():
    import os
    from pathlib import Path
    from trainer_infra.report import report
    from trainer_infra.storage import mounted
    folder = Path(mounted("/workspace"))
    found = sorted(str(each.relative_to(folder)) for each in folder.rglob("*.txt"))
    report(progress=100, found=",".join(found) or "nothing")

job = TrainJob("job", runtime="torch-distributed-with-initializers", wait_for="complete",
               initializer={initializer},
               trainer=CustomTrainer(read, env={{"PATH": {path!r}}}, num_proc_per_node=1))
pulumi.export("found", job.metrics["found"])
"""
TORCHRUN = """#!/bin/sh
exec python3 "$@"
"""
"""Starts one process, as torchrun would."""


def reading(folder: Path, **uris: str) -> str:
    program = folder / "bin" / "torchrun"
    program.parent.mkdir(exist_ok=True)
    program.write_text(TORCHRUN)
    program.chmod(0o755)
    initializer = {kind: {"storageUri": uri} for kind, uri in uris.items()}
    return READING.format(initializer=initializer or None, path=f"{program.parent}:/usr/bin:/bin")


def test_a_folder_and_a_claim_are_fetched_before_the_training(stack: Stack, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.txt").write_text("1")
    model = Path(stack.env["TRAINER_INFRA_HOME"]) / "volumes" / "default" / "models" / "base"
    model.mkdir(parents=True)
    (model / "weights.txt").write_text("2")
    uris = {"dataset": (tmp_path / "rows").as_uri(), "model": "pvc://models/base"}

    stack.program(reading(tmp_path, **uris))
    shown = stack.preview()
    stack.up()

    assert "/opt/trainer-infra/claims/models" in shown
    assert stack.outputs()["found"] == "dataset/a.txt,model/weights.txt"


CLASSES = """
from trainer_infra import catalog, with_initializers
from trainer_infra import TrainJobs

def read():
    import os
    from trainer_infra.report import report
    from trainer_infra.storage import mounted
    report(progress=100, classes=",".join(sorted(os.listdir(mounted("/workspace/dataset")))))

member = {{"runtime": with_initializers(catalog.get("plain-distributed")),
          "initializer": {{"dataset": {{"storageUri": {uri!r}}}}}, "trainer": CustomTrainer(read)}}
job = TrainJob("news", **member, wait_for="complete")
pulumi.export("classes", job.metrics["classes"])
"""


def test_a_dataset_whose_folders_are_its_classes_has_those_alone(
    stack: Stack, tmp_path: Path
) -> None:
    for each in ("sport", "politics"):
        (tmp_path / "news" / each).mkdir(parents=True)
        (tmp_path / "news" / each / "a.txt").write_text(each)
    stack.program(CLASSES.format(uri=(tmp_path / "news").as_uri()))
    stack.up()
    assert stack.outputs()["classes"] == "politics,sport"


def test_a_folder_that_is_not_here_and_copies_of_a_sweep_are_said_by_the_preview(
    stack: Stack, tmp_path: Path
) -> None:
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(1_000_000_000)
    sweep = '\nTrainJobs("sweep", {{name: {{**member, "initializer": {{"dataset": {{"storageUri": {big!r}}}}}}} for name in "abcd"}})'
    stack.program(CLASSES.format(uri="file:///no/such/news") + sweep.format(big=big.as_uri()))
    said = " ".join(stack.preview().split())
    assert "file:///no/such/news is /no/such/news on this machine, and there is none" in said
    assert f"4 initializers copy {big.as_uri()}: 953.7 MiB each, 3.7 GiB in all" in said


MAKING = """
def make():
    import time
    from pathlib import Path
    from trainer_infra.storage import output
    time.sleep(3)
    Path(output("rows"), "50%20?#.txt").write_text("1")

made = TrainJob("made", runtime="plain-distributed", trainer=CustomTrainer(make), outputs=["rows"],
                wait_for="complete")
"""


@pytest.mark.parametrize("of", sampled(["made", "made.result"], every=2))
def test_an_output_of_one_job_is_fetched_for_the_next(
    stack: Stack, tmp_path: Path, of: str
) -> None:
    """Once it is there: `made` waits for its run."""
    next_job = reading(tmp_path, dataset="MADE").replace("'MADE'", f'{of}.outputs["rows"]')
    stack.program(MAKING + next_job)
    stack.preview()
    stack.up()
    assert stack.outputs()["found"] == "dataset/50%20?#.txt"
    stack.unchanged()


def test_what_is_not_given_is_not_fetched(stack: Stack, tmp_path: Path) -> None:
    stack.program(reading(tmp_path))
    stack.up()
    assert stack.outputs()["found"] == "nothing"


def test_what_cannot_be_fetched_fails_the_job(stack: Stack, tmp_path: Path) -> None:
    missing = (tmp_path / "none").as_uri()
    stack.program(reading(tmp_path, dataset=missing))
    said = stack.up(ok=False)
    assert "dataset-initializer" in said
    assert missing in said
