"""What `make test CHANGED=1` chooses."""

from pathlib import Path

import pytest

from tools import changed_tests
from tools.changed_tests import reached_tests


def folders(*changed: str) -> set[str]:
    return {Path(each).parts[1] for each in reached_tests(changed)}


def test_a_leaf_reaches_its_own_tests_and_those_of_the_rooms_that_import_it() -> None:
    reached = folders("trainer_infra/review/sarif.py")
    assert {"review", "cli", "test_house.py"} <= reached
    assert reached & {"render", "lifecycle", "local", "platform", "kube"} == set()


def test_the_core_reaches_every_driver() -> None:
    drivers = {"cli", "cluster", "controller", "crossguard", "deploy", "local"}
    assert drivers <= folders("trainer_infra/lifecycle/deadline.py")


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        ("trainer_infra/deploy/operations/gate.py", "deploy"),
        ("trainer_infra/local/supervisor.py", "deploy"),
        ("trainer_infra/in_pod/frameworks/jax.py", "in_pod"),
    ],
)
def test_what_is_loaded_by_a_name_reaches_what_loads_it(changed: str, reached: str) -> None:
    assert reached in folders(changed)


def test_a_file_of_data_reaches_the_room_that_it_stands_in() -> None:
    assert {"rules", "crossguard"} <= folders("trainer_infra/rules/fixtures/gpu-memory.yaml")


def test_a_module_that_is_gone_reaches_its_room() -> None:
    assert "review" in folders("trainer_infra/review/none_any_more.py")


def test_a_helper_of_tests_reaches_the_tests_that_import_it() -> None:
    assert {"local", "deploy"} <= folders("tests/local/jobs.py")


def test_a_page_reaches_the_tests_of_the_pages() -> None:
    assert "docs" in folders("docs/kubernetes.md")
    assert "local" not in folders("README.md")


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py", "tools/setup.py"])
def test_what_no_import_shows_reaches_everything(changed: str) -> None:
    assert reached_tests([changed]) == ["tests"]


def test_no_folder_that_needs_a_cluster_is_chosen() -> None:
    reached = folders("trainer_infra/errors.py")
    assert reached & {*changed_tests.ON_CLUSTER} == set()
    assert len(reached) > 15
