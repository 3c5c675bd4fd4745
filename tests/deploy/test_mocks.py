"""Programs in unit tests of their own, with Pulumi's mocks in the place of its engine.

A mock answers what its author thought of: all other outputs are None.
"""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import pulumi
from pulumi.runtime import Mocks

class Engine(Mocks):
    def new_resource(self, args):
        return args.name, {**args.inputs, **ANSWERS.get(args.typ, {})}

    def call(self, args):
        return {}

ANSWERS = {}
pulumi.runtime.set_mocks(Engine())
pulumi.runtime.set_all_config({"trainer:target": "local"})

from trainer_infra import ClusterTrainingRuntime, TrainJob, TrainJobs, catalog

JOB = {"runtime": "plain-distributed", "trainer": {"command": ["true"]}}

@pulumi.runtime.test
def test_answers_are_results():
    ANSWERS["pulumi-python:trainer:Result"] = {"metrics": {"loss": 0.5}}
    member = {"phase": "Complete", "metrics": {"loss": 0.25}}
    ANSWERS["pulumi-python:trainer:Results"] = {"results": {"a": member}}
    loss = TrainJob("one", name="mine", **JOB, wait_for="complete").metrics["loss"]
    sweep = TrainJobs("sweep", {"a": JOB}, wait_for="complete").results
    assert_equal = lambda values: [values[0], values[1]["a"]["metrics"]["loss"]] == [0.5, 0.25] or 1 / 0
    return pulumi.Output.all(loss, sweep).apply(assert_equal)

@pulumi.runtime.test
def test_what_is_not_answered_is_empty():
    ANSWERS.clear()
    runtime = ClusterTrainingRuntime("mine", catalog.get("plain-distributed"))
    job = TrainJob("one", name="mine", **{**JOB, "runtime": runtime}, wait_for="complete")
    sweep = TrainJobs("sweep", {"a": JOB}, wait_for="complete")
    both = pulumi.Output.all(job.metrics, sweep.results)
    return both.apply(lambda values: values == [{}, {}] or 1 / 0)
"""


def test_constructors_and_results_work_with_mocks(tmp_path: Path) -> None:
    (tmp_path / "test_program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
