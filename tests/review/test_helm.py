"""What helm rendered is placed in the templates; tests/e2e has what the real one prints."""

from pathlib import Path

import pytest

from tests.review import checked, trees
from trainer_infra.errors import NotAvailable
from trainer_infra.review import helm, object_findings, template_text
from trainer_infra.review.helm import ChartRendering

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


SECRET = "hf_abcdefghijABCDEFGHIJ0123456789abcd"


@pytest.mark.parametrize(
    "more",
    [
        f"    image: a\n    {{{{- else }}}}\n    image: {SECRET}\n",
        f"  - {SECRET}\n {{{{ .x }}}}\n",
    ],
)
def test_of_a_template_that_is_no_yaml_only_the_line_of_the_kind_is_known(
    tmp_path: Path, more: str
) -> None:
    job = tmp_path / "chart/templates/job.yaml"
    job.write_text(trees.CHART["chart/templates/job.yaml"] + more)
    (found,) = [each for each in helm.placed_chart(Path("chart"), RENDERED) if "job" in each.file]
    (item, *_) = checked.of((found,), "image-latest").items
    assert (item.place.file, item.place.line) == ("chart/templates/job.yaml", 3)
    assert SECRET not in str(item)


def test_what_a_template_takes_from_values_is_placed_in_their_file(tmp_path: Path) -> None:
    template = trees.JOB.format(name="x").partition("    image")[0] + (
        "    image: {{ .Values.image | quote }}\n"
        "    numNodes: {{ $.Values.size.nodes | default 2 }}\n"
        "    env:\n"
        "      {{- toYaml .Values.env | nindent 6 }}\n"
        "    args: [{{ .Values.image }}-large]\n"
    )
    values = {
        "chart/values.yaml": "image: acme/train:latest\nsize:\n  nodes: 4\nenv:\n- {name: A, value: b}\n",
        "prod.yaml": "# more\nsize: {nodes: 8}\n",
        "chart/templates/job.yaml": template,
    }
    trees.write(values, tmp_path)
    built = trees.JOB.format(name="x").partition("    image")[0] + (
        "    image: acme/train:latest\n    numNodes: 8\n    env: [{name: A, value: b}]\n"
        "    args: [acme/train:latest-large]\n"
    )
    text = rendered("templates/job.yaml", built)
    (found,) = helm.placed_chart(Path("chart"), text, ["prod.yaml"])
    trainer = ("spec", "trainer")
    lines = {
        path[-1]: (place.file, place.line)
        for path in (
            (*trainer, "image"),
            (*trainer, "numNodes"),
            (*trainer, "env", 0, "value"),
            (*trainer, "args"),
            (*trainer, "command"),
        )
        for place in [object_findings.place_in_document(found, path)]
    }
    assert lines == {
        "image": ("chart/values.yaml", 1),
        "numNodes": ("prod.yaml", 2),
        "value": ("chart/values.yaml", 5),
        "args": ("chart/templates/job.yaml", 13),
        "command": ("chart/templates/job.yaml", 7),
    }
    (item,) = checked.of((found,), "image-latest").items
    assert item.layers == ("chart/templates/job.yaml",)


def test_values_of_a_chart_inside_the_chart_are_those_of_the_outer_one_first(
    tmp_path: Path,
) -> None:
    inner = trees.JOB.format(name="x").replace("acme/train:latest", "{{ .Values.image }}")
    trees.write(
        {
            "chart/Chart.yaml": "name: training\ndependencies: [{name: sub, alias: trainer}]\n",
            "chart/values.yaml": "a: b\ntrainer:\n  image: acme/train:latest\n",
            "chart/charts/sub/Chart.yaml": "name: sub\n",
            "chart/charts/sub/values.yaml": "image: acme/train:1\n",
            "chart/charts/sub/templates/job.yaml": inner,
        },
        tmp_path,
    )
    places = {}
    for tag in ("latest", "1"):
        built = trees.JOB.format(name="x").replace("latest", tag)
        text = rendered("charts/trainer/templates/job.yaml", built)
        (found,) = helm.placed_chart(Path("chart"), text)
        place = object_findings.place_in_document(found, ("spec", "trainer", "image"))
        places[tag] = (place.file, place.line)
    assert places == {
        "latest": ("chart/values.yaml", 3),
        "1": ("chart/charts/sub/values.yaml", 1),
    }


def test_what_is_wrong_with_the_yaml_that_helm_writes_is_found() -> None:
    built = trees.JOB.format(name="x") + "    image: acme/train:2\n"
    found = helm.placed_chart(Path("chart"), rendered("templates/job.yaml", built))
    (item,) = checked.of(found, "schema").items
    assert (item.path, item.what) == ("spec.trainer.image", "is written twice")
    assert (item.place.file, item.place.line) == ("chart/templates/job.yaml", 14)


def test_what_stands_in_objects_of_a_chart_is_placed_in_the_template(tmp_path: Path) -> None:
    pod = "apiVersion: v1\n    kind: Pod\n    metadata: {name: p}\n    spec: {hostPID: true}\n"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  a.yaml: |\n    "
    text = (head + pod + "  b.yaml: |\n    {{- .Values.b | nindent 4 }}\n").replace(
        "NAME", "{{ .x }}"
    )
    (tmp_path / "chart/templates/maps.yaml").write_text(text)
    built = (head + pod + "  b.yaml: |\n    " + pod.replace("name: p", "name: q")).replace(
        "NAME", "m"
    )
    found = helm.placed_chart(Path("chart"), rendered("templates/maps.yaml", built))
    items = checked.of(found, "host-namespaces").items
    assert [(each.name, each.place.file, each.place.line) for each in items] == [
        ("p", "chart/templates/maps.yaml", 9),
        ("q", "chart/templates/maps.yaml", 10),
    ]


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
        place = object_findings.place_in_document(found, ("spec", "trainer", "env"))
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
    places = [
        object_findings.place_in_document(each, ("spec", "trainer", "image")) for each in found
    ]
    assert [(each.file, each.line) for each in places] == [
        ("chart/charts/sub/templates/job.yaml", 9),
        ("chart/charts/sub/charts/deep/templates/job.yaml", 9),
        ("chart/Chart.yaml", 4),
        ("chart/Chart.yaml", 0),
    ]
    assert not any(each.is_editable for each in found[1:])
