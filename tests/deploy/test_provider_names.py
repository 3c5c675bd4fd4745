"""Names that are an API: the pickled provider, its module and the resource types."""

import base64

import pytest
from pulumi.dynamic.dynamic import serialize_provider

from trainer_infra.deploy.provider import TrainJobProvider, TrainJobResultProvider
from trainer_infra.deploy.resources import TrainJob, TrainJobResult


@pytest.mark.parametrize("provider", [TrainJobProvider, TrainJobResultProvider])
def test_a_provider_is_pickled_by_reference(provider: type) -> None:
    pickled = base64.b64decode(serialize_provider(provider()))
    assert b"trainer_infra.deploy.provider" in pickled
    assert provider.__name__.encode() in pickled
    assert len(pickled) < 100


def test_the_types_are_those_of_the_design() -> None:
    names = [kind._resource_type_name for kind in (TrainJob, TrainJobResult)]  # noqa: SLF001  Pulumi keeps it there
    assert names == ["dynamic/trainer:TrainJob", "dynamic/trainer:TrainJobResult"]
