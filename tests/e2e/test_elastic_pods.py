"""A training on two to four pods goes on when one is deleted, and from its checkpoint when it is the first one."""

from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.elastic_pods import train_with_deleted_pods
from tests.e2e.elastic_training import undisturbed


def test_a_deleted_pod_comes_back_to_the_others(
    cluster_stack: Stack, namespace: Namespace, tmp_path: Path
) -> None:
    found = train_with_deleted_pods(cluster_stack, namespace, tmp_path)
    assert found == pytest.approx(undisturbed(), rel=1e-3)
