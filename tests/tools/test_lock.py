"""requirements.lock: what every checkout and CI install."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.tools.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
MACHINES = {
    "x86_64-unknown-linux-gnu": ("linux", "x86_64"),
    "aarch64-unknown-linux-gnu": ("linux", "aarch64"),
    "x86_64-apple-darwin": ("darwin", "x86_64"),
    "aarch64-apple-darwin": ("darwin", "arm64"),
}
RENEW = "run `make lock PACKAGE={name}` and commit requirements.lock"


def locked() -> list[Requirement]:
    lines = [line for line in LOCK.splitlines() if line[:1].isalnum()]
    return [Requirement(line.removesuffix("\\")) for line in lines]


def asked_for() -> Iterator[Requirement]:
    """What pyproject.toml names: the package, its extras, and what builds it."""
    project = PROJECT["project"]
    named = [project["dependencies"], *project["optional-dependencies"].values()]
    for text in [*PROJECT["build-system"]["requires"], *(each for some in named for each in some)]:
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) != project["name"]:
            yield requirement


def environment(python: str, machine: str) -> dict[str, str]:
    """What markers ask of a machine, where it differs from this one."""
    system, processor = MACHINES[machine]
    version = {"python_version": python, "python_full_version": f"{python}.9"}
    return {"sys_platform": system, "platform_machine": processor, **version}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lock_has_what_pyproject_asks_for_once_on_every_machine(
    python: str, machine: str
) -> None:
    chosen: dict[str, str] = {}
    for each in locked():
        if each.marker is None or each.marker.evaluate(environment(python, machine)):
            assert each.name not in chosen, "one version for a machine"
            chosen[canonicalize_name(each.name)] = str(each.specifier).removeprefix("==")
    for requirement in asked_for():
        name = canonicalize_name(requirement.name)
        assert name in chosen, RENEW.format(name=name)
        assert requirement.specifier.contains(chosen[name]), RENEW.format(name=name)


def test_the_machines_and_pythons_are_those_that_pyproject_and_setup_name() -> None:
    uv = PROJECT["tool"]["uv"]
    required = [Marker(text) for text in uv["required-environments"]]
    covered = [Marker(text) for text in uv["environments"]]
    for machine in MACHINES:
        for python in [*PYTHONS, "3.15"]:
            here = environment(python, machine)
            assert sum(marker.evaluate(here) for marker in required) == 1
            assert sum(marker.evaluate(here) for marker in covered) == (python != "3.15")
    assert "(3, 11) <= sys.version_info < (3, 15)" in (ROOT / "tools" / "setup.py").read_text()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    "python",
    # What has wheels for the first and the last one nearly always has them for those between.
    [
        PYTHONS[0],
        *(pytest.param(each, marks=pytest.mark.verify) for each in PYTHONS[1:-1]),
        PYTHONS[-1],
    ],
)
def test_every_package_of_the_lock_has_a_wheel(python: str, machine: str, tmp_path: Path) -> None:
    """So nothing is built, and nothing that builds is fetched."""
    command = (
        *(Path(sys.executable).parent / "uv", "pip", "install", "--dry-run", "--no-deps"),
        *("--require-hashes", "--only-binary", ":all:", "--target", tmp_path / "target"),
        *("--python-version", python, "--python-platform", machine),
        *("-r", ROOT / "requirements.lock"),
    )
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_requirement_of_the_installed_packages_is_met() -> None:
    """So the lock is whole: it is installed without asking what packages depend on."""
    command = (sys.executable, "-m", "pip", "check")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "No broken requirements found.\n"), done.stderr
