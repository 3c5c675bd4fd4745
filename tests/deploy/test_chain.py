"""A job made of another one's results: what changes in place leaves what depends on it as it is, at preview too."""

import pytest

from tests.deploy.project import Stack

CHAIN = """
cfg = pulumi.Config()

def train():
    from trainer_infra.report import report
    report(progress=100, acc=1.0)

def second(base):
    print(base)

a = TrainJob("a", runtime="plain-distributed", labels={"team": cfg.get("team") or "one"},
             trainer=CustomTrainer(train, env={"TOKEN": cfg.require_secret("token")}), wait_for="complete")
b = TrainJob("b", runtime="plain-distributed", wait_for="complete",
             trainer=CustomTrainer(second, func_args={"base": a.metrics["acc"]}))
"""


SWEEP = """
from trainer_infra import TrainJobs

cfg = pulumi.Config()

def train(rate):
    from trainer_infra.report import report
    report(progress=100, loss=rate)

def second(base):
    print(base)

labels = {"team": cfg.get("team") or "one"}
jobs = {
    str(rate): dict(runtime="plain-distributed", labels=labels,
                    trainer=CustomTrainer(train, func_args={"rate": rate}, env={"TOKEN": cfg.require_secret("token")}))
    for rate in (1, 2)
}
sweep = TrainJobs("sweep", jobs=jobs, wait_for="complete")
best = sweep.best("loss", mode="min")
b = TrainJob("b", runtime="plain-distributed", wait_for="complete",
             trainer=CustomTrainer(second, func_args={"base": best["value"]}))
"""


@pytest.mark.parametrize("program", [CHAIN, SWEEP], ids=["job", "sweep"])
def test_a_secret_or_a_label_of_what_comes_first_changes_only_that(
    stack: Stack, program: str
) -> None:
    stack.program(program)
    stack.run("config", "set", "--secret", "token", "one")
    stack.up()
    before = {run["name"]: run["uid"] for run in stack.runs()}
    for change in (("--secret", "token", "two"), ("team", "two")):
        stack.run("config", "set", *change)
        shown = stack.preview()
        assert "1 to update" in shown
        assert "to replace" not in shown
        assert "1 updated" in stack.up()
        stack.unchanged()
    assert {run["name"]: run["uid"] for run in stack.runs()} == before
