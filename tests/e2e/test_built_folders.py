"""Folders that the real kustomize and the real helm build, as `trainer-infra check` reads them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from from_source.cluster import helm, kubectl
from tests.review import checked, trees
from trainer_infra.cli import main
from trainer_infra.review import changed_files, sources
from trainer_infra.review.check import Reach
from trainer_infra.review.inventory import Use
from trainer_infra.review.revision import Span
from trainer_infra.review.source_objects import SourceObjects, SourceScope


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the tests are, with nothing on PATH but what is needed."""
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl.program())
    (programs / "helm").symlink_to(helm.program())
    (programs / "git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    trees.write({**trees.KUSTOMIZATION, **trees.CHART}, folder)
    monkeypatch.chdir(folder)
    return folder


def seen(read: SourceObjects) -> list[tuple[str, str, int, bool]]:
    """File, name and line of each object, and whether it can be mended."""
    return [
        (each.file, each.value["metadata"]["name"], each.place(each.start)[0], each.is_editable)
        for each in read.documents
    ]


TOP = [
    ("base/jobs.yaml", "digits-2", 1, False),
    ("base/jobs.yaml", "digits-2-2", 14, False),
    ("base/other.yaml", "other-2", 1, False),
    ("top/own.yaml", "own-2", 1, False),
    ("top/kustomization.yaml", "made-2-4h2mbtbbt6", 5, False),
]


def test_a_kustomization_is_built_and_its_objects_are_placed_in_its_files() -> None:
    found = sources.read_sources(["top"])
    assert found.problems == ()
    assert seen(found) == TOP
    report = checked.of(found.documents, "image-latest", "literal-secrets")
    assert checked.places(report) == [
        ("image-latest", "base/jobs.yaml", 9, "spec.trainer.image"),
        ("image-latest", "base/jobs.yaml", 22, "spec.trainer.image"),
        ("image-latest", "base/other.yaml", 9, "spec.trainer.image"),
        ("literal-secrets", "top/env.yaml", 9, "spec.trainer.env[0].value"),
        ("image-latest", "top/own.yaml", 9, "spec.trainer.image"),
    ]


def test_what_kustomize_changes_nothing_of_can_be_mended() -> None:
    assert seen(sources.read_sources(["base"])) == [
        ("base/jobs.yaml", "digits", 1, True),
        ("base/jobs.yaml", "digits-2", 14, True),
        ("base/other.yaml", "other", 1, True),
    ]


def test_a_patch_of_an_overlay_changes_the_objects_that_it_builds(work: Path) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for command in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "a")):
        subprocess.run(["git", *who, *command], cwd=work, check=True)
    env = work / "top/env.yaml"
    env.write_text(env.read_text().replace("name: B", "name: C"))
    now = sources.read_sources(["top"]).documents
    base = changed_files.objects_in_base(["top"], Span("HEAD")).found.documents
    reach = changed_files.reach_of_change(now, base)
    names = [each.value["metadata"]["name"] for each in now]
    assert [names[index] for index, each in reach.items() if each == Reach.CHANGED] == [
        "digits-2-2"
    ]


def test_what_is_below_a_folder_is_built_once() -> None:
    found = sources.read_sources([".", "top"])
    assert found.problems == ()
    assert [each for each in seen(found) if "chart" not in each[0]] == TOP


def test_what_kustomize_says_is_told_in_the_names_of_the_user(work: Path) -> None:
    (work / "base/other.yaml").write_text("a: [\n")
    (problem,) = sources.read_sources(["top"]).problems
    assert problem.startswith("top: cannot be built: accumulating resources: accumulation err='")
    assert "accumulating resources from '../base'" in problem
    assert "accumulating resources from 'other.yaml': MalformedYAMLError" in problem
    assert str(work) not in problem


def test_a_chart_is_rendered_and_its_objects_are_placed_in_its_templates() -> None:
    found = sources.read_sources(["."])
    assert found.problems == ()
    assert sorted(each for each in seen(found) if "chart" in each[0]) == [
        ("chart/templates/job.yaml", "release-name-x", 3, False),
        ("chart/templates/many.yaml", "a", 3, False),
        ("chart/templates/many.yaml", "b", 3, False),
        ("chart/templates/plain.yaml", "plain", 1, True),
    ]
    plain = ("image-latest", "chart/templates/plain.yaml", 9, "spec.trainer.image")
    # Where the value of the image is set.
    job = ("image-latest", "chart/more.yaml", 1, "spec.trainer.image")
    more = sources.read_sources(["chart"], SourceScope(values=("chart/more.yaml",)))
    assert job not in checked.places(checked.of(found.documents, "image-latest"))
    assert checked.places(checked.of(more.documents, "image-latest")) == [job, plain]


def test_the_command_renders_a_chart_with_the_values_that_are_named() -> None:
    options = ("--values", "chart/more.yaml", "--format", "json")
    done = CliRunner().invoke(main.app, ["check", "chart", *options])
    found = json.loads(done.stdout)["findings"]
    assert "chart/more.yaml:1" in [
        f"{each['place']['file']}:{each['place']['line']}"
        for each in found
        if each["rule"] == "image-latest"
    ]


