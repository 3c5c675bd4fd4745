"""What tests of several rooms share: an environment for the real Pulumi CLI, and a cluster's programs."""

import gc
import os
import shutil
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import cluster_programs
from tests.cluster_programs import (
    api_server,
    helm_on_path,
    helm_program,
    kubectl_on_path,
    kubectl_program,
    own_api_server,
)
from tests.deploy.project import Stack, new_cli_stack, processes_of, pulumi_home
from tests.slowest_files import pytest_terminal_summary

__all__ = [
    "api_server",
    "helm_on_path",
    "helm_program",
    "kubectl_on_path",
    "kubectl_program",
    "own_api_server",
    "pytest_terminal_summary",
]

# A loaded machine is not a failure: how long something takes is measured by `make bench`. Examples are
# the same each time, so that a change alone decides whether it lands; `make soak` looks for new ones.
HOUSE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("house", HOUSE)
settings.register_profile("search", HOUSE, derandomize=False, print_blob=True)
settings.load_profile("house")

# Started in the background of a shell, this process ignores SIGINT, and so would all it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage: what is collected stays, and is looked through no more."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    cluster_programs.mark(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with cluster_programs.refused_without_mark(item):
        return (yield)


def pulumi_environment(folder: Path) -> dict[str, str]:
    """Everything the CLI writes goes into the folder; the CLI of `.venv` comes first, then PATH's."""
    search = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    assert shutil.which("pulumi", path=search), "no Pulumi CLI: run `make setup`"
    backend = folder / "backend"
    backend.mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        "PATH": search,
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_HOME": str(pulumi_home(folder)),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "TRAINER_INFRA_HOME": str(folder / "home"),
    }


@pytest.fixture
def pulumi_env(tmp_path: Path) -> dict[str, str]:
    return pulumi_environment(tmp_path)


@pytest.fixture(scope="session")
def new_stack_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, its stack and their backend as the CLI makes them, to be copied.

    Two commands for each of some hundred tests are minutes.
    """
    folder = tmp_path_factory.mktemp("new-stack")
    made = new_cli_stack(folder / "project", pulumi_environment(folder))
    made.run("config", "set", "trainer:target", "local")
    return folder


@pytest.fixture
def cli_stack(
    tmp_path: Path, pulumi_env: dict[str, str], new_stack_of_this_machine: Path
) -> Iterator[Stack]:
    """A stack on the real CLI: two seconds for each command."""
    for each in ("project", "backend"):
        shutil.copytree(new_stack_of_this_machine / each, tmp_path / each, dirs_exist_ok=True)
    yield Stack(tmp_path / "project", pulumi_env)
    for process in processes_of(tmp_path):
        process.kill()


@pytest.fixture
def stack(cli_stack: Stack) -> Stack:
    """A stack on what its room of the tests has chosen: here the real CLI."""
    return cli_stack
