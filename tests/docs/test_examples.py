"""Every example of README and docs runs: found by its language, so a new one is among them.

Python is a program of a project that `trainer-infra init` makes, with the files and the stack
configuration that the page showed before it. It runs on this machine; where the page chose a cluster it
is previewed. Commands are parsed by the real command line, YAML by our own readers.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.command import PROGRAM as TRAINER_INFRA
from tests.deploy.project import Stack, until
from tests.docs import commands, page
from tests.docs.page import PROGRAM, SHELL, Block
from tests.docs.type_checker import type_errors
from tests.platform.declared_resources import declared_resources
from tests.trainers.git_server import new_repository
from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.cli import init
from trainer_infra.runs.run import COMPLETE, FAILED

FORGE = "https://git.example/team/"
PYTHON = page.of_language("python")
PROGRAMS = [each for each in PYTHON if each.is_program]
FIRST = {each.page: each for each in reversed(PROGRAMS)}
"""The program of each page that every run of the tests tries; `make soak` tries the others."""
SHOWN = page.of_language(*SHELL)


@pytest.fixture
def project(tmp_path: Path, pulumi_env: dict[str, str]) -> Stack:
    """What `trainer-infra init` makes; no kubeconfig is there."""
    folder = tmp_path / "project"
    home = tmp_path / "reader"
    home.mkdir()
    cache = Path.home() / ".cache" / "trainer-infra"
    env = {"TRAINER_INFRA_CACHE": str(cache), **pulumi_env, "HOME": str(home)}
    env.pop("KUBECONFIG", None)
    subprocess.run([TRAINER_INFRA, "init", folder], env=env, check=True, capture_output=True)
    return Stack(folder, env, "dev")


def prepare(project: Stack, block: Block) -> None:
    """What its reader has done before."""
    for each in page.before(block):
        if each.file and not each.is_program:
            write(project.folder, each)
        for line in each.text.splitlines() if each.language in SHELL else ():
            if line.startswith("pulumi config set"):
                command = ["bash", "-ec", line]
                subprocess.run(command, cwd=project.folder, env=dict(project.env), check=True)
    if FORGE in block.text:
        serve(project)
    write(project.folder, block)


def serve(project: Stack) -> None:
    """The repository of the pages: what `init` wrote, with a tag, and git's own setting of where that is."""
    made = new_repository(project.folder.parent / "team" / "models.git")
    made.commit({"train.py": (project.folder / "train.py").read_text()})
    made.git("tag", "v1.2")
    settings = f'[url "{made.folder.parent.as_uri()}/"]\n insteadOf = {FORGE}\n'
    (Path(project.env["HOME"]) / ".gitconfig").write_text(settings)


def write(folder: Path, block: Block) -> None:
    (folder / block.file).parent.mkdir(exist_ok=True)
    (folder / block.file).write_text(block.text)


def is_unit_test(block: Block) -> bool:
    return Path(block.file).name.startswith("test_")


def target(project: Stack) -> str:
    settings = yaml.safe_load((project.folder / "Pulumi.dev.yaml").read_text())
    return str(settings["config"]["trainer:target"])


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(each, marks=[pytest.mark.soak] if each not in FIRST.values() else [])
        for each in PROGRAMS
    ],
    ids=str,
)
def test_a_program_trains_or_is_previewed_where_its_page_is_about_a_cluster(
    project: Stack, block: Block
) -> None:
    prepare(project, block)
    if target(project) == "kubernetes":
        assert "rendered" in project.preview()
        return
    project.up()
    until(lambda: {run["phase"] for run in project.runs()} <= {COMPLETE, FAILED}, pause=1)
    runs = project.runs()
    assert runs != []
    assert {run["phase"] for run in runs} == {COMPLETE}, [run["message"] for run in runs]


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("block", [each for each in PYTHON if each.is_platform], ids=str)
def test_a_program_of_the_platform_declares_components_with_objects(block: Block) -> None:
    program = compile(block.text, str(block), "exec")
    made = declared_resources(lambda: exec(program, {}))
    components = [each for each in made if each.kind.startswith("trainer:index:")]
    objects = [each for each in made if each.kind.startswith("kubernetes:")]
    urns = {each.urn for each in components}
    assert {each.parent for each in objects} <= urns != set()
    # A component has objects, or components that have.
    assert urns <= {each.parent for each in made}


