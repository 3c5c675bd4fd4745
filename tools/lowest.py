"""Try the lower ends of the ranges in pyproject.toml: `python -m tools.lowest`.

For each set of extras that a user may install, a copy of the checkout in the cache gets a lock of
its own, in which what they ask for has the lowest version that they admit, and the tools of the
tests the newest. All then runs there as it does here: `.venv`, and the Pulumi CLI.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools import lock
from trainer_infra import home_folders


@dataclass(frozen=True, slots=True)
class Round:
    """What is installed, and the tests that can run with it."""

    name: str
    extras: tuple[str, ...]
    tests: tuple[str, ...]


ROUNDS: Final = (
    Round(
        "plain",
        (),
        (
            *("tests/api", "tests/catalog", "tests/lifecycle", "tests/local", "tests/migrate"),
            *("tests/progress", "tests/render", "tests/review", "tests/rules", "tests/trainers"),
            "--ignore=tests/review/test_live.py",  # reads from a cluster
            "--ignore=tests/trainers/kubeflow_sdk",  # needs the extra `sdk`
        ),
    ),
    Round(
        "pulumi",
        ("--extra", "platform"),  # has the extras `pulumi` and `kubernetes` in it
        (
            *("--ignore=tests/e2e", "--ignore=tests/cluster_tool"),
            "--ignore=tests/in_pod/initializers",  # have a round of their own
            # A real API server and the reference's own code are the same with any library of ours.
            *("--ignore=tests/apiserver", "--ignore=tests/parity"),
            *("--ignore=tests/tools/test_lock.py", "--ignore=tests/tools/test_wheel.py"),
            "--ignore=tests/tools/test_site.py",  # needs the extra `docs`
            # These need the extra `sdk`.
            *("--ignore=tests/trainers/kubeflow_sdk", "--ignore=tests/deploy/test_kubeflow_sdk.py"),
            "--ignore=tests/cli/test_imports.py",  # start-up time is that of the newest
        ),
    ),
    Round("initializers", ("--extra", "initializers"), ("-m", "not soak", "tests/in_pod")),
)
WARNINGS: Final = ("-W", "default::DeprecationWarning")
"""An old library may use what a newer one under it means to drop; users are not shown that."""


def main() -> None:
    """Run every round; the exit code is that of the first step that failed."""
    for each in ROUNDS:
        checkout = home_folders.cache_home() / "lowest" / each.name
        print(f"lowest: {each.name}, in {checkout}", flush=True)
        _copy(checkout)
        code = _set_up(checkout, each) or _pytest(checkout, each)
        if code:
            sys.exit(code)


def _set_up(checkout: Path, wanted: Round) -> int:
    lowest = ("--resolution", "lowest-direct")
    tools = ("--extra", "test", "--constraint", "lowest.txt", "--generate-hashes")
    return (
        lock.resolve(checkout, "lowest.txt", *wanted.extras, *lowest)
        or lock.resolve(checkout, "requirements.lock", *wanted.extras, *tools)
        or subprocess.run([sys.executable, "tools/setup.py"], cwd=checkout, check=False).returncode
    )


def _pytest(checkout: Path, wanted: Round) -> int:
    command = (".venv/bin/pytest", "-n", "2", *WARNINGS, *wanted.tests)
    return subprocess.run(command, cwd=checkout, check=False).returncode


def _copy(checkout: Path) -> None:
    """Make the copy what git knows of this checkout, and keep its `.venv`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=lock.ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    checkout.mkdir(parents=True, exist_ok=True)
    for each in checkout.iterdir():
        if each.name != ".venv":
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    for name in filter(None, listed.stdout.split("\0")):
        if (lock.ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(lock.ROOT / name, checkout / name)


if __name__ == "__main__":
    main()
