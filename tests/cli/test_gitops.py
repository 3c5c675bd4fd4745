"""The files of gitops/ are what their tools take, and run the check as they say."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main
import yaml

from tests.cli.command import PROGRAM, Command
from tests.review.schemas import published
from tests.warm_start import Done
from trainer_infra.cli import main
from trainer_infra.review import live
from trainer_infra.rules import configuration

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "gitops"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
FILES = sorted([*FOLDER.rglob("*.yaml"), *FOLDER.rglob("*.yml"), HOOKS])
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("gitops", "policy", "cli")]
STORE = "https://json.schemastore.org"
SCHEMAS = {
    "github/trainer-infra.yaml": f"{STORE}/github-workflow.json",
    "gitlab/trainer-infra.gitlab-ci.yml": (
        "https://gitlab.com/gitlab-org/gitlab/-/raw/master/app/assets/javascripts/editor/schema/ci.json"
    ),
    "cluster-check/kustomization.yaml": f"{STORE}/kustomization.json",
    "cluster-check/jobs/kustomization.yaml": f"{STORE}/kustomization.json",
    "cluster-check/platform/kustomization.yaml": f"{STORE}/kustomization.json",
    "flux/kustomization.yaml": f"{STORE}/kustomization.json",
    "argocd/presync/kustomization.yaml": f"{STORE}/kustomization.json",
    "argocd/plugin/kustomization.yaml": f"{STORE}/kustomization.json",
}
JOB = FOLDER / "cluster-check" / "jobs" / "digits.yaml"
POLICY = FOLDER / "cluster-check" / "platform" / "trainer-policy.yaml"
BAD = JOB.read_text().replace("registry.example.com", "registry.example.org")


def documents(path: Path) -> list[Any]:
    return [*yaml.load_all(path.read_text(), Loader=yaml.BaseLoader)]


def texts(value: Any) -> Iterator[str]:
    """Every text of a document, and every list of words as the command line that it may be."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        if "entry" in value:
            yield shlex.join([*value["entry"].split(), *value["args"]])
        elif isinstance(value.get("command"), list):
            yield shlex.join([*value["command"], *value.get("args", [])])
        yield from (text for each in value.values() for text in texts(each))
    elif isinstance(value, list):
        if value and all(isinstance(each, str) for each in value):
            yield shlex.join(value)
        yield from (text for each in value for text in texts(each))


def lines(text: str) -> Iterator[list[str]]:
    """The words of each `trainer-infra` command of a shell's text; optional ones are there."""
    joined = re.sub(r"\\\n\s*", " ", text)
    plain = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", joined)
    plain = re.sub(r"\$\{\w+:\+(.*?)\}", r"\1", plain)
    for line in re.findall(r"(?:^|\| )(trainer-infra [^\n|<>#]*)", plain, re.MULTILINE):
        yield shlex.split(line)


COMMANDS = [
    pytest.param(words, id=f"{path.name}: {shlex.join(words)}")
    for path in FILES
    for each in documents(path)
    for text in texts(each)
    for words in lines(text)
] + [
    pytest.param(words, id=f"{path.name}: {shlex.join(words)}")
    for path in PAGES
    for language, block in re.findall(r"^```(.*)\n([^`]*)^```", path.read_text(), re.MULTILINE)
    if not language
    for words in lines(block)
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_line_has_options_that_there_are(words: list[str]) -> None:
    assert parsed(words)


def test_a_command_line_with_another_option_is_refused() -> None:
    with pytest.raises(Exception, match="No such option: --changed"):
        parsed(shlex.split("trainer-infra check . --changed HEAD"))
    with pytest.raises(Exception, match="'worst' is not one of 'low'"):
        parsed(shlex.split("trainer-infra check . --fail-on worst"))


def parsed(words: list[str]) -> dict[str, Any]:
    """What typer reads of a command line."""
    command: Any = typer.main.get_command(main.app)
    name, *rest = words
    while isinstance(command, typer.core.TyperGroup):
        name, *rest = rest
        command = command.commands[name]
    values: dict[str, Any] = command.make_context(name, rest).params
    return values


def test_every_file_runs_the_check_or_helps_one_that_does() -> None:
    running = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if any(True for each in documents(path) for text in texts(each) for _ in lines(text))
    }
    assert running == {
        ".pre-commit-hooks.yaml",
        "gitops/argocd/plugin/plugin.yaml",
        "gitops/cluster-check/check.yaml",
        "gitops/flux/training.yaml",
        "gitops/github/trainer-infra.yaml",
        "gitops/gitlab/trainer-infra.gitlab-ci.yml",
    }


@pytest.mark.parametrize("path", SCHEMAS)
def test_a_file_is_what_its_tool_takes(path: str) -> None:
    value = yaml.safe_load((FOLDER / path).read_text())
    # YAML 1.1 reads `on` as true.
    value = {"on" if key is True else key: each for key, each in value.items()}
    problems = published(SCHEMAS[path]).iter_errors(value)
    assert [f"{each.json_path}: {each.message}" for each in problems] == []


