"""What `lifecycle.plan` says is applied is what each engine stores: no driver adds to it afterwards."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.cluster.submissions import OWNER, Job
from tests.cluster.world import World
from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import drift
from trainer_infra.cluster.provider.behaviour import provider_behaviour
from trainer_infra.cluster.provider.runs import Cluster
from trainer_infra.lifecycle.plan import plan
from trainer_infra.local import run_folder, runs
from trainer_infra.local.target import ThisMachine
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import PLUGINS
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


def without_owner(value: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {key: each for key, each in value["metadata"].items() if key != "ownerReferences"}
    return {**value, "metadata": metadata}
