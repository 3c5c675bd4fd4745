"""What is excluded is not read, not built and not judged; the real kustomize builds."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.review import trees
from trainer_infra.cli import main
from trainer_infra.errors import InvalidInput
from trainer_infra.review import source_objects, sources
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.source_objects import SourceScope

JOB = trees.JOB.format(name="x")
FILES = {
    "a.yaml": JOB,
    "examples/old/a.yaml": JOB,
    "examples/old/keep.yaml": JOB,
    "examples/new/a.yaml": JOB,
    "charts/a/tests/a.yaml": JOB,
    "charts/b/c/tests/a.yaml": JOB,
    "tests/a.yaml": JOB,
    "README.md": "",
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl_program: Path) -> Path:
    """A folder in which the tests are, with nothing on PATH but what is needed."""
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl_program)
    (programs / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    trees.write(FILES, folder)
    monkeypatch.chdir(folder)
    return folder


def read(paths: Sequence[str], *patterns: str) -> tuple[list[str], tuple[str, ...]]:
    """The files that are read, and what is excluded."""
    found = sources.read_sources(paths, SourceScope(exclusion=Exclusion.of(patterns)))
    assert found.problems == ()
    excluded = tuple(each.path for each in found.files if each.why == source_objects.EXCLUDED)
    return [each.file for each in found.documents], excluded


def checked(*arguments: str) -> dict[str, Any]:
    """The report of the command."""
    done = CliRunner().invoke(main.app, ["check", *arguments, "--format", "json"])
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    ("patterns", "excluded"),
    [
        (["charts/**/tests"], ["charts/a/tests", "charts/b/c/tests"]),
        (["tests"], ["charts/a/tests", "charts/b/c/tests", "tests"]),
        (["/tests"], ["tests"]),
        (["examples/old/*"], ["examples/old/a.yaml", "examples/old/keep.yaml"]),
        (["examples/old/*", "!keep.yaml"], ["examples/old/a.yaml"]),
        (["old/"], ["examples/old"]),
        (["a.yaml/"], []),
        (["*.md", "# a comment", ""], []),
    ],
)
def test_patterns_are_those_of_a_gitignore_file(patterns: list[str], excluded: list[str]) -> None:
    files, left_out = read(["."], *patterns)
    assert sorted(left_out) == excluded
    below = tuple(f"{each}/" for each in excluded)
    assert sorted(files) == sorted(
        each
        for each in FILES
        if each.endswith(".yaml") and each not in excluded and not each.startswith(below)
    )


def test_what_is_named_and_excluded_is_not_read_and_patterns_begin_where_the_check_runs(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ["examples/old/a.yaml", "tests", "a.yaml", str(work / "examples/old")]
    files, excluded = read(named, "examples/old", "tests")
    assert files == ["a.yaml"]
    assert excluded == ("examples/old/a.yaml", "tests", str(work / "examples/old"))
    monkeypatch.chdir(work / "examples")
    assert read(["../tests", "old", "../examples/new"], "tests", "/old") == (
        ["../examples/new/a.yaml"],
        ("../tests", "old"),
    )


def test_a_pattern_that_is_none_is_an_error() -> None:
    with pytest.raises(InvalidInput, match=r"exclude: is not a pattern .* got '!'"):
        Exclusion.of(["a", "!"])


def test_an_excluded_overlay_is_not_built_and_what_it_was_built_on_is(work: Path) -> None:
    trees.write(trees.KUSTOMIZATION, work)
    broken = "resources: [none.yaml]\n"
    trees.write({"old/kustomization.yaml": broken}, work)
    files, excluded = read(["base", "top", "old"], "old", "top")
    assert (set(files), excluded) == ({"base/jobs.yaml", "base/other.yaml"}, ("top", "old"))
    files, excluded = read(["."], "old", "base", "tests", "examples", "a.yaml")
    assert {"base/jobs.yaml", "top/own.yaml"} < set(files), "an overlay reads what it is built on"
    assert "base" in excluded


def test_option_and_configuration_exclude_and_the_report_says_how_much(work: Path) -> None:
    trees.write({"trainer-policy.yaml": "exclude: [charts/**/tests]\n"}, work)
    report = checked(".", "--exclude", "examples/old", "--exclude", "/tests")
    assert report["notes"] == {
        "Passed over, and so was not judged": (
            "charts/a/tests, charts/b/c/tests, examples/old, tests: excluded"
        )
    }
    assert {each["place"]["file"] for each in report["findings"]} == {
        "a.yaml",
        "examples/new/a.yaml",
    }
    assert checked("a.yaml")["notes"] == {}
    text = CliRunner().invoke(main.app, ["check", ".", "--exclude", "*.yaml"]).stdout
    assert "0 objects of 0 files" in text
    assert "The check is not complete: nothing was judged, because there is no object." in text


def test_what_is_excluded_is_no_part_of_the_revision_to_compare_with_either(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "    resourcesPerNode: {limits: {nvidia.com/gpu: 8}}\n  activeDeadlineSeconds: 3600\n"
    for name in ("new", "old"):
        trees.write({f"examples/{name}/a.yaml": trees.JOB.format(name=name) + more}, work)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "a")):
        subprocess.run(["git", *who, *command], cwd=work, check=True)
    compared = ("--changed-from", "HEAD", "--exclude")
    hours = "GPU-hours at most"
    assert checked("examples", *compared, "/examples/old")["notes"][hours] == "8.00, as before"
    monkeypatch.chdir(work / "examples")
    assert checked(".", *compared, "/old")["notes"][hours] == "8.00, as before"
