"""What the tests on a real cluster share: the cluster, a namespace of one's own, and stacks on it."""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.deploy.project import Stack, processes_of
from tests.e2e.cluster import Namespace
from tests.e2e.control_plane import ControlPlanes
from tools.cluster import base_image, kubectl, up


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """The cluster in KUBECONFIG, else the one that `make cluster` makes."""
    return up.ensure()


@pytest.fixture(scope="session")
def image(kubeconfig: Path) -> str:
    """Name of an image with Python; `kubeconfig` is there for the order."""
    assert kubeconfig.exists()
    return base_image.loaded()


@pytest.fixture(scope="session")
def control_planes(kubeconfig: Path) -> Iterator[ControlPlanes]:
    """What has a control plane of Trainer when a test asks for one; none stays behind."""
    made = ControlPlanes(kubeconfig)
    yield made
    made.remove()


@pytest.fixture
def namespace(kubeconfig: Path) -> Iterator[Namespace]:
    """A namespace for one test, deleted afterwards with all that is in it."""
    made = Namespace(f"e2e-{secrets.token_hex(4)}", kubeconfig, kubectl.program())
    made.kubectl("create", "namespace", made.name)
    yield made
    made.kubectl("delete", "namespace", made.name, "--wait=false")


@pytest.fixture
def new_stack(
    tmp_path: Path, pulumi_env: dict[str, str], namespace: Namespace, image: str
) -> Iterator[Callable[[str], Stack]]:
    """Makes a Pulumi project whose runs go to the namespace, with a stack named `test`.

    It takes the folder's name, and may take the project's where that is another, and variables.
    """

    def make(name: str, project: str = "", env: Mapping[str, str] | None = None) -> Stack:
        folder = tmp_path / name
        folder.mkdir()
        # `gc` finds runs by project and stack, whoever's they are: tests run side by side.
        named = f"name: {project or name}-{namespace.name}\nruntime: python\n"
        (folder / "Pulumi.yaml").write_text(named)
        stack = Stack(folder, {**pulumi_env, **(env or {})})
        stack.run("stack", "init")
        place = {"target": "kubernetes", "kubeconfig": str(namespace.kubeconfig)}
        for key, value in place.items():
            stack.run("config", "set", f"trainer:{key}", value)
        (folder / "place.json").write_text(json.dumps({"ns": namespace.name, "image": image}))
        return stack

    yield make
    for process in processes_of(tmp_path):
        process.kill()


@pytest.fixture
def cluster_stack(new_stack: Callable[[str], Stack]) -> Stack:
    """One such project."""
    return new_stack("project")
