"""The same with engine `controller`: a training on two to four pods goes on when one is deleted."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.elastic_pods import train_with_deleted_pods
from tests.e2e.elastic_training import undisturbed


def test_a_deleted_pod_comes_back_to_the_others(
    controller_stack: Callable[..., Stack], namespace: Namespace, tmp_path: Path
) -> None:
    found = train_with_deleted_pods(controller_stack(), namespace, tmp_path)
    assert found == pytest.approx(undisturbed(), rel=1e-3)
