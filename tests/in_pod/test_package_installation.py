"""Packages go over what an image's Python has, by pip and by uv, and the job's command finds them."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.in_pod.conftest import Image, Mount, Mounted, other_python, plain_python
from tests.local.package_index import Package
from tests.soak_sample import sampled
from trainer_infra.in_pod.package_installation import InstallationError, Shell
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

Wanted = Callable[..., Mount]
SHOW = "import amber, basalt, sys; print(amber.VERSION, basalt.__file__, amber.__file__)"


@pytest.fixture(params=sampled(["plain-pip", "plain-uv", "nested-uv", "nested-ensurepip"], every=2))
def image(request: pytest.FixtureRequest) -> tuple[Image, str]:
    """An image with amber 1.0, and what it installs with."""
    kind, installer = request.param.split("-")
    made: Image = request.getfixturevalue(kind)
    if installer == "uv":
        request.getfixturevalue("uv")
        made = Image(made.python, made.programs, {**made.env, "TRAINER_INFRA_INSTALLER": "uv"})
    return made, {"uv": "uv", "pip": "pip", "ensurepip": "pip"}[installer]


def test_what_the_image_has_is_not_installed_again(
    image: tuple[Image, str], wanted: Wanted
) -> None:
    chosen, installer = image
    mount = wanted(["coral==1.0"])

    ended = mount.run(chosen, "python", "-c", SHOW)

    assert ended.code == 0, ended.err
    version, basalt, amber = ended.out.split()
    (folder,) = mount.environments()
    assert (version, Path(basalt).is_relative_to(folder)) == ("1.0", True)
    assert not Path(amber).is_relative_to(folder)
    assert [each.stem for each in folder.rglob("*.dist-info") if "amber" in each.name] == []
    assert ended.ours() == [f"installing coral==1.0 with {installer}", "installed coral==1.0"]
    assert not (folder / "tmp").exists()


def test_another_version_goes_before_that_of_the_image_for_its_programs_too(
    image: tuple[Image, str], wanted: Wanted
) -> None:
    chosen, _ = image
    program = chosen.program("imagerun", SHOW)
    mount = wanted(["amber==2.0", "basalt==1.0"])
    for command in (["python", "-c", SHOW], [program]):
        ended = mount.run(chosen, *command)
        assert ended.code == 0, ended.err
        version, *files = ended.out.split()
        (folder,) = mount.environments()
        assert version == "2.0"
        assert all(Path(each).is_relative_to(folder) for each in files)
    still = mount.run(chosen, str(chosen.python), "-I", "-c", "import sys; print(sys.prefix)")
    assert not Path(still.out.strip()).is_relative_to(mount.cache)


@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_other_pythons_of_images(version: str, programs: Path, wanted: Wanted) -> None:
    chosen = Image(other_python(version), programs)
    ended = wanted(["coral==1.0"]).run(chosen, "python", "-c", f"{SHOW}; print(sys.version)")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[1].startswith(f"{version}.")


def test_the_command_replaces_the_step_and_has_the_images_variables(
    quick: Image, wanted: Wanted
) -> None:
    mount = wanted(["basalt==1.0"])
    said = "import os, sys; print(os.getpid(), os.environ['VIRTUAL_ENV'], sys.argv, os.umask(0))"
    with mount.start(quick, "python", "-c", said, "a b", "--c") as process:
        out, _ = process.communicate()
    (folder,) = mount.environments()
    assert out == f"{process.pid} {folder} ['-c', 'a b', '--c'] {0o22}\n"
    assert mount.run(quick, "sh", "-c", "exit 42").code == 42
    ignored = mount.run(quick, "sh", "-c", "grep SigIgn /proc/self/status")
    assert int(ignored.out.split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_a_lock_is_installed_exactly_as_it_is_and_hashes_are_checked(
    image: tuple[Image, str], wanted: Wanted, tmp_path: Path
) -> None:
    chosen, installer = image
    lock, digest = tmp_path / "requirements.lock", Package("basalt", needs=("amber>=1",)).sha256()
    lock.write_text(f"basalt==1.0 --hash=sha256:{digest}\n")
    ended = wanted(lock).run(chosen, "python", "-c", SHOW)
    assert ended.code == 0, ended.err
    assert ended.ours()[0] == f"installing basalt==1.0 with {installer}"

    lock.write_text(f"coral==1.0 --hash=sha256:{digest}\n")
    ended = wanted(lock).run(chosen, "python", "-c", SHOW)
    said = ended.ours()[-1].lower()
    assert ended.code == 1
    assert f"the packages coral==1.0 cannot be installed: {installer} ended with exit code" in said
    assert "hash" in said

    coral = Package("coral", needs=("basalt", "amber")).sha256()
    lock.write_text(f"coral==1.0 --hash=sha256:{coral}\n")
    ended = wanted(lock).run(chosen, "python", "-c", "import coral, amber; import basalt")
    assert (ended.code, ended.err.splitlines()[-1]) == (
        1,
        "ModuleNotFoundError: No module named 'basalt'",
    )


def test_what_the_installer_said_ends_the_pod_and_nothing_is_left(
    image: tuple[Image, str], wanted: Wanted, tmp_path: Path
) -> None:
    chosen, installer = image
    last_words = tmp_path / "termination-log"
    last_words.touch()
    mount = wanted(["amber==3.0", "basalt==1.0"])

    ended = mount.run(chosen, "python", "-c", "1", TRAINER_INFRA_REPORT=str(last_words))

    said = ended.ours()[-1]
    assert ended.code == 1
    assert f"packages amber==3.0, basalt==1.0 cannot be installed: {installer} ended with" in said
    assert "amber==3.0" in said.partition("exit code")[2]
    assert said.endswith(
        "; correct packages=, or build the packages into the image and set image_has_packages=True on "
        "the CustomTrainer"
    )
    assert last_words.read_text() == f"trainer-infra: {said}"
    assert mount.environments() == []


@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.usefixtures("uv")
def test_an_index_that_cannot_be_reached_is_said_with_what_to_do(
    plain: Image, wanted: Wanted, installer: str
) -> None:
    mount = wanted(["zinc==1.0"], index="http://127.0.0.1:9/simple")
    variables = {"TRAINER_INFRA_INSTALLER": installer, "UV_HTTP_RETRIES": "0"}
    ended = mount.run(plain, "python", "-c", "1", **variables)
    assert ended.code == 1
    assert "no package index answers: " in ended.ours()[-1]
    assert "name an index that pods can reach in pip_index_urls=" in ended.ours()[-1]


def test_an_index_that_never_answers_does_not_hold_a_pod_for_ever(
    plain: Image, wanted: Wanted, silent: str
) -> None:
    mount = wanted(["zinc==1.0"], index=silent)
    ended = mount.run(plain, "python", "-c", "1", PIP_DEFAULT_TIMEOUT="1")
    assert (ended.code, "no package index answers: " in ended.ours()[-1]) == (1, True)


def test_an_installer_that_does_not_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINER_INFRA_PACKAGES_SECONDS", "0.5")
    shell = Shell(tmp_path, "zinc==1.0")
    said = (
        "packages zinc==1.0 cannot be installed: pip ended with exit code -9: it did not end within"
    )
    with pytest.raises(InstallationError, match=f"{said} 0.5 s; name an index that pods can reach"):
        shell.call("pip", "-c", "import time; time.sleep(600)", python=sys.executable)


def test_an_image_without_an_installer_is_said(programs: Path, wanted: Wanted) -> None:
    chosen = Image(plain_python(), programs, {"TRAINER_INFRA_INSTALLER": "uv", "PATH": "/none"})
    ended = wanted(["basalt==1.0"]).run(chosen, "python")
    (said,) = ended.ours()
    assert ended.code == 1
    assert said.startswith("the packages basalt==1.0 cannot be installed: the image has no uv; ")
    assert "train on an image that has pip, or build the packages into the image" in said


def test_a_program_that_is_not_there_is_named(quick: Image, wanted: Wanted) -> None:
    mount = wanted(["basalt==1.0"])
    ended = mount.run(quick, "torchrun", "main.py")
    assert ended.code == 1
    assert 'exec: "torchrun": executable file not found in $PATH' in ended.ours()[-1]
    quick.programs.joinpath("torchrun").touch()
    ended = mount.run(quick, "torchrun", "main.py")
    assert (ended.code, ended.ours()[-1]) == (1, 'exec: "torchrun": Permission denied')


def test_settings_that_send_packages_elsewhere_do_not_count_and_an_index_of_the_image_does(
    programs: Path, tmp_path: Path, wheels: Path, mounted: Mounted
) -> None:
    (programs / ".config" / "pip").mkdir(parents=True)
    settings = f"[global]\nno-index = true\nfind-links = {wheels}\nuser = true\n"
    (programs / ".config" / "pip" / "pip.conf").write_text(settings)
    chosen = Image(plain_python(), programs, {"PIP_TARGET": str(tmp_path / "elsewhere")})
    (tmp_path / "train.py").write_text("print('trained')\n")
    mount = mounted(CustomTrainer(str(tmp_path / "train.py"), packages=["coral==1.0"]))
    ended = mount.run(chosen, "python", "-c", SHOW)
    assert ended.code == 0, ended.err
    assert not (tmp_path / "elsewhere").exists()
