"""Names that are an API: the pickled provider, its module and the resource types."""

import base64
import pickle

import pytest
from pulumi.dynamic.dynamic import serialize_provider

from trainer_infra.deploy import provider as providers
from trainer_infra.deploy.destroy_guard_resource import DestroyGuard
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
    DestroyGuard,
)


@pytest.mark.parametrize("name", [kind.__name__ for kind in KINDS])
def test_a_provider_is_pickled_by_reference(name: str) -> None:
    provider = getattr(providers, f"{name}Provider")
    pickled = base64.b64decode(serialize_provider(provider()))
    assert b"trainer_infra.deploy.provider" in pickled
    assert provider.__name__.encode() in pickled
    assert len(pickled) < 100


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("TrainJob", "gASVOQAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIwQVHJhaW5Kb2JQcm92aWRlcpSTlCmBlC4="),
        ("TrainJobResult", "gASVPwAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIwWVHJhaW5Kb2JSZXN1bHRQcm92aWRlcpSTlCmBlC4="),
        ("TrainJobs", "gASVOgAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIwRVHJhaW5Kb2JzUHJvdmlkZXKUk5QpgZQu"),
        ("TrainJobsResult", "gASVQAAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIwXVHJhaW5Kb2JzUmVzdWx0UHJvdmlkZXKUk5QpgZQu"),
        ("TrainingRuntime", "gASVQAAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIwXVHJhaW5pbmdSdW50aW1lUHJvdmlkZXKUk5QpgZQu"),
        ("ClusterTrainingRuntime", "gASVRwAAAAAAAACMHXRyYWluZXJfaW5mcmEuZGVwbG95LnByb3ZpZGVylIweQ2x1c3RlclRyYWluaW5nUnVudGltZVByb3ZpZGVylJOUKYGULg=="),
    ],
)  # fmt: skip
def test_the_state_of_an_earlier_release_finds_its_provider(name: str, state: str) -> None:
    provider = pickle.loads(base64.b64decode(state))
    assert type(provider) is getattr(providers, f"{name}Provider")
    assert serialize_provider(provider) == state


def test_the_types_are_those_of_the_design() -> None:
    names = [kind._resource_type_name for kind in KINDS]  # noqa: SLF001  Pulumi keeps it there
    assert names == [
        "trainer:TrainJob",
        "trainer:Result",
        "trainer:TrainJobs",
        "trainer:Results",
        "trainer:Runtime",
        "trainer:ClusterRuntime",
        "trainer:DestroyGuard",
    ]
