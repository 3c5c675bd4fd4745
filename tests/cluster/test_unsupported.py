"""What this engine cannot do is said before anything is created."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.cluster.submissions import Job
from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster import unsupported_fields
from trainer_infra.render import snapshot
from trainer_infra.runs.run import Submission

TTL = "metadata.annotations[trainer-infra.dev/ttl-seconds-after-finished]"


def paths(submission: Submission) -> list[tuple[str, str, object]]:
    found = unsupported_fields.of_engine_provider(submission.job, submission.objects)
    return [(each.where, each.path, each.got) for each in found]


@pytest.mark.parametrize(
    "runtime",
    [each.name for each in catalog.RUNTIMES if not each.name.startswith("torchtune")],
)
def test_a_plain_job_on_any_shipped_runtime_has_no_problem(runtime: str) -> None:
    assert paths(Job("team", runtime=runtime, code=None).submission()) == []


def test_a_ttl_of_the_trainjob_is_refused() -> None:
    job = Job("team", metadata={"annotations": {names.TTL_SECONDS: "60"}})
    assert paths(job.submission()) == [("TrainJob tj", TTL, "60")]


def test_a_ttl_of_the_runtime_is_refused() -> None:
    submission = Job("team").submission()
    runtime = catalog.get("torch-distributed")
    wire = runtime.to_wire()
    wire["metadata"]["annotations"] = {names.TTL_SECONDS: "60"}
    born_with = type(runtime).from_wire(wire)
    record = snapshot.config_map(TrainJob.from_wire(submission.job), born_with)
    objects: tuple[Mapping[str, Any], ...] = (record, *submission.objects[1:])
    found = unsupported_fields.of_engine_provider(submission.job, objects)
    assert [(each.where, each.path, each.got) for each in found] == [
        ("ClusterTrainingRuntime torch-distributed", TTL, "60")
    ]


def test_a_ttl_of_the_jobset_is_refused() -> None:
    submission = Job("team").submission()
    submission.objects[-1]["spec"]["ttlSecondsAfterFinished"] = 0
    (problem,) = unsupported_fields.of_engine_provider(submission.job, submission.objects)
    assert str(problem) == (
        "JobSet tj: spec.ttlSecondsAfterFinished: would delete the JobSet while its run is still "
        "declared, which looks like a loss, got 0; remove it, and end the run with `pulumi destroy`"
    )


def test_another_controller_is_refused() -> None:
    job = Job("team", spec={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert paths(job.submission()) == [
        ("TrainJob tj", "spec.managedBy", "kueue.x-k8s.io/multikueue")
    ]
