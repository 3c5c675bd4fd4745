"""A training whose node is drained goes on where it was, on a cluster of its own: nothing else may start meanwhile."""

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.survivor import drain, train_disturbed


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.soak)])
def test_it_is_complete_with_what_an_undisturbed_one_has(
    cluster_stack: Stack, namespace: Namespace, times: int
) -> None:
    train_disturbed(cluster_stack, namespace, drain, times)
