"""The published SDK against each implementation of Trainer's control plane, on the cluster."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.control_plane import IMAGES, ControlPlanes
from tests.e2e.jobs import LONG
from tests.e2e.sdk.defects import DEFECTS
from tests.e2e.sdk.namespaced_runtimes import namespaced_runtimes
from tests.e2e.sdk.started_jobs import JOBS
from tests.e2e.sdk.user import Sdk, User, signed_in


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the defects that are written down, each of which fails its test once it is gone."""
    for item in items:
        if item.path.parent != Path(__file__).parent or not isinstance(item, pytest.Function):
            continue
        for implementation, defects in DEFECTS.items():
            reason = defects.get(item.originalname)
            if reason and f"[{implementation}]" in item.name:
                mark = pytest.mark.xfail(reason=reason, raises=AssertionError, strict=True)
                item.add_marker(mark)


@pytest.fixture(scope="session")
def sdk() -> Iterator[Sdk]:
    """The SDK."""
    made = Sdk()
    yield made
    made.close()


@pytest.fixture(scope="session", params=tuple(IMAGES))
def implementation(request: pytest.FixtureRequest, control_planes: ControlPlanes) -> str:
    """Name of the implementation that is there, with its status server."""
    name: str = request.param
    control_planes.use(implementation=name, status_server=True)
    return name


@pytest.fixture(scope="session")
def new_user(
    implementation: str, sdk: Sdk, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], User]]:
    """Makes a user, in whose namespace are the runtimes that tests name."""
    folder = tmp_path_factory.mktemp(implementation)
    with ExitStack() as namespaces:

        def make() -> User:
            user = namespaces.enter_context(signed_in(sdk, kubeconfig, folder))
            user.apply(*namespaced_runtimes())
            return user

        yield make


@pytest.fixture(scope="session")
def user(new_user: Callable[[], User], image: str) -> User:
    """A user who has started JOBS, all at once: most of a test's time is that of its pods."""
    made = new_user()
    for name, code in JOBS.items():
        assert made.run(code, image=image, name=name) == name
    return made


@pytest.fixture
def patience(request: pytest.FixtureRequest) -> float:
    """Seconds to wait for what never comes where a defect is written down."""
    return 10.0 if request.node.get_closest_marker("xfail") else LONG
