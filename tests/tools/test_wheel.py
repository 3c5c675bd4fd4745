"""What a user installs: the wheel in an environment of its own, used outside of the checkout."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.tools.conftest import ROOT, Project

TRAIN = """
def train(words):
    from trainer_infra.report import report
    counts = {}
    for word in words.split():
        counts[word] = counts.get(word, 0) + 1
    report(progress=100, distinct=len(counts))
"""
PROGRAM = f"""
import pulumi
from trainer_infra import CustomTrainer, TrainJob
{TRAIN}
trainer = CustomTrainer(train, func_args={{"words": "a rose is a rose"}})
job = TrainJob("count", runtime="plain-distributed", trainer=trainer, wait_for="complete")
pulumi.export("distinct", job.metrics["distinct"])
"""
FLUX = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: lammps}
spec:
  runtimeRef: {name: flux-distributed}
  trainer: {command: [lmp]}
"""
MISSPELT = FLUX.replace("runtimeRef", "runtimeReference")


def run(*command: str | Path, folder: Path, env: Mapping[str, str], code: int = 0) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what is in the repository, without what an earlier build left in `build`."""
    source = tmp_path_factory.mktemp("source")
    shutil.copytree(
        ROOT / "trainer_infra",
        source / "trainer_infra",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation")
    run(*pip, "--wheel-dir", source / "dist", source, folder=source, env=os.environ)
    (made,) = (source / "dist").iterdir()
    return made


def environment(folder: Path, requirement: str) -> Path:
    """A virtual environment of the wheel and what it needs, in the versions of the lock."""
    command = (sys.executable, "-m", "venv", "--without-pip", folder)
    run(*command, folder=folder.parent, env=os.environ)
    lock = ("--constraint", ROOT / "requirements.lock", "--only-binary", ":all:")
    uv = (Path(sys.executable).parent / "uv", "pip", "install", "--python", folder / "bin/python")
    run(*uv, *lock, requirement, folder=folder.parent, env=os.environ)
    return folder


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of a user who needs neither Kubernetes nor Pulumi."""
    return environment(tmp_path_factory.mktemp("plain") / "env", f"trainer-infra @ file://{wheel}")


@pytest.fixture
def env(plain: Path, tmp_path: Path) -> dict[str, str]:
    """Nothing of the checkout is on PATH, in the folder or in a variable."""
    home = {"HOME": str(tmp_path), "TRAINER_INFRA_HOME": str(tmp_path / "home")}
    return {"PATH": f"{plain / 'bin'}{os.pathsep}{os.defpath}", **home}


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        (licence,) = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    package = ROOT / "trainer_infra"
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sorted(names) == sorted(path.relative_to(ROOT).as_posix() for path in files)


def test_the_command_works_without_the_checkout(
    wheel: Path, plain: Path, env: dict[str, str], tmp_path: Path
) -> None:
    def command(*arguments: str, code: int = 0) -> str:
        program = plain / "bin" / "trainer-infra"
        return run(program, *arguments, folder=tmp_path, env=env, code=code)

    assert "Judge TrainJobs" in command("--help")
    assert "jax-distributed" in command("catalog")
    (tmp_path / "job.yaml").write_text(FLUX)
    assert "flux start" in command("render", "-f", "job.yaml"), "the scripts of Flux"
    assert "kind: CustomResourceDefinition" in command("crds"), "the published schemas"
    assert "runtimeRef" in command("rules", "explain", "schema"), "the fixtures of rules"
    (tmp_path / "job.yaml").write_text(MISSPELT)
    assert "runtimeReference" in command("check", "job.yaml", code=1)

    missing = command("get", "--target", "kubernetes", code=1)
    assert missing.endswith(f"run `pip install 'trainer-infra[kubernetes] @ file://{wheel}'`\n")


def test_the_command_trains(plain: Path, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "count.py").write_text(TRAIN)
    job = ("count.py:train", "--runtime", "plain-distributed", "--arg", "words=a rose is a rose")
    program = plain / "bin" / "trainer-infra"
    assert "distinct=3" in run(program, "run", *job, folder=tmp_path, env=env)


def test_what_init_requires_installs_in_an_empty_environment(
    wheel: Path, tmp_path: Path, pulumi_env: Mapping[str, str]
) -> None:
    mine = environment(tmp_path / "mine", f"trainer-infra[pulumi] @ file://{wheel}")
    path = f"{mine / 'bin'}{os.pathsep}{pulumi_env['PATH']}"
    env = {**pulumi_env, "PATH": path, "PULUMI_CONFIG_PASSPHRASE": ""}
    run(mine / "bin" / "trainer-infra", "init", "project", folder=tmp_path, env=env)
    (required,) = (tmp_path / "project" / "requirements.txt").read_text().splitlines()
    colleague = environment(tmp_path / "colleague", required)
    assert "0." in run(
        colleague / "bin" / "trainer-infra", "--version", folder=tmp_path, env=os.environ
    )


def test_a_pulumi_program_of_an_empty_folder_trains(
    wheel: Path, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "venv").unlink()
    environment(tmp_path / "venv", f"trainer-infra[pulumi] @ file://{wheel}")
    project.program(PROGRAM)
    project.run("config", "set", "trainer:target", "local")
    project.run("up", "--yes", "--skip-preview")
    assert project.run("stack", "output", "distinct").strip() == "3"
    project.run("destroy", "--yes", "--skip-preview")
