"""Charts are rendered in every way in which they are deployed; the real helm and kustomize."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.review import checked, trees
from trainer_infra.cli import main
from trainer_infra.review import sources
from trainer_infra.review.inventory import Use
from trainer_infra.review.source_objects import SourceObjects, SourceScope
from trainer_infra.rules.configuration import read_configuration

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}
spec: {template: {spec: {hostPID: {{ .Values.pid }}, restartPolicy: Never, containers: [{name: c, image: "r.example/x:1"}]}}}
"""
CHART = {
    "charts/t/Chart.yaml": "apiVersion: v2\nname: t\nversion: 0.1.0\n",
    "charts/t/values.yaml": "pid: false\n",
    "charts/t/templates/j.yaml": JOB,
}
PRIVATE, SHARED = "pid: false\n", "pid: true\n"
NEEDS = {
    **CHART,
    "charts/t/templates/j.yaml": JOB.replace(".Values.pid", 'required "pid!" .Values.host'),
}


@pytest.fixture(autouse=True)
def work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl_program: Path, helm_program: Path
) -> Path:
    programs, folder = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    folder.mkdir()
    (programs / "kubectl").symlink_to(kubectl_program)
    (programs / "helm").symlink_to(helm_program)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.chdir(folder)
    return folder


def read(files: dict[str, str], policy: str = "{}") -> SourceObjects:
    trees.write(files, Path())
    charts = read_configuration(policy, "trainer-policy.yaml").charts
    return sources.read_sources(["."], SourceScope(charts=charts))


def shared(found: SourceObjects) -> list[str]:
    """What is said of pods that share their node's processes."""
    assert found.problems == ()
    return [each.what for each in checked.of(found.documents, "host-namespaces").items]


def application(helm: str) -> str:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: digits}\n"
    return f"{head}spec: {{source: {{repoURL: r, path: charts/t, helm: {helm}}}}}\n"


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: digits, namespace: vision}
spec:
  chart: {spec: {chart: ./charts/t, sourceRef: {kind: GitRepository, name: r}}}
  values: {pid: true}
"""


@pytest.mark.parametrize(
    ("files", "way"),
    [
        (
            {"charts/t/values-prod.yaml": SHARED, "charts/t/values-dev.yaml": PRIVATE},
            "values-prod.yaml",
        ),
        ({"charts/t/values/prod.yaml": SHARED}, "values/prod.yaml"),
        (
            {"apps/a.yaml": application("{valueFiles: [/envs/eu.yaml]}"), "envs/eu.yaml": SHARED},
            "Application digits",
        ),
        ({"apps/a.yaml": application("{valuesObject: {pid: true}}")}, "Application digits"),
        ({"apps/a.yaml": application('{values: "pid: true"}')}, "Application digits"),
        (
            {"apps/a.yaml": application('{parameters: [{name: pid, value: "true"}]}')},
            "Application digits",
        ),
        ({"apps/r.yaml": RELEASE}, "HelmRelease digits"),
    ],
)
def test_what_one_rendering_has_alone_names_it(files: dict[str, str], way: str) -> None:
    assert shared(read({**CHART, **files})) == [
        f"shares the node's processes with the pod, with {way}"
    ]


def test_what_all_renderings_have_is_said_once() -> None:
    files = {
        "charts/t/values.yaml": SHARED,
        "charts/t/values-prod.yaml": "a: 1\n",
        "apps/r.yaml": RELEASE,
    }
    assert shared(read({**CHART, **files})) == ["shares the node's processes with the pod"]


def test_what_helm_renders_of_a_template_with_any_ending_is_judged_and_named() -> None:
    text = CHART["charts/t/templates/j.yaml"]
    files = {
        **CHART,
        "charts/t/values.yaml": SHARED,
        "charts/t/templates/j.tpl": text,
        "charts/t/templates/NOTES.txt": "{{ .Values.pid }}\n",
    }
    del files["charts/t/templates/j.yaml"]
    found = read(files)
    assert len(shared(found)) == 1
    uses = {Path(each.path).name: each.use for each in found.files}
    assert (uses["j.tpl"], uses["NOTES.txt"]) == (Use.BUILT, Use.DATA)


def test_an_application_of_a_chart_says_how_another_chart_is_rendered() -> None:
    files = {
        "charts/apps/Chart.yaml": "apiVersion: v2\nname: apps\nversion: 0.1.0\n",
        "charts/apps/templates/a.yaml": application("{valuesObject: {pid: true}}"),
    }
    assert len(shared(read({**CHART, **files}))) == 1


def test_a_chart_that_needs_values_takes_them_from_the_configuration() -> None:
    (problem,) = read(NEEDS).problems
    assert problem.endswith("pid!; values that it needs go under `charts` in trainer-policy.yaml")
    policy = "charts: [{path: charts/*, inline: {host: true}, release: digits, namespace: vision}]"
    found = read(NEEDS, policy)
    assert shared(found) == ["shares the node's processes with the pod"]
    assert found.documents[0].value["metadata"] == {"name": "digits", "namespace": "vision"}


@pytest.mark.parametrize(
    "files",
    [
        {"charts/t/values-prod.yaml": "host: true\n"},
        {"apps/a.yaml": application("{valuesObject: {host: true}}")},
        {
            "charts/t/Chart.yaml": "apiVersion: v2\nname: t\nversion: 0.1.0\n",
            "kustomization.yaml": "helmCharts: [{name: t, releaseName: x, valuesInline: {host: true}}]\n",
        },
    ],
)
def test_a_chart_that_something_renders_need_not_render_alone(files: dict[str, str]) -> None:
    found = read({**NEEDS, **files})
    assert shared(found) == ["shares the node's processes with the pod"]
    (note,) = (each for each in found.files if each.why.startswith("a chart"))
    assert (note.path, note.use) == ("charts/t/Chart.yaml", Use.DATA)


def test_a_chart_of_a_kustomization_is_placed_where_it_is_named_and_none_is_fetched() -> None:
    text = "namespace: a\nhelmCharts:\n- {name: t, releaseName: x, valuesFile: v.yaml}\n"
    found = read({**CHART, "kustomization.yaml": text, "v.yaml": SHARED})
    (item,) = checked.of(found.documents, "host-namespaces").items
    assert (item.place.file, item.place.line) == ("kustomization.yaml", 3)
    assert {each.path: each.use for each in found.files}["v.yaml"] == Use.BUILT
    Path("kustomization.yaml").write_text(
        text.replace("name: t", "name: other, repo: 'https://c.example'")
    )
    (problem,) = sources.read_sources(["."]).problems
    assert "a check fetches none" in problem


def test_the_name_of_a_release_is_no_option_of_helm(work: Path) -> None:
    program = work / "evil"
    program.write_text("#!/bin/sh\n: > made\n")
    program.chmod(0o755)
    read({**CHART, "apps/a.yaml": application("{releaseName: '--post-renderer=./evil'}")})
    assert not (work / "made").exists()


def test_a_configured_chart_is_rendered_by_the_command() -> None:
    trees.write({**NEEDS, "v.yaml": "host: true\n"}, Path())
    Path("trainer-policy.yaml").write_text("charts: [{path: charts/t, values: [v.yaml]}]\n")
    done = CliRunner().invoke(main.app, ["check", ".", "--format", "json"])
    assert (done.exit_code, "host-namespaces" in done.stdout) == (1, True)
