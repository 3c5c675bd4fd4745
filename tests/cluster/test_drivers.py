"""What all drivers have in common: they store what `lifecycle.plan` says is applied and add nothing to it
afterwards, and they answer what a run reported."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.submissions import OWNER, Job
from tests.cluster.world import World, container, ended
from tests.local.jobs import Job as LocalJob
from tests.local.jobs import finished, python
from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import drift
from trainer_infra.cluster.provider.engine_provider import Cluster, provider_behaviour
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.errors import NotAvailable
from trainer_infra.lifecycle.plan import plan
from trainer_infra.local import run_folder, runs
from trainer_infra.local.target import ThisMachine
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import RunKey, Submission
from trainer_infra.trainers import compose

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
RUNTIMES = (
    "plain-distributed",
    "torch-distributed",
    "jax-distributed",
    "xgboost-distributed",
    "deepspeed-distributed",
    "mlx-distributed",
)
SPEC = {
    "activeDeadlineSeconds": 600,
    "trainer": {"numNodes": 2, "env": [{"name": "A", "value": "1"}]},
}
QUEUED = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}


def planned(submission: Submission, how: Behaviour, uid: str = "") -> tuple[Mapping[str, Any], ...]:
    """What a controller would be told to apply first."""
    metadata = {**submission.job["metadata"], **({"uid": uid} if uid else {})}
    job = TrainJob.from_wire({**submission.job, "metadata": metadata})
    runtime = catalog.get(job.spec.runtime_ref.name)
    found = plan(job, runtime, ObservedObjects(None), NOW, how)
    return (*found.create, *found.apply)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_engine_provider_stores_what_the_plan_applies(
    runtime: str, world: World, cluster: Cluster
) -> None:
    job = Job(world.namespace, runtime=runtime, code=None, spec=SPEC, metadata=QUEUED)
    submission = job.submission()
    applied = planned(submission, provider_behaviour(PLUGINS, OWNER))
    assert applied == submission.objects

    cluster.submit(submission)
    for each in applied:
        kind, name = each["kind"], each["metadata"]["name"]
        live = world.there(kind, name)
        assert drift.drifted_fields(each, live) == {}, (kind, name)
        for key, value in each["metadata"]["labels"].items():
            assert live["metadata"]["labels"][key] == value


@pytest.mark.parametrize("runtime", ["plain-distributed", "torch-distributed", "jax-distributed"])
def test_this_machine_keeps_what_the_plan_applies(
    runtime: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.STATE_HOME, str(tmp_path / "home"))
    wire = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "tj", "namespace": "default"},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": {"command": ["true"]},
            "suspend": True,
        },
    }
    target = ThisMachine()
    made = compose.compose(wire, catalog.get(runtime), None, (), target.behaviour(PLUGINS, OWNER))
    submission = Submission(
        job=made.job.to_wire(),
        runtime=made.runtime.to_wire(),
        objects=made.objects,
        secret_data={},
        packages=(),
        owner=OWNER,
        content="c1",
    )
    assert planned(submission, OURS) == submission.objects
    run = target.submit(submission)
    try:
        kept = (run_folder.read_json(run_folder.folder_of("default", "tj").record) or {})["objects"]
        assert tuple(kept) == submission.objects
        # Where the TrainJob has a UID, its objects have an owner, and nothing else is another.
        owned = planned(submission, OURS, run.uid)
        assert [without_owner(each) for each in owned] == list(submission.objects)
    finally:
        runs.delete(RunKey("default", "tj", run.uid))


def test_each_engine_answers_what_a_run_reported_when_only_its_last_words_are_left(
    world: World, either: ClusterRuns, job: Job
) -> None:
    run = either.submit(job.submission())
    assert either.history(run.key) == ()
    said = {
        "progressPercentage": 100,
        "metrics": [{"name": "loss", "value": "0.25"}],
        "lastUpdatedTime": "2026-11-21T12:00:40Z",
    }
    statuses = [container(ended(0, "Completed", json.dumps(said)))]
    world.pod(phase="Succeeded", containerStatuses=statuses)
    world.end("Completed")
    report = PastReport("2026-11-21T12:00:40Z", "node-0-0", 100, None, {"loss": "0.25"})
    assert either.history(run.key) == (report,)
    with pytest.raises(NotAvailable, match="there is no run"):
        either.history(RunKey(world.namespace, "other"))


def test_this_machine_answers_what_a_run_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.STATE_HOME, str(tmp_path / "home"))
    code = "from trainer_infra.report import report; report(100, loss=0.25)"
    target = ThisMachine()
    run = target.submit(LocalJob(command=python(code)).submission())
    try:
        finished(run)
        (report,) = target.history(run.key)
        assert (report.node, report.progress) == ("node-0-0", 100)
        assert report.metrics == {"loss": "0.25"}
        with pytest.raises(NotAvailable, match="there is no run"):
            target.history(RunKey("default", "other"))
    finally:
        runs.delete(RunKey("default", "tj", run.uid))


def without_owner(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: each for key, each in value["metadata"].items() if key != "ownerReferences"}
    return {**value, "metadata": metadata}
