"""The history of a run's reports on a real cluster: lines of its pods' logs, and what is left without them.

The callbacks come with the job's code: the image has no package of ours.
"""

from pathlib import Path

import pytest

from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs, eventually
from trainer_infra.runs.run import COMPLETE
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

PROGRAM = f"{Path(__file__).parent}/training/report_slowly.py:train"


@pytest.mark.usefixtures("image")
def test_a_run_has_its_history_while_its_pods_are_there_and_then_its_last_report(
    namespace: Namespace,
) -> None:
    jobs = Jobs(namespace)
    run = jobs.run(runtimes.on_host("plain-distributed"), CustomTrainer(PROGRAM, num_nodes=2))
    assert run.phase == COMPLETE, run

    history = jobs.cluster.history(run.key)
    assert {each.node for each in history} == {"node-0-0"}
    assert [each.progress for each in history] == [0, 25, 50, 75, 99, 100]
    assert [each.metrics.get("loss") for each in history[1:-1]] == [
        *("1.0", "0.5", "0.3333333333333333", "0.25")
    ]
    assert float(history[-1].metrics["samples_per_second"]) > 0
    assert history[-1].metrics["accuracy"] == "0.9"
    assert jobs.lines() == ["begins", "begins"]

    namespace.kubectl("delete", "pods", "--all", "--wait=false")
    eventually(lambda: not namespace.all("pods"))
    (last,) = jobs.cluster.history(run.key)
    assert (last.node, last.progress, last.metrics) == ("node-0-0", 100, history[-1].metrics)
