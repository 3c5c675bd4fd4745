"""`trainer-infra init`: from an empty folder to a trained model, with the real Pulumi command."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.cli.command import Command
from tests.deploy.project import Stack, processes_of
from tests.soak_sample import sampled
from tests.warm_start import Done
from trainer_infra.in_pod import own_place

FILES = [
    ".gitignore",
    "Pulumi.dev.yaml",
    "Pulumi.yaml",
    "__main__.py",
    "requirements.txt",
    "train.py",
]


@pytest.fixture
def newcomer(tmp_path: Path, pulumi_env: dict[str, str]) -> Iterator[Command]:
    """The command of who has set no passphrase, in an empty folder."""
    env = {key: value for key, value in pulumi_env.items() if key != "PULUMI_CONFIG_PASSPHRASE"}
    folder = tmp_path / "My Digits"
    folder.mkdir()
    yield Command(folder, env)
    for process in processes_of(tmp_path):
        process.kill()


def shell(command: Command, script: str) -> Done:
    """Lines as they are typed into one shell."""
    done = subprocess.run(
        ["bash", "-ec", script],
        cwd=command.folder,
        env=command.env,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def steps(done: Done) -> str:
    """The commands that it names as the next ones."""
    assert done.code == 0, done.err
    return done.out.partition("next:\n")[2]


def stack_of(command: Command, folder: Path) -> Stack:
    return Stack(folder, {**command.env, "PULUMI_CONFIG_PASSPHRASE": ""}, "dev")


def tree(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir() if each.is_file()}


@pytest.mark.soak  # tests/docs/test_getting_started.py goes the same way, and on
def test_two_commands_lead_from_an_empty_folder_to_a_trained_model(newcomer: Command) -> None:
    then = steps(newcomer("init"))

    assert then.splitlines()[-1] == "  pulumi up"
    done = shell(newcomer, then.replace("pulumi up", "pulumi up --yes --non-interactive"))

    assert done.code == 0, done.out + done.err
    stack = stack_of(newcomer, newcomer.folder)
    outputs = stack.outputs()
    assert outputs["accuracy"] > 0.85
    assert outputs["run"].startswith("english-")
    assert [run["phase"] for run in stack.runs()] == ["Complete"]
    stack.unchanged()
    stack.run("destroy", "--yes")
    assert stack.runs() == []


def test_the_program_has_at_most_fifteen_lines_and_its_files_stand_in_what_was_said(
    newcomer: Command,
) -> None:
    said = newcomer("init").out
    assert sorted(tree(newcomer.folder)) == FILES
    assert [each for each in (*FILES, ".venv") if each not in said] == []
    program = (newcomer.folder / "__main__.py").read_text()
    first = ast.parse(program).body[0]
    code = [line for line in program.splitlines()[first.end_lineno :] if line.strip()]
    assert len(code) <= 15


def test_a_folder_that_is_named_is_made_and_gives_the_project_its_name(newcomer: Command) -> None:
    then = steps(newcomer("init", "team/größe 7"))
    assert then.splitlines()[0] == "  cd 'team/größe 7'"
    folder = newcomer.folder / "team" / "größe 7"
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text())
    assert project["name"] == "gr-e-7"
    shown = shell(newcomer, then.replace("pulumi up", "pulumi preview --non-interactive"))
    assert "english-" in shown.out, shown.err


def test_a_name_that_is_given_is_the_projects(newcomer: Command) -> None:
    newcomer("init", "here", "--name", "vision")
    assert "name: vision\n" in (newcomer.folder / "here" / "Pulumi.yaml").read_text()


@pytest.mark.parametrize("folder", ["2026", "no", "1e3", "v1.2", "-x-"])
def test_a_folders_name_is_text_whatever_it_reads_like(newcomer: Command, folder: str) -> None:
    assert newcomer("init", f"./{folder}").code == 0
    project = yaml.safe_load((newcomer.folder / folder / "Pulumi.yaml").read_text())
    assert project["name"] == folder.strip("-")


def test_a_name_that_pulumi_refuses_leaves_nothing(newcomer: Command) -> None:
    done = newcomer("init", "here", "--name", "a: b")
    assert done.code == 1
    assert "nothing was written: " in done.err
    assert list(newcomer.folder.iterdir()) == []


@pytest.mark.parametrize("file", ["Pulumi.yaml", "Pulumi.yml", "__main__.py", "train.py"])
def test_a_folder_with_a_project_or_a_program_is_refused_and_stays_as_it_was(
    newcomer: Command, file: str
) -> None:
    newcomer.write(file, "mine")
    done = newcomer("init")
    assert (done.code, done.out) == (1, "")
    assert f"has {file} already, and nothing was written" in done.err
    assert ("pulumi stack init dev" in done.err) == file.startswith("Pulumi")
    assert tree(newcomer.folder) == {file: "mine"}


def test_a_file_is_no_place_for_a_project(newcomer: Command) -> None:
    newcomer.write("notes", "mine")
    for place in ("notes", "notes/below"):
        done = newcomer("init", place)
        assert done.code == 1
        assert "Traceback" not in done.err
    assert tree(newcomer.folder) == {"notes": "mine"}


def test_a_stack_that_pulumi_does_not_make_leaves_nothing(newcomer: Command) -> None:
    newcomer("init", "first", "--name", "same")
    done = newcomer("init", "deep/second", "--name", "same")
    assert (done.code, done.out) == (1, "")
    assert "nothing was written: stack 'organization/same/dev' already exists" in done.err
    assert "name the project otherwise: --name NAME" in done.err
    assert [each.name for each in newcomer.folder.iterdir()] == ["first"]


def test_a_passphrase_of_the_users_own_is_taken_and_not_asked_for(newcomer: Command) -> None:
    own = Command(newcomer.folder, {**newcomer.env, "PULUMI_CONFIG_PASSPHRASE": "mine"})
    assert steps(own("init")) == "  pulumi up\n"
    assert "passphrase" not in (own.folder / "Pulumi.dev.yaml").read_text()
    shown = stack_of(newcomer, own.folder).preview(ok=False)
    assert "incorrect passphrase" in shown
    mine = Stack(own.folder, own.env, "dev")
    assert "english-" in mine.preview()


def test_an_empty_passphrase_is_said_in_the_file_that_it_protects(newcomer: Command) -> None:
    newcomer("init", "unset")
    told = Command(newcomer.folder, {**newcomer.env, "PULUMI_CONFIG_PASSPHRASE": ""})
    told("init", "set")
    for each in ("unset", "set"):
        text = (newcomer.folder / each / "Pulumi.dev.yaml").read_text()
        assert "The passphrase of this stack is empty" in text


def test_what_a_new_repository_has_is_added_to(newcomer: Command) -> None:
    newcomer.write(".gitignore", "*.pyc\n.venv/")
    newcomer.write("requirements.txt", "numpy==2.3.0\n")
    newcomer.write("README.md", "mine")
    newcomer("init")
    found = tree(newcomer.folder)
    assert found[".gitignore"] == "*.pyc\n.venv/\n.venv\n__pycache__/\n"
    first, own = found["requirements.txt"].splitlines()
    assert (first, own.startswith("trainer-infra[pulumi]")) == ("numpy==2.3.0", True)
    assert found["README.md"] == "mine"


def test_what_pip_took_from_a_repository_is_required_at_its_commit(
    newcomer: Command, tmp_path: Path
) -> None:
    # As pip records it; the first of a path is the one that counts.
    record = tmp_path / "site" / "trainer_infra-0.1.0.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text("Name: trainer-infra\nVersion: 0.1.0\n")
    origin = {
        "url": "https://git.example.com/platform/trainer_infra",
        "vcs_info": {"vcs": "git", "commit_id": "7fcac2a"},
    }
    (record / "direct_url.json").write_text(json.dumps(origin))
    env = {**newcomer.env, "PYTHONPATH": str(record.parent)}
    Command(newcomer.folder, env).start("init").communicate(timeout=600)
    assert (newcomer.folder / "requirements.txt").read_text() == (
        "trainer-infra[pulumi] @ git+https://git.example.com/platform/trainer_infra@7fcac2a\n"
    )


def test_a_place_for_colleagues_is_what_the_project_requires(newcomer: Command) -> None:
    checkout = newcomer("init", "mine")
    (own,) = (newcomer.folder / "mine" / "requirements.txt").read_text().splitlines()
    assert own == own_place.requirement("pulumi")
    assert f"it has {own.partition('@ ')[2]}, of this machine: write the URL" in checkout.out
    place = "git+https://git.example.com/platform/trainer_infra@v1"
    team = newcomer("init", "team", "--package", place)
    text = (newcomer.folder / "team" / "requirements.txt").read_text()
    assert text == f"trainer-infra[pulumi] @ {place}\n"
    assert "of this machine" not in team.out


def test_a_place_that_is_none_is_refused_before_anything_is_written(newcomer: Command) -> None:
    done = newcomer("init", "here", "--package", "trainer-infra")
    assert done.code == 1
    assert "--package trainer-infra is not a folder or file here, and no URL" in done.err
    assert not (newcomer.folder / "here").exists()


def test_a_cluster_is_a_target_and_its_context_is_kept(newcomer: Command) -> None:
    newcomer("init", "any", "--target", "kubernetes")
    newcomer("init", "one", "--context", "team: a")
    places = ("trainer:target", "trainer:context")
    found = [
        yaml.safe_load((newcomer.folder / each / "Pulumi.dev.yaml").read_text())["config"]
        for each in ("any", "one")
    ]
    assert [[each.get(key) for key in places] for each in found] == [
        ["kubernetes", None],
        ["kubernetes", "team: a"],
    ]
    nowhere = {**newcomer.env, "KUBECONFIG": str(newcomer.folder / "missing")}
    shown = replace(stack_of(newcomer, newcomer.folder / "any"), env=nowhere).preview(ok=False)
    assert "PULUMI_CONFIG_PASSPHRASE" in shown
    nowhere["PULUMI_CONFIG_PASSPHRASE"] = ""
    shown = replace(stack_of(newcomer, newcomer.folder / "any"), env=nowhere).preview()
    assert "missing" in shown
    assert "plain-distributed" in shown
    wrong = newcomer("init", "two", "--target", "local", "--context", "a")
    assert wrong.code == 2
    assert not (newcomer.folder / "two").exists()


def test_a_colleague_who_clones_it_makes_the_stack_and_has_its_program(
    newcomer: Command, tmp_path: Path
) -> None:
    newcomer("init")
    backend = tmp_path / "colleague"
    backend.mkdir()
    commit = (
        "git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm project;"
        f"git clone -q . {backend}/clone"
    )
    assert shell(newcomer, commit).code == 0
    env = {
        **newcomer.env,
        "PULUMI_BACKEND_URL": f"file://{backend}",
        "PULUMI_HOME": str(backend / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "",
    }
    clone = Stack(backend / "clone", env, "dev")
    assert sorted(tree(clone.folder)) == FILES
    assert newcomer.folder.joinpath(".venv").is_symlink()

    refused = Command(clone.folder, env)("init")
    assert "begin its stack with `pulumi stack init dev`" in refused.err
    clone.run("stack", "init")
    shown = clone.preview(ok=False)
    assert "no virtual environment there, got '.venv'" in shown
    assert "install requirements.txt into it" in shown
    (clone.folder / ".venv").symlink_to(sys.prefix)
    assert "english-" in clone.preview()


# Environments

MAIN = "import sys; from trainer_infra.cli.main import main; sys.exit(main())"


@pytest.fixture
def python_in(newcomer: Command, tmp_path: Path) -> Callable[[str], Callable[..., Done]]:
    """Runs the command with an environment of its own at a path, which has no Pulumi command."""
    site = next(Path(each) for each in sys.path if each.endswith("site-packages"))
    search = tmp_path / "search"
    search.mkdir()
    for program in ("bash", "git"):
        (search / program).symlink_to(str(shutil.which(program)))

    def made(place: str, env: Mapping[str, str] | None = None) -> Callable[..., Done]:
        folder = newcomer.folder / place
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        (own,) = folder.glob("lib/python*/site-packages")
        (own / "all.pth").write_text(f"import site; site.addsitedir({str(site)!r})\n")

        def run(*arguments: str, before: str = "") -> Done:
            done = subprocess.run(
                [folder / "bin" / "python", "-c", before + MAIN, "init", *arguments],
                cwd=newcomer.folder,
                env={**newcomer.env, **(env or {"PATH": str(search)})},
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            return Done(done.returncode, done.stdout, done.stderr)

        return run

    return made


def test_without_the_pulumi_command_it_says_how_to_get_it(
    newcomer: Command, python_in: Callable[..., Callable[..., Done]]
) -> None:
    done = python_in("env")("here")
    assert done.code == 1
    assert "there is no `pulumi` command on PATH; install the Pulumi CLI" in done.err
    assert not (newcomer.folder / "here").exists()


def test_without_the_package_pulumi_it_says_how_to_get_it(
    newcomer: Command, python_in: Callable[..., Callable[..., Done]]
) -> None:
    done = python_in("env")("here", before="import sys; sys.modules['pulumi'] = None; ")
    assert done.code == 1
    python = newcomer.folder / "env" / "bin" / "python"
    command = own_place.install_command("pulumi", f"'{python}' -m pip")
    assert f"run `{command}`" in done.err
    assert not (newcomer.folder / "here").exists()


@pytest.mark.parametrize("environment", sampled([".venv", "env", "below/env"], every=3))
def test_an_environment_inside_the_folder_runs_the_program_as_it_is(
    newcomer: Command,
    python_in: Callable[..., Callable[..., Done]],
    environment: str,
) -> None:
    done = python_in(environment, {"PATH": newcomer.env["PATH"]})()
    assert done.code == 0, done.err
    project = yaml.safe_load((newcomer.folder / "Pulumi.yaml").read_text())
    assert project["runtime"]["options"] == {"virtualenv": environment}
    assert not (newcomer.folder / ".venv").is_symlink()
    assert "english-" in stack_of(newcomer, newcomer.folder).preview()


def test_another_environment_in_the_folder_is_named_and_nothing_is_written(
    newcomer: Command, python_in: Callable[..., Callable[..., Done]]
) -> None:
    python_in(".venv")
    done = newcomer("init")
    assert done.code == 1
    assert f"{newcomer.folder}/.venv is not the environment that runs this command" in done.err
    assert tree(newcomer.folder) == {}


def test_a_shell_without_the_pulumi_command_is_told_to_activate_the_environment_that_has_it(
    newcomer: Command, tmp_path: Path
) -> None:
    search = tmp_path / "search"
    search.mkdir()
    for program in ("bash", "dirname"):
        (search / program).symlink_to(str(shutil.which(program)))
    if not (Path(sys.executable).parent / "pulumi").exists():
        pytest.skip("`make setup` found a Pulumi command on PATH and put none into .venv")
    bare = Command(newcomer.folder, {**newcomer.env, "PATH": str(search)})
    then = steps(bare("init"))
    assert f". {Path(sys.prefix) / 'bin' / 'activate'}" in then
    done = shell(bare, then.replace("pulumi up", "pulumi preview --non-interactive"))
    assert "english-" in done.out, done.err
