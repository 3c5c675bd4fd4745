"""What kustomize built is placed in the files; tests/e2e has what the real one says."""

from pathlib import Path

import pytest

from tests.review import checked, trees
from trainer_infra.api import yamltext
from trainer_infra.errors import NotAvailable
from trainer_infra.review import documents, kustomize, subprocess_tool
from trainer_infra.review.kustomize import Uses

NAME = "../work/top"
ORIGIN = "config.kubernetes.io/origin"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    trees.write(trees.KUSTOMIZATION, folder)
    monkeypatch.chdir(folder)
    return folder


def job(name: str, origin: str, **metadata: str) -> str:
    """A job as kustomize prints it."""
    value = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {**metadata, "annotations": {ORIGIN: origin}, "name": name},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
                "image": "acme/train:latest",
            },
        },
    }
    return yamltext.dump_yaml([value])


def placed(tmp_path: Path, *objects: str) -> list[tuple[str, str, int, str]]:
    """Where a digest is missed in what was built, from a folder beside the one of the user."""
    (tmp_path / "scratch").mkdir()
    text = "---\n".join(each.removeprefix("---\n") for each in objects)
    found = kustomize.placed_kustomization(Path("top"), str(tmp_path / "scratch"), text)
    assert all(ORIGIN not in str(each.value) for each in found)
    return checked.places(checked.of(found, "image-digest"))


def test_objects_are_placed_by_their_order_in_the_file_they_are_from(tmp_path: Path) -> None:
    jobs = [job(name, "path: ../work/base/jobs.yaml") for name in ("digits-2", "digits-2-2")]
    path = "spec.trainer.image"
    assert placed(tmp_path, *jobs, job("own-2", "path: ../work/top/own.yaml")) == [
        ("image-digest", "base/jobs.yaml", 9, path),
        ("image-digest", "base/jobs.yaml", 22, path),
        ("image-digest", "top/own.yaml", 9, path),
    ]


def test_where_some_are_gone_an_object_is_placed_by_its_name(tmp_path: Path) -> None:
    left = job("digits-2-x", "path: ../work/base/jobs.yaml")
    assert [each[1:3] for each in placed(tmp_path, left)] == [("base/jobs.yaml", 22)]


def test_an_object_that_no_file_has_is_placed_in_the_kustomization(tmp_path: Path) -> None:
    remote = job("a", "path: jobs.yaml\nrepo: https://example.com/x")
    made = job("b", "configuredIn: ../work/top/kustomization.yaml\nconfiguredBy: {kind: X}")
    lost = job("c", "path: ../work/base/none.yaml")
    assert [each[1:3] for each in placed(tmp_path, remote, made, lost)] == [
        ("base/none.yaml", 0),
        ("top/kustomization.yaml", 0),
        ("top/kustomization.yaml", 0),
    ]


def test_an_object_that_came_out_as_it_is_written_can_be_mended_and_another_cannot(
    tmp_path: Path,
) -> None:
    name = "base/jobs.yaml"
    written = documents.read_documents(Path(name).read_text(), name)
    said = f"metadata:\n  annotations: {{{ORIGIN}: 'path: ../work/{name}'}}\n"
    first, second = (
        yamltext.dump_yaml([each.value]).replace("metadata:\n", said) for each in written
    )
    text = f"{first}---\n{second.replace('latest', 'other')}"
    same, other = kustomize.placed_kustomization(Path("top"), str(tmp_path / "scratch"), text)
    assert (same.value, same.is_editable, same.place(())) == (written[0].value, True, (1, 1))
    assert (other.file, other.is_editable, other.place(())) == (name, False, (14, 1))


def test_what_a_kustomization_builds_from_is_told_from_what_it_only_names(work: Path) -> None:
    text = """\
kind: Component
resources: [../base, job.yaml, https://example.com/x]
secretGenerator: [{files: [key=data.yaml, "none"], name: ../base/jobs.yaml}]
patches: [{patch: "a: b\\nc: d"}, {path: patch.yaml}]
patchesStrategicMerge: [merge.yaml, "a: b\\n"]
transformers: [../transformer]
"""
    (work / "top/kustomization.yaml").write_text(text)
    for each in ("job", "data", "patch", "merge"):
        (work / f"top/{each}.yaml").write_text("")
    (work / "transformer").mkdir()
    (work / "transformer/kustomization.yml").write_text("")
    assert kustomize.used_files("top") == Uses(
        paths(work, "top/job.yaml"),
        paths(work, "top/kustomization.yaml", "top/patch.yaml", "top/merge.yaml"),
        paths(work, "base", "transformer"),
        paths(work, "top/data.yaml"),
        addresses=("https://example.com/x",),
        is_component=True,
    )


def paths(work: Path, *names: str) -> frozenset[str]:
    return frozenset(str(work.resolve() / each) for each in names)


def test_without_a_program_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAvailable, match="install one, or pipe what it builds"):
        kustomize.read_kustomization(Path("top"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("warning: x\nError: bad thing\nnode contents:\n  secret", "Error: bad thing"),
        ("fatal: not a git repository\nStopping\n", "fatal: not a git repository"),
        ("\n one \n two\n", "one"),
        ("", "it failed and said nothing"),
    ],
)
def test_of_a_complaint_the_sentence_is_told_that_says_what_is_wrong(text: str, said: str) -> None:
    assert subprocess_tool.last_words(text) == said


def test_a_program_that_cannot_be_run_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable, match="cannot be run: No such file or directory"):
        subprocess_tool.tool_output([str(tmp_path / "none")])
