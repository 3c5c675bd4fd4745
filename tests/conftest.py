"""What tests of several rooms share: an environment for the real Pulumi CLI."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.deploy.project import Stack, processes_of, pulumi_home

# A loaded machine is no failure: how long something takes is measured by `make bench`. Examples are
# the same each time, so that a change alone decides whether it lands; `make soak` looks for new ones.
HOUSE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("house", HOUSE)
settings.register_profile("search", HOUSE, derandomize=False, print_blob=True)
settings.load_profile("house")

# Started in the background of a shell, this process ignores SIGINT, and so would all it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def pulumi_env(tmp_path: Path) -> dict[str, str]:
    """Everything the CLI writes goes into tmp_path; the CLI of `.venv` comes first, then PATH's."""
    search = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    assert shutil.which("pulumi", path=search), "no Pulumi CLI: run `make setup`"
    backend = tmp_path / "backend"
    backend.mkdir()
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")},
        "PATH": search,
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_HOME": str(pulumi_home(tmp_path)),
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "TRAINER_INFRA_HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def stack(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[Stack]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: project\nruntime: python\n")
    made = Stack(folder, pulumi_env)
    made.run("stack", "init")
    made.run("config", "set", "trainer:target", "local")
    yield made
    for process in processes_of(tmp_path):
        process.kill()
