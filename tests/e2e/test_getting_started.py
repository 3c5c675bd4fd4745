"""docs/getting-started.md word for word, with its section on a cluster; nothing of it is left out.

tests/docs follows the other sections, where there is no cluster.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster import published_image
from tests.deploy.project import Stack, processes_of
from tests.docs import page, walk
from tests.docs.page import ROOT

PAGE = ROOT / "docs" / "getting-started.md"


@pytest.fixture
def reader(tmp_path: Path, pulumi_env: dict[str, str], kubeconfig: Path) -> Iterator[walk.Walk]:
    """Who is in a checkout, with that cluster in their kubeconfig."""
    published_image.loaded("plain-distributed")
    env = walk.environment({**pulumi_env, "KUBECONFIG": str(kubeconfig)}, tmp_path / "reader")
    with walk.walking(ROOT, env) as made:
        yield made
        if (made.folder / "Pulumi.yaml").exists():
            remove(Stack(made.folder, {**pulumi_env, "KUBECONFIG": str(kubeconfig)}, "cluster"))
    for process in processes_of(tmp_path):
        process.kill()


def remove(stack: Stack) -> None:
    """What a page that failed half way left: another reader's runs have the same names."""
    if stack.name in stack.pulumi("stack", "ls"):
        stack.run("destroy", "--yes")


def test_the_page_leads_from_an_empty_folder_to_a_cluster_and_leaves_nothing(
    reader: walk.Walk,
) -> None:
    reader.follow(page.blocks(PAGE))
    assert reader.folder.name == "english"