def test_every_object_says_what_it_is() -> None:
    objects = [
        (path.name, {"apiVersion", "kind"} <= {*each})
        for path in FILES
        if path.parent.name not in {"github", "gitlab", ROOT.name}
        and path.name != "trainer-policy.yaml"
        for each in documents(path)
    ]
    assert len(objects) == 19
    assert [name for name, is_whole in objects if not is_whole] == []


def test_files_that_are_named_are_there() -> None:
    for path in FOLDER.rglob("kustomization.yaml"):
        (each,) = documents(path)
        generated = [file for one in each.get("configMapGenerator", []) for file in one["files"]]
        patched = [one["path"] for one in each.get("patches", []) if "path" in one]
        named = [*each.get("resources", []), *generated, *patched]
        assert [name for name in named if not (path.parent / name).exists()] == []
    specs = [each["spec"] for each in documents(FOLDER / "flux" / "training.yaml")]
    specs += [
        each["spec"]["source"] for each in documents(FOLDER / "argocd/presync/application.yaml")
    ]
    paths = [each["path"] for each in specs if "path" in each]
    assert [(ROOT / path / "kustomization.yaml").is_file() for path in paths] == [True, True]


def test_the_example_passes_its_own_check(shared_cli: Command) -> None:
    file = POLICY
    assert configuration.read_configuration(file.read_text(), file.name).pack == "training"
    done = shared_cli("check", str(JOB), "--config", str(file))
    assert (done.code, done.err) == (0, "")


def test_the_job_may_read_what_the_check_reads_and_nothing_else() -> None:
    (_, role, _) = documents(POLICY.parent / "rbac.yaml")
    allowed = {
        (group, resource)
        for each in role["rules"]
        for group in each["apiGroups"]
        for resource in each["resources"]
    }
    kinds = [*live.KINDS.items(), *live.GROUPS.items()]
    assert allowed == {
        (version.rpartition("/")[0], plural(kind))
        for kind, versions in kinds
        for version in versions
    }
    assert {verb for each in role["rules"] for verb in each["verbs"]} == {"get", "list"}


def plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def test_a_hook_has_what_pre_commit_needs() -> None:
    ((hook,),) = documents(HOOKS)
    assert {"id", "name", "entry", "language"} <= {*hook}
    assert (hook["language"], hook["require_serial"], hook["always_run"]) == (
        "python",
        "true",
        "true",
    )


def shell(command: Command, script: str, **env: str) -> Done:
    """A script of a CI system, with our command on PATH."""
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=command.folder,
        env={**command.env, "PATH": f"{Path(PROGRAM).parent}:/usr/bin:/bin", **env},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(params=[(JOB.read_text(), 0), (BAD, 1)], ids=["good", "bad"])
def manifest(cli: Command, request: pytest.FixtureRequest) -> tuple[Command, int]:
    """A folder with a TrainJob, and the exit code of its check."""
    text, code = request.param
    cli.write("manifests/digits.yaml", text)
    cli.write("trainer-policy.yaml", POLICY.read_text())
    return cli, code


def test_the_workflow_of_github_reports_and_fails(manifest: tuple[Command, int]) -> None:
    cli, code = manifest
    (workflow,) = documents(FOLDER / "github" / "trainer-infra.yaml")
    steps = [each["run"] for each in workflow["jobs"]["policy"]["steps"] if "run" in each]
    _, reporting, checking = steps
    assert shell(cli, reporting) == Done(0, "", "")
    assert "sarif" in (cli.folder / "policy.sarif").read_text()
    done = shell(cli, checking, GITHUB_STEP_SUMMARY="summary.md", BASE="")
    assert (done.code, done.err) == (code, "")
    assert ("::error file=manifests/digits.yaml," in done.out) is bool(code)
    assert (cli.folder / "summary.md").read_text().startswith("#")


def test_the_job_of_gitlab_reports_and_fails(manifest: tuple[Command, int]) -> None:
    cli, code = manifest
    (pipeline,) = documents(FOLDER / "gitlab" / "trainer-infra.gitlab-ci.yml")
    job = pipeline["trainer-infra"]
    _, reporting, checking = job["script"]
    assert shell(cli, reporting) == Done(0, "", "")
    assert shell(cli, checking).code == code
    assert [(cli.folder / file).is_file() for file in job["artifacts"]["reports"].values()] == [
        True,
        True,
    ]


def test_a_job_of_a_gate_has_an_end_and_limits() -> None:
    jobs = [
        each["spec"]["jobTemplate"]["spec"] if each["kind"] == "CronJob" else each["spec"]
        for path in (FOLDER / "cluster-check/check.yaml", FOLDER / "flux/training.yaml")
        for each in documents(path)
        if each["kind"] in {"Job", "CronJob"}
    ]
    assert [(each["backoffLimit"], each["activeDeadlineSeconds"]) for each in jobs] == [
        ("0", "600")
    ] * 2
    for each in jobs:
        (container,) = each["template"]["spec"]["containers"]
        assert {*container["resources"]["limits"]} == {"cpu", "memory"}


def test_our_own_gates_pass_the_check(shared_cli: Command) -> None:
    for path in ("cluster-check/check.yaml", "flux/training.yaml"):
        done = shared_cli("check", str(FOLDER / path), "--config", str(POLICY))
        assert (done.code, done.err) == (0, ""), done.out