def test_what_helm_says_is_told_in_the_names_of_the_user(work: Path) -> None:
    (work / "chart/templates/bad.yaml").write_text('{{ required "name a queue" .Values.none }}')
    (problem,) = sources.read_sources(["chart"]).problems
    assert problem.startswith("chart: cannot be rendered: Error: execution error at")
    assert problem.endswith(
        "name a queue; values that it needs go under `charts` in trainer-policy.yaml"
    )
    assert str(work) not in problem


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec: {template: {spec: {hostPID: true, restartPolicy: Never, containers: [{name: c, image: "r.example/x:1"}]}}}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: p}\nstringData: {password: %s}\n"


REPLACEMENT = """\
replacements:
- source: {kind: Job, fieldPath: metadata.name}
  targets:
  - select: {kind: Job}
    fieldPaths: [metadata.labels.m]
    options: {delimiter: ., index: 0, create: true}
"""


def hidden(found: SourceObjects) -> list[str]:
    """Files with a pod that shares its node's processes."""
    assert found.problems == ()
    report = checked.of(found.documents, "host-namespaces")
    return sorted(each.place.file for each in report.items)


def test_a_chart_of_three_lines_hides_nothing(work: Path) -> None:
    names = (
        "jobs/deep/a.yaml",
        "templates/b.yaml",
        "crds/c.yaml",
        "templates/e.yaml",
    )
    trees.write({f"r/{each}": JOB % Path(each).stem for each in names}, work)
    trees.write(
        {"r/Chart.yaml": trees.CHART["chart/Chart.yaml"], "r/.helmignore": "e.yaml\n"}, work
    )
    trees.write({"r/templates/f.yaml": "{{ if .Values.f }}\n" + JOB % "f" + "{{ end }}\n"}, work)
    found = sources.read_sources(["r"])
    assert hidden(found) == sorted(f"r/{each}" for each in names)
    assert [each.path for each in found.files if each.use == Use.PASSED_OVER] == [
        "r/templates/f.yaml"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        REPLACEMENT,
        "namespace: prod",
        "commonAnnotations: {file: job.yaml}",
    ],
)
def test_a_word_of_a_kustomization_hides_nothing(work: Path, fields: str) -> None:
    text = f"resources: [job.yaml]\n{fields}\n"
    trees.write({"r/kustomization.yaml": text, "r/job.yaml": JOB % "a.b"}, work)
    trees.write(
        {"r/prod/kustomization.yaml": "resources: [j.yaml]\n", "r/prod/j.yaml": JOB % "j"}, work
    )
    assert hidden(sources.read_sources(["r"])) == ["r/job.yaml", "r/prod/j.yaml"]


@pytest.mark.parametrize(
    ("kustomization", "place"),
    [
        ("resources: [s.yaml]\nnamespace: x\n", ("r/s.yaml", 4)),
        ("resources: [s.yaml]\ncommonAnnotations: {a: b}\n", ("r/s.yaml", 4)),
        ("resources: [open.yaml]\npatches: [{path: s.yaml}]\n", ("r/s.yaml", 4)),
        (
            "secretGenerator: [{name: p, literals: [pw=SummerVision2026]}]\n",
            ("r/kustomization.yaml", 1),
        ),
        ("secretGenerator: [{name: p, envs: [x.env]}]\n", ("r/x.env", 1)),
        ("secretGenerator: [{name: p, files: [token=x.env]}]\n", ("r/x.env", 1)),
    ],
)
def test_a_secret_that_kustomize_builds_is_found(
    work: Path, kustomization: str, place: tuple[str, int]
) -> None:
    open_one = "apiVersion: v1\nkind: Secret\nmetadata: {name: p}\n"
    trees.write(
        {"r/kustomization.yaml": kustomization, "r/s.yaml": SECRET % "SummerVision2026"}, work
    )
    trees.write({"r/open.yaml": open_one, "r/x.env": "pw=SummerVision2026\n"}, work)
    if "s.yaml" not in kustomization:
        (work / "r/s.yaml").unlink()
    (item,) = checked.of(sources.read_sources(["r"]).documents, "literal-secrets").failing()
    assert (item.place.file, item.place.line) == place


def test_of_secrets_of_a_chart_those_are_found_that_helm_does_not_draw(work: Path) -> None:
    trees.write({"r/Chart.yaml": trees.CHART["chart/Chart.yaml"]}, work)
    for name, value in {
        "literal": "SummerVision2026",
        "value": "{{ .Values.pw }}",
        "drawn": "{{ randAlphaNum 16 }}",
        "empty": '{{ .Values.none | default "" | quote }}',
    }.items():
        trees.write({f"r/templates/{name}.yaml": SECRET % value}, work)
    trees.write({"r/values.yaml": "pw: SummerVision2026\n"}, work)
    items = checked.of(sources.read_sources(["r"]).documents, "literal-secrets").failing()
    assert [each.place.file for each in items] == [
        "r/templates/literal.yaml",
        "r/values.yaml",
    ]
