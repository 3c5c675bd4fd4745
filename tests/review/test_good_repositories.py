"""Repositories as good teams have them, on other clouds, devices, queues and layouts: nothing false is found."""

from pathlib import Path

import pytest

from tests.review import checked, repositories
from tests.review.repositories import Repository
from trainer_infra.review import sources
from trainer_infra.rules.finding import Severity

ALL = tuple(repositories.repositories())
BUILT = ("kustomization.yaml", "Chart.yaml")


def is_built(repository: Repository) -> bool:
    return any(path.endswith(BUILT) for path in repository.files)


def judge(repository: Repository, folder: Path) -> None:
    """Everything is read, and only what is right is found."""
    repository.write(folder)
    found = sources.read_sources([str(folder)])
    report = checked.of(found.documents, problems=found.problems)
    assert report.problems == ()
    assert report.objects > 0
    graver = [
        each
        for each in report.items
        if each.excuse is None and each.severity.is_at_least(Severity.MEDIUM)
    ]
    assert [each.rule.id for each in graver if each.severity != Severity.MEDIUM] == []
    told = {(each.rule.id, each.path, each.what) for each in graver}
    assert {rule for rule, *_ in told} == repository.right, told


@pytest.mark.parametrize(
    "repository", [each for each in ALL if not is_built(each)], ids=lambda each: each.name
)
def test_nothing_false_is_found_in_files(repository: Repository, tmp_path: Path) -> None:
    judge(repository, tmp_path)


@pytest.mark.usefixtures("kubectl_on_path", "helm_on_path")
@pytest.mark.parametrize(
    "repository", [each for each in ALL if is_built(each)], ids=lambda each: each.name
)
def test_nothing_false_is_found_in_what_tools_build(repository: Repository, tmp_path: Path) -> None:
    judge(repository, tmp_path)


def test_there_are_sixty() -> None:
    assert len({each.name for each in ALL}) == len(ALL) >= 60
