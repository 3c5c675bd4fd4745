"""Names that JobSet would refuse after admission (Q7). Rule: reference behaviour 12.3, JobSet v0.12."""

from dataclasses import replace
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.render import metadata_name, resolve
from trainer_infra.render.draft import Draft


def judged(name: str, spec: dict[str, Any]) -> tuple[Problem, ...]:
    runtime = catalog.get("torch-distributed").to_wire()
    runtime["spec"]["template"]["spec"] |= spec
    job = {"metadata": {"name": name}, "spec": {"runtimeRef": {"name": "torch-distributed"}}}
    draft = resolve.first_draft(TrainJob.from_wire(job), ClusterTrainingRuntime.from_wire(runtime))
    return tuple(metadata_name.name_problems(draft))


def longest_name(draft: Draft) -> int:
    """The most characters of a name that is taken on the draft's runtime."""
    return max(length for length in range(1, 64) if not _with_name(draft, "a" * length))


def _with_name(draft: Draft, name: str) -> tuple[Problem, ...]:
    metadata = draft.job.metadata.model_copy(update={"name": name})
    job = draft.job.model_copy(update={"metadata": metadata})
    return tuple(metadata_name.name_problems(replace(draft, job=job)))


def replicated_job(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    pods = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"name": name, "replicas": replicas, "template": {"spec": {"template": pods, **spec}}}


@pytest.mark.parametrize(
    ("spec", "limit", "what"),
    [
        ({"replicatedJobs": [replicated_job("node", 1)]}, 48, "pods of replicated job 'node'"),
        (
            {"replicatedJobs": [replicated_job("node", 11, parallelism=101)]},
            45,
            "pods of replicated job 'node'",
        ),
        (
            {"replicatedJobs": [replicated_job("node", 1, completionMode="NonIndexed")]},
            56,
            "pods of replicated job 'node'",
        ),
        (
            {"replicatedJobs": [replicated_job("a", 1), replicated_job("model-initializer", 1)]},
            35,
            "pods of replicated job 'model-initializer'",
        ),
        (
            {
                "replicatedJobs": [replicated_job("a", 1)],
                "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "v" * 30}}]}],
            },
            32,
            f"claim '{'v' * 30}'",
        ),
    ],
)
def test_q7_the_longest_name_is_the_one_that_jobset_still_takes(
    spec: dict[str, Any], limit: int, what: str
) -> None:
    assert judged("a" * limit, spec) == ()
    assert judged("a" * (limit + 1), spec) == (
        Problem(
            "metadata.name",
            f"is too long for the {what}: JobSet allows {limit} characters on this runtime",
            got="a" * (limit + 1),
            fix=f"choose one of at most {limit} characters, this has {limit + 1}",
        ),
    )


def test_q7_the_nodes_that_the_train_job_asks_for_count() -> None:
    wire = {
        "metadata": {"name": "a" * 47},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 101}},
    }
    draft = resolve.first_draft(TrainJob.from_wire(wire), catalog.get("torch-distributed"))
    assert longest_name(draft) == 46


def test_q7_of_an_mpi_runtime_only_the_workers_become_more() -> None:
    wire = {
        "metadata": {"name": "a"},
        "spec": {"runtimeRef": {"name": "deepspeed-distributed"}, "trainer": {"numNodes": 1001}},
    }
    draft = resolve.first_draft(TrainJob.from_wire(wire), catalog.get("deepspeed-distributed"))
    assert longest_name(draft) == 44
