"""A training that saves goes on where it was when Kueue has taken its quota for a more urgent one."""

import pytest

from tests.deploy.project import Stack
from tests.e2e.disruptive.queues import Queues
from tests.e2e.disruptive.test_kueue import queues
from tests.e2e.survivor import Preemption, train_disturbed

__all__ = ("queues",)


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.soak)])
def test_preempted_it_is_complete_with_what_an_undisturbed_one_has(
    cluster_stack: Stack, queues: Queues, times: int
) -> None:
    train_disturbed(cluster_stack, queues.namespace, Preemption(queues), times)
