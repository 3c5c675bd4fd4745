"""The published SDK against Trainer's control plane on the cluster: ours, in `make soak` Kubeflow's too."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.control_plane import IMAGES, ControlPlanes
from tests.e2e.sdk.defects import DEFECTS, Expectation
from tests.e2e.sdk.namespaced_runtimes import namespaced_runtimes
from tests.e2e.sdk.started_jobs import JOBS
from tests.e2e.sdk.user import Sdk, User, signed_in
from tests.soak_sample import sampled


@pytest.fixture(scope="session")
def sdk() -> Iterator[Sdk]:
    """The SDK."""
    made = Sdk()
    yield made
    made.close()


@pytest.fixture(scope="session", params=sampled(IMAGES, every=2))
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
def expectation(request: pytest.FixtureRequest, implementation: str) -> Expectation:
    """What the test expects of the implementation, unless DEFECTS says that it does not hold."""
    return Expectation(DEFECTS[implementation].get(request.function.__name__, ""))
