"""Callbacks of real frameworks: what a run on this machine knows of trainings that report by them.

No cluster is needed: the frameworks are, which `from_source.cluster.python` installs once.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import python
from tests.local.jobs import Job, finished, lines
from tests.soak_sample import sampled
from trainer_infra import names
from trainer_infra.local import runs
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import COMPLETE, Run, RunKey

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "e2e" / "training"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A state folder of the test's own; nothing runs on after the test."""
    monkeypatch.setenv(names.STATE_HOME, str(tmp_path / "home"))
    yield
    for run in runs.list_runs().runs:
        runs.delete(RunKey(run.namespace, run.name, run.uid), timeout=5)


def train(what: str, *folders: str, nodes: int = 1, argument: str = "") -> Run:
    """The run of one of the programs, once it has ended; several nodes have a process each."""
    path = [str(python.environment(each, VERSION)) for each in folders]
    env = [{"name": "PYTHONPATH", "value": os.pathsep.join([*path, str(ROOT)])}]
    torchrun = ("-m", "torch.distributed.run") if nodes > 1 and "torch" in folders else ()
    program = (str(PROGRAMS / f"report_{what}.py"), *filter(None, (argument,)))
    command = (sys.executable, *torchrun, *program)
    policy = "xgboost" if what == "xgboost" else "torch"
    job = Job(command=command, env=env, nodes=nodes, policy=policy)
    run = finished(job.submit(), timeout=900)
    assert run.phase == COMPLETE, lines(run)
    return run


def history(run: Run) -> tuple[PastReport, ...]:
    found = runs.history(run.key)
    assert "did not report" not in "\n".join(lines(run))
    assert [each.time for each in found] == sorted(each.time for each in found)
    return found


def last(run: Run) -> PastReport:
    """The last report, which says that the training is over."""
    found = history(run)[-1]
    assert (found.node, found.progress, found.remaining) == ("node-0-0", 100, 0)
    assert float(found.metrics["samples_per_second"]) > 0
    (node,) = run.nodes
    assert (node.progress, dict(node.metrics)) == (100, dict(found.metrics))
    return found


def test_hugging_face_reports_losses_and_takes_the_place_of_the_callback_of_transformers() -> None:
    run = train("hugging_face", "trainers", "torch")
    metrics = last(run).metrics
    assert (metrics["step"], metrics["epoch"]) == ("20", "1.0")
    assert {"loss", "learning_rate", "grad_norm", "eval_loss", "train_runtime"} <= metrics.keys()
    # The callback of transformers was there, and posted nothing: it names its metrics otherwise.
    (said,) = (line for line in lines(run) if line.startswith("callbacks: "))
    assert "KubeflowCallback" in said
    assert not {"total_steps", "current_step"} & {
        name for each in history(run) for name in each.metrics
    }


@pytest.mark.parametrize("package", sampled(["lightning.pytorch", "pytorch_lightning"], every=2))
def test_lightning_reports_what_the_module_logs(package: str) -> None:
    metrics = last(train("lightning", "trainers", "torch", argument=package)).metrics
    assert (metrics["step"], metrics["epoch"], metrics["learning_rate"]) == ("20", "2.0", "0.01")
    assert float(metrics["train_loss"]) > 0
    assert float(metrics["val_loss"]) > 0


def test_xgboost_reports_its_evaluations_also_of_a_cross_validation() -> None:
    metrics = last(train("xgboost", "xgboost")).metrics
    assert metrics["step"] == "5"
    assert 0 < float(metrics["train-logloss"]) < 0.7
    assert 0 < float(metrics["test-logloss"]) < 0.7


def test_a_loop_over_a_data_loader_reports() -> None:
    metrics = last(train("loop", "torch")).metrics
    assert (metrics["step"], metrics["accuracy"]) == ("20", "0.5")
    assert float(metrics["loss"]) > 0


@pytest.mark.parametrize(
    ("what", "folders"),
    [
        ("loop", ("torch",)),
        ("xgboost", ("xgboost",)),
        pytest.param("hugging_face", ("trainers", "torch"), marks=pytest.mark.soak),
        pytest.param("lightning", ("trainers", "torch"), marks=pytest.mark.soak),
    ],
)
def test_of_two_nodes_only_the_first_reports(what: str, folders: tuple[str, ...]) -> None:
    run = train(what, *folders, nodes=2)
    assert {each.node for each in history(run)} == {"node-0-0"}
    assert [each.progress for each in run.nodes] == [100, None]
