"""Metrics of a run: those of node 0, numbers, and a sentence for one that was not reported."""

from tests.deploy.project import Stack
from trainer_infra.deploy.operations import gate
from trainer_infra.deploy.run_result import Metrics

REPORTING = """
from trainer_infra import TrainJobs
def rank(**rest):
    import os, time
    from trainer_infra.report import report
    mine = int(os.environ["JOB_COMPLETION_INDEX"])
    # Every other node speaks after node 0.
    time.sleep(0.5 if mine else 0)
    report(progress=mine, loss=0.5 + mine, step=mine, note="of " + str(mine), tiny=1e-05)
trainer = CustomTrainer(rank, num_nodes=3)
job = TrainJob("job", runtime="plain-distributed", trainer=trainer, wait_for="complete")
sweep = TrainJobs("many", {"a": {"runtime": "plain-distributed", "trainer": trainer}}, wait_for="complete")
"""
SHOWN = """
pulumi.export("metrics", job.metrics)
pulumi.export("less", job.metrics["loss"].apply(lambda loss: loss - 0.25))
pulumi.export("nodes", job.result.nodes)
pulumi.export("best", sweep.results.apply(lambda all: min(all, key=lambda each: all[each]["metrics"]["loss"])))
"""
NEXT = """
def counted(steps, text):
    assert (list(range(steps)), text) == ([], "0"), (steps, text)
steps = job.metrics["step"]
TrainJob("next", runtime="plain-distributed", wait_for="complete", trainer=CustomTrainer(
    counted, func_args={"steps": steps, "text": steps.apply(str)}, num_nodes=steps.apply(lambda step: step + 1.0)))
"""
MISSING = """
pulumi.export("missing", {})
"""


def of(rank: int) -> dict[str, float | str]:
    return {"loss": 0.5 + rank, "step": rank, "note": f"of {rank}", "tiny": 1e-05}


def test_node_0s_metrics_count_and_are_numbers_that_a_later_job_can_count_with(
    stack: Stack,
) -> None:
    stack.program(REPORTING + SHOWN + NEXT)
    stack.up()
    assert stack.outputs() == {
        "metrics": of(0),
        "less": 0.25,
        "nodes": {f"node-0-{rank}": of(rank) for rank in range(3)},
        "best": "a",
    }
    stack.unchanged()
    stack.run("refresh", "--yes", "--expect-no-changes")


def test_a_metric_that_was_not_reported_is_one_sentence(stack: Stack) -> None:
    stack.program(REPORTING + MISSING.format('job.metrics["acuracy"]'))
    assert "to create" in stack.preview()
    for asked, who in (
        ('job.metrics["acuracy"]', "TrainJob job"),
        ('sweep.results["a"]["metrics"]["acuracy"]', "TrainJobs many: a"),
    ):
        stack.program(REPORTING + MISSING.format(asked))
        shown = stack.up(ok=False)
        assert "Traceback" not in shown
        assert "KeyError" not in shown
        assert (
            f"{who} did not report the metric 'acuracy'; it reported loss, note, step, tiny: see "
            "trainer_infra.report"
        ) in shown


def test_what_json_has_no_number_for_stays_text() -> None:
    given = {"a": "nan", "b": "inf", "c": "1e400", "d": "true", "e": '"x"', "f": "1_0", "g": "-2"}
    assert gate.metric_values(given) == {**given, "g": -2}
    assert Metrics({}, "TrainJob j").get("a") is None
