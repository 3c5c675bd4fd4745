"""What differs from a git revision: objects, wherever their files are and however they look."""

import json
import os
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.review import checked
from trainer_infra.errors import NotAvailable
from trainer_infra.review import changed_files, documents, sources
from trainer_infra.review.check import Reach
from trainer_infra.review.revision import Span

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: %s, namespace: team-a}
spec:
  runtimeRef: {name: %s, kind: %s}
  trainer:
    image: %s
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: own, namespace: team-a}
spec: {template: {spec: {replicatedJobs: [{name: %s, template: {}}]}}}
"""


def job(name: str, image: str = "a", runtime: str = "torch-distributed") -> str:
    kind = "TrainingRuntime" if runtime == "own" else "ClusterTrainingRuntime"
    return JOB % (name, runtime, kind, image)


class Repository:
    """A folder with a git repository in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch", "main")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=self.folder, check=True, capture_output=True)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)

    def commit(self) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    for name in [each for each in os.environ if each.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return Repository(folder)


def base(*paths: str, ref: str = "HEAD") -> tuple[documents.Document, ...]:
    """The objects of a revision."""
    return changed_files.objects_in_base(paths, Span(ref)).found.documents


def judged(*paths: str, ref: str = "HEAD") -> list[str]:
    """Names of the objects that differ, or whose runtimes do."""
    now = sources.read_sources(paths).documents
    found = changed_files.reach_of_change(now, base(*paths, ref=ref))
    assert sorted(found) == list(range(len(now)))
    names = [each.value["metadata"]["name"] for each in now]
    return [each for index, each in enumerate(names) if found[index] != Reach.AROUND]


def test_objects_that_changed_and_new_ones_are_judged(repository: Repository) -> None:
    repository.write("a.yaml", job("same") + "---\n" + job("other"))
    repository.commit()
    repository.write("a.yaml", job("same") + "---\n" + job("other", "b"))
    repository.write("new/b.yaml", job("new"))
    assert judged(".") == ["other", "new"]
    assert judged("new") == ["new"]
    assert judged("a.yaml", "new/b.yaml") == ["other", "new"]


def test_a_renamed_file_comments_and_layout_are_no_change(repository: Repository) -> None:
    repository.write("a.yaml", job("first") + "---\n" + job("second"))
    repository.commit()
    (repository.folder / "a.yaml").unlink()
    repository.write("b/c.yaml", "# moved\r\n" + job("second").replace("\n", "\r\n"))
    first = documents.read_documents(job("first"), "a.yaml")[0].value
    repository.write("b/d.json", json.dumps(first, indent=1, sort_keys=True))
    assert judged(".") == []


def test_a_number_for_a_boolean_and_a_field_written_twice_are_changes(
    repository: Repository,
) -> None:
    repository.write("a.yaml", job("a") + "  suspend: true\n---\n" + job("b"))
    repository.commit()
    repository.write("a.yaml", job("a") + "  suspend: 1\n---\n" + job("b") + "    image: a\n")
    assert judged(".") == ["a", "b"]


def test_a_train_job_is_judged_when_its_runtime_changed(repository: Repository) -> None:
    repository.write("jobs.yaml", job("own", runtime="own") + "---\n" + job("shipped"))
    repository.write("runtime.yaml", RUNTIME % "node")
    repository.commit()
    assert judged(".") == []
    repository.write("runtime.yaml", RUNTIME % "other")
    assert judged(".") == ["own", "own"]
    (repository.folder / "runtime.yaml").unlink()
    assert judged(".") == ["own"]


def test_a_wrapper_is_judged_when_the_runtime_changed_of_a_train_job_in_it(
    repository: Repository,
) -> None:
    head = "apiVersion: workload.codeflare.dev/v1beta2\nkind: AppWrapper\nmetadata: {name: %s}\n"
    inside = "spec:\n  components:\n  - template:\n"
    for name, runtime in (("w", "own"), ("x", "shipped")):
        text = textwrap.indent(job("a", runtime=runtime), " " * 6)
        repository.write(f"{name}.yaml", head % name + inside + text)
    repository.write("runtime.yaml", RUNTIME % "node")
    repository.commit()
    assert judged(".") == []
    repository.write("runtime.yaml", RUNTIME % "other")
    assert judged(".") == ["own", "w"]
    (repository.folder / "runtime.yaml").unlink()
    assert judged(".") == ["w"]


def test_a_train_job_whose_runtime_was_never_there_is_no_change(repository: Repository) -> None:
    repository.write("jobs.yaml", job("a", runtime="own"))
    repository.commit()
    assert judged(".") == []


def test_a_subfolder_other_revisions_and_whole_paths_work(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("deep/er/a.yaml", job("a"))
    repository.commit()
    repository.git("tag", "first")
    repository.write("deep/er/a.yaml", job("a", "b"))
    repository.commit()
    monkeypatch.chdir(repository.folder / "deep")
    for path in (".", "er", "er/a.yaml", "../deep", str(repository.folder)):
        assert judged(path) == []
        assert judged(path, ref="first") == ["a"]
    (found,) = base("er", ref="first")
    assert (found.file, found.value["spec"]["trainer"]) == ("er/a.yaml", {"image": "a"})


def test_links_and_files_with_any_name_are_read(repository: Repository) -> None:
    repository.write("ä\n b.yaml", job("a"))
    (repository.folder / "link.yaml").symlink_to("ä\n b.yaml")
    repository.write("empty.yaml", "")
    repository.commit()
    names = [each.file for each in base(".")]
    assert names == ["ä\n b.yaml"]
    assert judged(".") == []


def test_a_path_that_the_revision_does_not_have_is_all_new(repository: Repository) -> None:
    repository.write("a.yaml", job("a"))
    repository.commit()
    repository.write("b.yaml", job("b"))
    assert base("b.yaml", "-") == ()
    assert judged("b.yaml") == ["b"]


def test_what_cannot_be_read_in_the_revision_was_not_there(repository: Repository) -> None:
    repository.write("a.yaml", "apiVersion: v1\nkind: [\n")
    repository.commit()
    repository.write("a.yaml", job("a"))
    assert judged(".") == ["a"]


def test_without_a_repository_or_a_revision_it_says_so(
    repository: Repository, tmp_path: Path
) -> None:
    repository.write("a.yaml", job("a"))
    repository.commit()
    with pytest.raises(NotAvailable) as outside:
        base(str(tmp_path))
    assert str(outside.value).startswith(f"{tmp_path}: cannot be compared: fatal: not a git repo")
    for ref in ("none", "--all", ""):
        with pytest.raises(NotAvailable) as unknown:
            base(".", ref=ref)
        assert str(unknown.value) == (
            f"{ref!r} is not a revision of the git repository; "
            "fetch it first (CI often has one commit alone), or name another one"
        )


def test_without_git_it_says_so(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.write("a.yaml", job("a"))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAvailable, match="`git` is needed to know what has changed"):
        base(".")


def test_the_report_is_about_what_changed_alone(repository: Repository) -> None:
    repository.write("a.yaml", job("a", "x:latest") + "---\n" + job("b", "x:1"))
    repository.commit()
    repository.write("a.yaml", job("a", "x:latest") + "---\n" + job("b", "x:latest"))
    now = sources.read_sources(["."]).documents
    reach = changed_files.reach_of_change(now, base("."))
    report = checked.of(now, "image-latest", reach=reach)
    assert [each.name for each in report.items] == ["b"]
