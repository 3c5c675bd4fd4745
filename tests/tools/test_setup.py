import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.tools.conftest import ROOT

NEITHER = (
    "trainer-infra needs the Pulumi CLI and found neither `pulumi` nor `go` on PATH; "
    "install the Pulumi CLI, or install Go so that `make setup` can build it\n"
)
PIP_SETTINGS = "trainer_infra/local/pip_settings.py"
LOCK = (ROOT / "requirements.lock").read_text()
INSTALLS = {"setuptools", "uv"}
"""What of the lock tools/setup.py itself needs."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What tools/setup.py needs of a fresh clone."""
    folder = tmp_path / "checkout"
    for name in ("tools", "from_source/pulumi"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("LICENSE", "README.md", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, folder)
    (folder / "trainer_infra" / "local").mkdir(parents=True)
    shutil.copy(ROOT / PIP_SETTINGS, folder / PIP_SETTINGS)
    return folder


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """A PATH with a Python and nothing else, and an empty cache."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python3").symlink_to(os.path.realpath(sys.executable))
    return {"PATH": str(folder), "TRAINER_INFRA_CACHE": str(tmp_path / "cache")}


def start(checkout: Path, env: dict[str, str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        ["python3", "tools/setup.py"],
        executable=shutil.which("python3", path=env["PATH"]),
        cwd=checkout,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(env: dict[str, str], script: str) -> None:
    """A `go` that does what a test needs of one."""
    path = Path(env["PATH"], "go")
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_pulumi_and_go_both_remedies_are_one_sentence_and_nothing_is_made(
    checkout: Path, env: dict[str, str]
) -> None:
    process = start(checkout, env)
    assert process.communicate(timeout=600) == ("", NEITHER)
    assert process.returncode == 1
    assert not (checkout / ".venv").exists()


def test_a_failing_build_shows_the_end_of_its_log(checkout: Path, env: dict[str, str]) -> None:
    go(env, "echo go: no such module; exit 3")
    (Path(env["PATH"]) / "sh").symlink_to("/bin/sh")
    process = start(checkout, env)
    output, error = process.communicate(timeout=600)
    log = Path(env["TRAINER_INFRA_CACHE"], "setup-building-the-Pulumi.log")
    step = "building the Pulumi CLI v3.259.0 from Go modules (once, 4 to 7 minutes)"
    beside = "installing trainer-infra and its tools into .venv"
    assert output == f"setup: {step} ...\nsetup: {beside} ...\n"
    assert error == f"setup: {step} failed (exit code 3, log {log}):\ngo: no such module\n"
    assert process.returncode == 1


def test_an_interrupted_build_leaves_nothing_that_the_next_run_would_take_for_a_whole_one(
    checkout: Path, env: dict[str, str]
) -> None:
    go(env, "exec /bin/sleep 600")
    (Path(env["PATH"]) / "sh").symlink_to("/bin/sh")
    process = start(checkout, env)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("setup: building")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=600)
    assert error == "setup was interrupted; run it again and it goes on\n"
    assert process.returncode == 1
    cache = Path(env["TRAINER_INFRA_CACHE"])
    assert [path.suffix for path in cache.glob("pulumi-*")] == [".partial"]
    go(env, "exit 3")
    start(checkout, env).communicate(timeout=600)
    assert [list(path.iterdir()) for path in cache.glob("pulumi-*")] == [[]]


def test_a_second_setup_waits_for_the_first(checkout: Path, env: dict[str, str]) -> None:
    cache = Path(env["TRAINER_INFRA_CACHE"])
    cache.mkdir()
    with (cache / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start(checkout, env)
        assert process.stdout is not None
        assert process.stdout.readline() == "setup: waiting for another setup to finish ...\n"
        time.sleep(0.2)
        assert process.poll() is None
    assert process.communicate(timeout=600)[1] == NEITHER


def cut_lock(checkout: Path, *names: str) -> None:
    """Leave in the lock what installs the package, and these."""
    path = checkout / "requirements.lock"
    entries = re.findall(r"^([\w-]+)(==.*\n(?:    --hash.*\n)+)", LOCK, re.MULTILINE)
    path.write_text("".join(name + rest for name, rest in entries if name in {*INSTALLS, *names}))


def installed(checkout: Path) -> set[str]:
    command = [".venv/bin/python", "-m", "pip", "list", "--format", "json"]
    done = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
    return {each["name"] for each in json.loads(done.stdout)} - {"pip", "trainer-infra", *INSTALLS}


@pytest.fixture
def online(env: dict[str, str]) -> dict[str, str]:
    """All of this environment, with a Pulumi CLI."""
    Path(env["PATH"], "pulumi").symlink_to("/bin/true")
    return {**os.environ, **env, "PATH": f"{env['PATH']}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.soak
def test_an_older_venv_becomes_what_a_renewed_lock_names(
    checkout: Path, online: dict[str, str]
) -> None:
    for names in ({"iniconfig", "pluggy"}, {"iniconfig", "sortedcontainers"}):
        cut_lock(checkout, *names)
        if (python := checkout / ".venv" / "bin" / "python3").is_symlink():
            python.unlink()
            python.symlink_to("/bin/false")  # another Python, of an earlier day
        process = start(checkout, online)
        assert process.communicate()[1] == ""
        assert installed(checkout) == names
        again = start(checkout, online)
        assert again.communicate() == ("", "")


@pytest.mark.soak
def test_a_file_that_is_not_the_locked_one_is_refused_and_asked_for_again(
    checkout: Path, online: dict[str, str]
) -> None:
    path = checkout / "requirements.lock"
    cut_lock(checkout)
    start(checkout, online).communicate()
    cut_lock(checkout, "iniconfig")
    path.write_text(re.sub(r"sha256:\w{64}", f"sha256:{'0' * 64}", path.read_text()))
    process = start(checkout, online)
    assert "Hash mismatch for `iniconfig==" in process.communicate()[1]
    assert process.returncode == 1

    cut_lock(checkout)
    output, _ = start(checkout, online).communicate()
    assert output.startswith("setup: installing"), "nobody knows what the other lock left"


def test_a_setup_that_has_nothing_to_do_is_silent() -> None:
    command = [sys.executable, "tools/setup.py"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
