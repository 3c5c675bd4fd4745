"""Names that are an API: the pickled provider, its module and the resource types."""

import base64

import pytest
from pulumi.dynamic.dynamic import serialize_provider

from trainer_infra.deploy import provider as providers
from trainer_infra.deploy.runtime_resources import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.deploy.train_job_resource import TrainJob, TrainJobResult
from trainer_infra.deploy.train_jobs_resource import TrainJobs, TrainJobsResult

KINDS = (
    TrainJob,
    TrainJobResult,
    TrainJobs,
    TrainJobsResult,
    TrainingRuntime,
    ClusterTrainingRuntime,
)


@pytest.mark.parametrize("name", [kind.__name__ for kind in KINDS])
def test_a_provider_is_pickled_by_reference(name: str) -> None:
    provider = getattr(providers, f"{name}Provider")
    pickled = base64.b64decode(serialize_provider(provider()))
    assert b"trainer_infra.deploy.provider" in pickled
    assert provider.__name__.encode() in pickled
    assert len(pickled) < 100


def test_the_types_are_those_of_the_design() -> None:
    names = [kind._resource_type_name for kind in KINDS]  # noqa: SLF001  Pulumi keeps it there
    assert names == [
        "trainer:TrainJob",
        "trainer:Result",
        "trainer:TrainJobs",
        "trainer:Results",
        "trainer:Runtime",
        "trainer:ClusterRuntime",
    ]
