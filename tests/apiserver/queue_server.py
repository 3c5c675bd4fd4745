"""A second API server for the tests of a folder, with kinds that a cluster need not have."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.crds import JSON
from tests.apiserver.kueue_crds import kueue_crds
from tests.apiserver.pool_crds import pool_crds
from tests.cluster_programs import NewServer, put_on_path
from tests.platform.release_definitions import release_definitions
from trainer_infra.json_values import JSONObject


@pytest.fixture(scope="session")
def queue_server(own_api_server: NewServer, queue_kinds: Sequence[JSON]) -> Iterator[RunningServer]:
    """A server that also has the kinds of Kueue, of Volcano's queues and of machine pools.

    What is told of a cluster without Kueue is told of `api_server`.
    """
    with own_api_server(queue_kinds) as found:
        yield found


@pytest.fixture(scope="session")
def queue_kinds(kueue_definitions: Sequence[JSONObject]) -> Sequence[JSON]:
    """The CRDs that the second server has besides those of the first."""
    return (*kueue_crds(kueue_definitions), *pool_crds())


@pytest.fixture(scope="session")
def kueue_definitions(kubectl_program: Path) -> Sequence[JSONObject]:
    """The CustomResourceDefinitions of Kueue's release."""
    with pytest.MonkeyPatch.context() as patch:
        put_on_path(patch, kubectl_program)
        return release_definitions("Kueue")
