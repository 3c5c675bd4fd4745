"""Every example of README and docs runs: found by its language, so a new one is among them.

Python is a program of a project that `trainer-infra init` makes, with the files and the stack
configuration that the page showed before it. It runs on this machine; where the page chose a cluster it
is previewed. Commands are parsed by the real command line, YAML by our own readers.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests import warm_start
from tests.cli.command import Command
from tests.conftest import pulumi_environment
from tests.deploy.project import Stack, until
from tests.docs import commands, page
from tests.docs.page import PROGRAM, SHELL, Block
from tests.docs.type_checker import type_errors
from tests.engine.stack import EngineStack
from tests.platform.declared_resources import declared_resources
from tests.trainers.git_server import new_repository
from trainer_infra import names
from trainer_infra.api import manifests
from trainer_infra.cli import init
from trainer_infra.runs.run import COMPLETE, FAILED

FORGE = "https://git.example/team/"
PYTHON = page.of_language("python")
PROGRAMS = {each.text: each for each in reversed(PYTHON) if each.is_program}.values()
"""One that two pages show is run where it comes first."""
FIRST = {each.page: each for each in reversed(PYTHON) if each.is_program}
"""The program of each page that every run of the tests tries; `make soak` tries the others."""
ON_CLI = page.ROOT / "README.md"
"""The page whose program the CLI runs, as its readers do; test_getting_started.py follows a whole page so."""
OF_UNIT_TESTS = '# mypy: allow-untyped-decorators, disable-error-code="explicit-override"\n'
"""Pulumi's decorator of unit tests has no types, and a reader marks no overriding method."""
SHOWN = page.of_language(*SHELL)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `trainer-infra init` makes and the backend of its stack, to be copied."""
    folder = tmp_path_factory.mktemp("begun")
    assert Command(folder, pulumi_environment(folder))("init", "project").code == 0
    return folder


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, pulumi_env: dict[str, str], begun: Path
) -> Stack:
    """What `trainer-infra init` makes, on the engine for tests but for one page's; no kubeconfig is there."""
    for each in ("project", "backend"):
        shutil.copytree(begun / each, tmp_path / each, symlinks=True, dirs_exist_ok=True)
    home = tmp_path / "reader"
    home.mkdir()
    cache = Path.home() / ".cache" / "trainer-infra"
    # `init` selects its stack in a folder of Pulumi's own, which is not copied.
    own = {"HOME": str(home), "PULUMI_STACK": "dev"}
    env = {"TRAINER_INFRA_CACHE": str(cache), **pulumi_env, **own}
    env.pop("KUBECONFIG", None)
    block: Block = request.getfixturevalue("block")
    kind = Stack if block.page == ON_CLI else EngineStack
    return kind(tmp_path / "project", env, "dev")


def prepare(project: Stack, block: Block) -> None:
    """What its reader has done before."""
    for each in page.before(block):
        if each.file and not each.is_program:
            write(project.folder, each)
        for line in each.text.splitlines() if each.language in SHELL else ():
            if line.startswith("pulumi config set"):
                project.run(*words(line, project.env))
    if FORGE in block.text:
        serve(project)
    write(project.folder, block)


def words(line: str, env: Mapping[str, str]) -> list[str]:
    """What a shell gives to `pulumi` of a line that calls it."""
    script = f"pulumi() {{ printf '%s\\n' \"$@\"; }}\n{line}"
    done = subprocess.run(
        ["bash", "-ec", script], env=dict(env), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.splitlines()


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
    # TRL brings gigabytes; tests/e2e trains with it.
    if target(project) == "kubernetes" or "Trl(" in block.text:
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
    done = warm_start.run(pytest.console_main, block.file, folder=project.folder, env=os.environ)
    assert "1 passed" in done.out, done.out + done.err


def test_the_types_of_all_programs_are_right(tmp_path: Path) -> None:
    """All at once: the checker takes seconds to start. What others import has the name by which they do."""
    shutil.copy(init.STARTER / "train.py", tmp_path)
    for block in PYTHON:
        own = f"{block.page.stem.replace('-', '_')}_{block.line}.py"
        file = tmp_path / (own if block.file.endswith(PROGRAM) else Path(block.file).name)
        assert not file.exists(), f"{block}: another program has a file of this name"
        file.write_text(block.text + (OF_UNIT_TESTS if is_unit_test(block) else ""))
    assert len(list(tmp_path.iterdir())) > 40
    assert type_errors(tmp_path) == ""


@pytest.mark.parametrize("block", [each for each in SHOWN if list(commands.of(each.text))], ids=str)
def test_commands_are_taken_by_the_real_command_line(block: Block) -> None:
    problems = [commands.problem(each) for each in commands.of(block.text)]
    assert list(filter(None, problems)) == []


@pytest.mark.parametrize("file", page.PAGES, ids=lambda file: file.name)
def test_commands_in_sentences_exist_with_their_options(file: Path) -> None:
    """What is left out there (`trainer-infra suspend`) is not a mistake; brackets stand for what may be."""
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
