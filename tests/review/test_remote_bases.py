"""A kustomization that builds from elsewhere is judged itself, and a check fetches by https and ssh alone."""

import subprocess
from pathlib import Path

import pytest

from tests.review import checked, trees
from trainer_infra.review import sources
from trainer_infra.review.source_objects import SourceObjects

ADDRESSES = (
    "file:///srv/jobs//base?ref=main",
    "git::file:///srv/jobs//base?ref=v1.2.3",
    "http://example.com/job.yaml",
    "git://example.com/jobs//base?ref=v1.2.3",
    "ftp://example.com/job.yaml",
    "FILE:///srv/jobs?ref=v1.2.3",
)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GIT_ALLOW_PROTOCOL", raising=False)
    return folder


def overlay(folder: Path, address: str, field: str = "resources") -> SourceObjects:
    """What is read of an overlay of an overlay that names an address."""
    files = {
        "top/kustomization.yaml": "resources: [../middle]\n",
        "middle/kustomization.yaml": f"resources: [job.yaml]\n{field}:\n- {address}\n"
        if field != "resources"
        else f"resources:\n- job.yaml\n- {address}\n",
        "middle/job.yaml": trees.JOB.format(name="digits"),
    }
    trees.write(files, folder)
    return sources.read_sources(["."])


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("field", ["resources", "components", "transformers"])
def test_what_a_pull_request_may_not_have_fetched_is_not(
    work: Path, address: str, field: str
) -> None:
    (problem,) = overlay(work, address, field).problems
    scheme = address.removeprefix("git::").partition("://")[0].lower()
    assert problem.startswith(f"top: was not built: it names a base by {scheme}://, and a check ")


def test_git_is_told_so_for_what_bases_name_in_turn(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "kustomize"
    program.parent.mkdir()
    seen = tmp_path / "seen"
    program.write_text(f'#!/bin/sh\necho "$GIT_ALLOW_PROTOCOL $GIT_TERMINAL_PROMPT" > {seen}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    overlay(work, "https://example.com/jobs.git//base?ref=v1.2.3")
    assert seen.read_text() == "https:ssh 0\n"
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https")
    assert "names a base by ssh://" in overlay(work, "git@example.com:jobs.git").problems[0]


def test_a_base_on_a_branch_is_told_at_its_line_whether_it_is_fetched_or_not(work: Path) -> None:
    found = overlay(work, "file:///srv/jobs//base?ref=main")
    report = checked.of(found.documents, "moving-sources")
    assert checked.places(report) == [
        ("moving-sources", "middle/kustomization.yaml", 3, "resources[1]")
    ]
    own = overlay(work, "https://example.com/jobs//base?ref=v1.2.3").documents
    assert checked.places(checked.of(own, "moving-sources")) == []


def test_a_user_may_allow_what_a_check_does_not_fetch(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl_program: Path
) -> None:
    remote = tmp_path / "remote"
    trees.write(
        {
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": trees.JOB.format(name="fetched"),
        },
        remote,
    )
    for command in ("init -q -b main", "add .", "-c user.name=a -c user.email=a@b.c commit -qm a"):
        subprocess.run(["git", "-C", str(remote), *command.split()], check=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "kubectl").symlink_to(kubectl_program)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "https:ssh:file")
    found = overlay(work, f"file://{remote}//base?ref=main")
    assert found.problems == ()
    named = {each.value["metadata"]["name"] for each in found.documents}
    assert named == {"digits", "fetched", "middle"}
