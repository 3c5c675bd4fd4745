"""What helm rendered is placed in the templates; tests/e2e has what the real one prints."""

from pathlib import Path

import pytest

from tests.review import checked, trees
from trainer_infra.errors import NotAvailable
from trainer_infra.review import helm, report_item, template_text
from trainer_infra.review.renderings import ChartRendering

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
    expected = '\n\na: xxxxxxxx  # c\n\n- "xxxxx\nxx"\n\n'
    assert template_text.skeleton(text) == expected.replace("x", template_text.BLANK)


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
        helm.read_chart(Path("chart"), ChartRendering())


def rendered(template: str, *objects: str) -> str:
    """What helm prints of one template."""
    return "".join(f"---\n# Source: training/{template}\n{each}" for each in objects)


def test_of_a_condition_each_value_is_placed_in_the_branch_that_says_it(tmp_path: Path) -> None:
    secret = "hf_abcdefghijABCDEFGHIJ0123456789abcd"
    text = f"""\
{trees.JOB.format(name="x").partition("    image")[0]}\
    {{{{- if .Values.old }}}}
    image: acme/train:latest
    command: [{secret}]
    {{{{- else if .Values.new }}}}
    image: acme/train:2
    {{{{- else }}}}
    image: acme/train:3
    {{{{- if .Values.more }}}}
    numNodes: 2
    {{{{- end }}}}
    {{{{- end }}}}
    env: []
"""
    (tmp_path / "chart/templates/job.yaml").write_text(text)
    lines = {}
    for tag in ("latest", "2", "3", "4"):
        more = f"    image: acme/train:{tag}\n    env: []\n"
        built = trees.JOB.format(name="x").partition("    image")[0] + more
        (found,) = helm.placed_chart(Path("chart"), rendered("templates/job.yaml", built))
        (item,) = checked.of((found,), "image-digest").items
        assert secret not in str(item)
        place = report_item.place_in_document(found, ("spec", "trainer", "env"))
        lines[tag] = (item.place.line, place.line)
    assert lines == {"latest": (10, 20), "2": (13, 20), "3": (15, 20), "4": (10, 20)}


def test_objects_of_a_loop_and_one_beside_it_are_told_apart_by_their_names(tmp_path: Path) -> None:
    loop, one = trees.JOB.format(name="{{ .r }}-{{ .n }}"), trees.JOB.format(name="{{ .r }}-one")
    text = f"{{{{- range .Values.names }}}}\n---\n{loop}{{{{- end }}}}\n---\n{one}"
    (tmp_path / "chart/templates/job.yaml").write_text(text)
    objects = [trees.JOB.format(name=name) for name in ("r-a", "r-b", "r-one")]
    found = helm.placed_chart(Path("chart"), rendered("templates/job.yaml", *objects))
    assert [each.place(("kind",))[0] for each in found] == [4, 4, 18]


def test_a_chart_inside_the_chart_is_found_by_its_alias_and_a_packed_one_at_its_dependency(
    tmp_path: Path,
) -> None:
    files = {
        "chart/Chart.yaml": """\
name: training
dependencies:
- {name: sub, alias: trainer}
- name: packed
""",
        "chart/charts/sub/Chart.yaml": "name: sub\ndependencies: [{name: deep}]\n",
        "chart/charts/sub/templates/job.yaml": trees.JOB.format(name="a"),
        "chart/charts/sub/charts/deep/templates/job.yaml": trees.JOB.format(name="b"),
    }
    trees.write(files, tmp_path)
    templates = ("trainer/templates/job.yaml", "trainer/charts/deep/templates/job.yaml")
    text = "".join(
        rendered(f"charts/{each}", trees.JOB.format(name="a"))
        for each in (*templates, "packed/templates/job.yaml", "lost/templates/job.yaml")
    )
    found = helm.placed_chart(Path("chart"), text)
    places = [report_item.place_in_document(each, ("spec", "trainer", "image")) for each in found]
    assert [(each.file, each.line) for each in places] == [
        ("chart/charts/sub/templates/job.yaml", 9),
        ("chart/charts/sub/charts/deep/templates/job.yaml", 9),
        ("chart/Chart.yaml", 4),
        ("chart/Chart.yaml", 0),
    ]
    assert not any(each.is_editable for each in found[1:])
