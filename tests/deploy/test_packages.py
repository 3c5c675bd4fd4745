"""Packages of a job in a Pulumi program: a lock file, wheels of a folder or a claim, and what they change."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.local.package_index import Package, wheel_folder
from tests.soak_sample import sampled

PROGRAM = """
def show():
    import amber
    print("amber", amber.VERSION, flush=True)

TrainJob("job", runtime="plain-distributed", wait_for="complete",
         trainer=CustomTrainer(show, {arguments}))
"""
AMBER = (Package("amber", version="1.0"), Package("amber", version="2.0"))


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    return wheel_folder(tmp_path / "wheels", AMBER)


def program(stack: Stack, **arguments: object) -> None:
    given = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    stack.program(PROGRAM.format(arguments=given))


def locked(stack: Stack, package: Package) -> str:
    text = f"amber=={package.version} \\\n    --hash=sha256:{package.sha256()}\n"
    (stack.folder / "requirements.lock").write_text(text)
    return "requirements.lock"


def last_lines(stack: Stack) -> str:
    (run,) = stack.runs()
    return stack.trainer("logs", run["name"])


@pytest.mark.parametrize("installer", sampled(["pip", "uv"], every=2))
def test_a_changed_lock_is_another_run_and_a_comment_in_it_is_not(
    stack: Stack, wheels: Path, installer: str
) -> None:
    stack = replace(stack, env={**stack.env, "TRAINER_INFRA_INSTALLER": installer})
    program(stack, packages=locked(stack, AMBER[0]), wheel_house=str(wheels))
    stack.up()
    assert "amber 1.0" in last_lines(stack)

    lock = stack.folder / "requirements.lock"
    lock.write_text(f"# a comment\n{lock.read_text()}")
    program(stack, packages="requirements.lock", wheel_house=str(wheels), packages_at="/cache")
    stack.unchanged()

    locked(stack, AMBER[1])
    assert "replace" in stack.preview()
    stack.up()
    assert "amber 2.0" in last_lines(stack)


def test_what_images_have_is_installed_on_this_machine_from_wheels_in_the_folder_of_a_claim(
    stack: Stack, wheels: Path
) -> None:
    home = Path(stack.env["TRAINER_INFRA_HOME"])
    claim = home / "volumes" / "default" / "house"
    claim.mkdir(parents=True)
    wheels.rename(claim / "linux")
    program(
        stack,
        packages=["amber==1.0"],
        wheel_house="pvc://house/linux",
        image_has_packages=True,
    )
    stack.up()
    assert "amber 1.0" in last_lines(stack)
    stack.unchanged()


def test_what_is_wrong_with_a_lock_is_said_at_preview_with_its_line(stack: Stack) -> None:
    (stack.folder / "requirements.lock").write_text("six==1.17.0\namber\n")
    program(stack, packages="requirements.lock")
    shown = stack.preview(ok=False)
    said = (
        "TrainJob job: requirements.lock:2: packages: has no exact version, so the same job could"
    )
    assert said in shown
    assert "make the file with `trainer-infra lock`" in shown
