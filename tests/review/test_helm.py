"""What helm rendered is placed in the templates; tests/e2e has what the real one prints."""

from pathlib import Path

import pytest

from tests.review import checked, trees
from trainer_infra.errors import NotAvailable
from trainer_infra.review import helm

RENDERED = f"""\
---
# Source: training/templates/many.yaml
apiVersion: v1
kind: ServiceAccount
metadata:
  name: a
---
# Source: training/templates/many.yaml
apiVersion: v1
kind: ServiceAccount
metadata:
  name: b
---
# Source: training/templates/job.yaml
# for all
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: release-name-x
  labels:
    kueue.x-k8s.io/queue-name: main
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer:
    image: "acme/train:latest"
    numNodes: 2
---
# Source: training/templates/plain.yaml
{trees.JOB.format(name="plain")}---
# Source: training/charts/sub/templates/job.yaml
{trees.JOB.format(name="sub")}"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees.write(trees.CHART, tmp_path)
    monkeypatch.chdir(tmp_path)


def test_objects_are_placed_in_their_templates() -> None:
    found = helm.placed_chart(Path("chart"), RENDERED)
    assert [(each.file, each.value["metadata"]["name"], each.place(())[0]) for each in found] == [
        ("chart/templates/many.yaml", "a", 3),
        ("chart/templates/many.yaml", "b", 3),
        ("chart/templates/job.yaml", "release-name-x", 3),
        ("chart/templates/plain.yaml", "plain", 1),
        ("chart/Chart.yaml", "sub", 0),
    ]
    report = checked.of(found, "image-latest")
    assert [(each.place.file, each.place.line, each.place.excerpt) for each in report.items] == [
        ("chart/Chart.yaml", 0, ()),
        ("chart/templates/job.yaml", 14, ("    image: {{ .Values.image | quote }}",)),
        ("chart/templates/plain.yaml", 9, ("    image: acme/train:latest",)),
    ]


def test_only_what_has_no_actions_in_it_can_be_mended() -> None:
    found = helm.placed_chart(Path("chart"), RENDERED)
    assert [each.is_editable for each in found] == [False, False, False, True, False]


def test_a_template_keeps_its_lines_and_columns_without_its_actions() -> None:
    text = '{{/* a\nb */}}\na: {{ .X }}  # c\n{{- if .Y }}\n- "{{ .Z\n}}"\n  {{ end }}\n'
    assert helm.skeleton(text) == '\n\na: xxxxxxxx  # c\n\n- "xxxxx\nxx"\n\n'


def test_a_template_that_has_a_field_twice_is_not_looked_into(tmp_path: Path) -> None:
    job = tmp_path / "chart/templates/job.yaml"
    both = "    image: a\n    {{- else }}\n    image: hf_abcdefghijABCDEFGHIJ0123456789abcd\n"
    job.write_text(trees.CHART["chart/templates/job.yaml"] + both)
    (found,) = [each for each in helm.placed_chart(Path("chart"), RENDERED) if "job" in each.file]
    assert (found.file, found.source) == ("chart/templates/job.yaml", None)


def test_a_chart_and_a_library_are_told_apart(tmp_path: Path) -> None:
    assert (helm.is_one(Path("chart")), helm.is_library(Path("chart"))) == (True, False)
    (tmp_path / "chart/Chart.yaml").write_text("type: library\n")
    assert (helm.is_one(Path("chart")), helm.is_library(Path("chart"))) == (True, True)
    (tmp_path / "chart/Chart.yaml").write_text("[\n")
    assert (helm.is_one(Path("chart")), helm.is_library(Path("chart"))) == (True, False)
    assert not helm.is_one(Path("chart/templates"))


def test_without_helm_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        NotAvailable, match="install it, or pipe what it renders: `helm template chart"
    ):
        helm.read_chart(Path("chart"))
