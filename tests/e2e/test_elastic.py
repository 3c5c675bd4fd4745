"""A training on two to four nodes goes on with those that there are, and counts every step once.

No cluster is needed: torch is, which `from_source.cluster.python` installs once.
"""

from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.e2e.elastic_training import ElasticTraining, begins, undisturbed
from tests.local.jobs import eventually


def test_it_starts_with_the_least_and_goes_on_with_more_and_fewer(
    stack: Stack, tmp_path: Path
) -> None:
    training = ElasticTraining(stack, tmp_path)
    training.keep_away(2, 3)
    training.up()
    assert training.trains_with(2) == 0
    eventually(lambda: "has done 50 " in training.logs())

    # Those that make room for others save first.
    training.give_back(2, 3)
    assert training.trains_with(4) >= 50

    training.keep_away(3)
    training.kill(3)
    assert training.trains_with(3) >= 50
    assert training.phase() == "Running"
    assert "2 to 4 nodes" in stack.trainer("describe", training.name)

    training.give_back(3)
    training.trains_with(4)

    # At the end nobody waits for a node that is away.
    training.keep_away(1)
    training.kill(1)
    training.trains_with(3)
    assert training.ends() == pytest.approx(undisturbed(), rel=1e-3)


@pytest.mark.soak
def test_all_start_again_when_the_node_is_lost_at_which_they_meet(
    stack: Stack, tmp_path: Path
) -> None:
    training = ElasticTraining(stack, tmp_path)
    training.up()
    training.trains_with(4)
    eventually(lambda: "has done 50 " in training.logs())
    training.kill(0)
    eventually(lambda: len(begins(training.logs())) > 1)
    assert begins(training.logs())[-1][0] >= 40
    assert training.ends() == pytest.approx(undisturbed(), rel=1e-3)


@pytest.mark.soak
def test_suspended_and_resumed_it_goes_on_where_it_was(stack: Stack, tmp_path: Path) -> None:
    training = ElasticTraining(stack, tmp_path)
    training.up()
    training.trains_with(4)
    eventually(lambda: "has done 50 " in training.logs())
    stack.trainer("suspend", training.name)
    eventually(lambda: training.phase() == "Suspended")
    training.keep_away(0)
    stack.trainer("resume", training.name)
    training.give_back(0)
    eventually(lambda: len(begins(training.logs())) > 1)
    assert begins(training.logs())[-1][0] >= 50
    assert training.ends() == pytest.approx(undisturbed(), rel=1e-3)


@pytest.mark.soak
def test_another_number_of_nodes_goes_on_from_the_checkpoint(stack: Stack, tmp_path: Path) -> None:
    training = ElasticTraining(stack, tmp_path, nodes=2)
    training.up()
    training.trains_with(2)
    eventually(lambda: "has done 50 " in training.logs())
    before, training.nodes = training.name, (2, 3)
    training.up()
    assert training.name == before
    assert training.trains_with(3) >= 50
    assert training.ends() == pytest.approx(undisturbed(), rel=1e-3)