@pytest.mark.parametrize("block", [each for each in PYTHON if is_unit_test(each)], ids=str)
def test_a_unit_test_passes(project: Stack, block: Block) -> None:
    prepare(project, block)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", block.file],
        cwd=project.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def needs_files_of_its_page(block: Block) -> bool:
    files = {each.file for each in (*page.before(block), block) if each.file.endswith(".py")}
    return files != {PROGRAM}


def test_the_types_of_programs_that_stand_alone_are_right(tmp_path: Path) -> None:
    """All at once: the checker takes seconds to start."""
    alone = [each for each in PYTHON if not needs_files_of_its_page(each)]
    files = [f"{each.page.stem.replace('-', '_')}_{each.line}.py" for each in alone]
    for file, block in zip(files, alone, strict=True):
        (tmp_path / file).write_text(block.text)
    shutil.copy(init.STARTER / "train.py", tmp_path)
    assert len(files) > 30
    assert type_errors(tmp_path, *files) == ""


@pytest.mark.parametrize("block", [*filter(needs_files_of_its_page, PYTHON)], ids=str)
def test_its_types_are_right(block: Block, tmp_path: Path) -> None:
    for each in (*(one for one in page.before(block) if one.file), block):
        write(tmp_path, each)
    file = tmp_path / block.file
    shutil.copy(init.STARTER / "train.py", file.parent)
    # Pulumi's decorator of unit tests has no types.
    decorators = ["--allow-untyped-decorators"] if is_unit_test(block) else []
    assert type_errors(file.parent, *decorators, file.name) == ""


@pytest.mark.parametrize("block", [each for each in SHOWN if list(commands.of(each.text))], ids=str)
def test_commands_are_taken_by_the_real_command_line(block: Block) -> None:
    problems = [commands.problem(each) for each in commands.of(block.text)]
    assert list(filter(None, problems)) == []


@pytest.mark.parametrize("file", page.PAGES, ids=lambda file: file.name)
def test_commands_in_sentences_exist_with_their_options(file: Path) -> None:
    """What is left out there (`trainer-infra suspend`) is no mistake; brackets stand for what may be."""
    found = [
        (each, commands.problem(arguments))
        for each in page.spans(file)
        if commands.NAME in each
        for arguments in commands.of(re.sub(r"[][]|\\(?=\|)", "", each).partition("|")[0])
    ]
    assert [each for each in found if each[1] and not each[1].startswith("Missing")] == []


@pytest.mark.parametrize("block", page.of_language("yaml"), ids=str)
def test_yaml_is_read_and_what_is_of_our_kinds_is_valid(block: Block) -> None:
    documents = list(yaml.safe_load_all(block.text))
    assert documents != []
    for each in documents:
        if each.get("apiVersion") == names.API_VERSION:
            manifests.parse_object(each)


# The runner itself


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("trainer-infra get -A  # all", [["get", "-A"]]),
        ("cd x && trainer-infra check . \\\n  --baseline f", [["check", ".", "--baseline", "f"]]),
        ("trainer-infra migrate a.yaml > b.yaml", [["migrate", "a.yaml"]]),
        ("kubectl get x | trainer-infra migrate -", [["migrate", "-"]]),
        ('trainer-infra logs "$(trainer-infra get)"', [["logs", "$(trainer-infra get)"]]),
        ("echo trainer-infra; pulumi up", []),
    ],
)
def test_commands_are_found_in_a_script(script: str, found: list[list[str]]) -> None:
    assert list(commands.of(script)) == found


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["get", "--all-namespaces"], ""),
        (["--version"], ""),
        (["get", "--everywhere"], "No such option: --everywhere"),
        (["gets"], "No such command 'gets'."),
        (["rules", "list", "--loud"], "No such option: --loud"),
        (["rules"], ""),
        (["logs"], "Missing argument 'NAME'."),
        (["check", ".", "--format", "csv"], "Invalid value for '--format'"),
    ],
)
def test_a_command_that_is_not_taken_is_found(arguments: list[str], problem: str) -> None:
    found = commands.problem(arguments)
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_blocks_are_found_with_their_files(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(
        "# A\n\nA file `x.py`, then `sub/y.py`:\n\n```python\n1\n```\n\n```python\n2\n```\n\n"
        "## B\n\nNo file `z.py`.\n\n- in a list:\n\n  ```yaml\n  a: 1\n  ```\n"
    )
    found = [(each.section, each.line, each.file, each.text) for each in page.blocks(file)]
    assert found == [
        ("A", 5, "sub/y.py", "1\n"),
        ("A", 9, "__main__.py", "2\n"),
        ("B", 19, "", "a: 1\n"),
    ]
