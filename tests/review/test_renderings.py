"""In which ways a chart is rendered: its own files of values, and what Argo CD, Flux and the configuration say."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.review import trees
from trainer_infra.errors import InvalidInput
from trainer_infra.review import application as applied
from trainer_infra.review import chart_folder, gitops_values, source_objects
from trainer_infra.review.helm import ChartRendering
from trainer_infra.rules.configuration import ChartValues, read_configuration

CHART = Path("charts/t")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("Chart.yaml", "values-prod.yaml", "values/gpu.yaml", "values/cpu.yaml")
    trees.write({f"charts/t/{each}": "a: 1\n" for each in names}, tmp_path)
    trees.write({"charts/u/Chart.yaml": "", "envs/eu/v.yaml": "", "envs/us/v.yaml": ""}, tmp_path)


def whole(*files: str) -> tuple[str, ...]:
    return tuple(os.path.realpath(each) for each in files)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("values.yaml", False),
        ("values-prod.yaml", True),
        ("values.prod.yml", True),
        ("values_prod.json", True),
        ("prod-values.yaml", True),
        ("prod.values.yaml", True),
        ("ci/gpu-values.yaml", True),
        ("values/prod.yaml", True),
        ("values/eu/prod.yaml", True),
        ("envs/prod/values.yaml", True),
        ("values.schema.json", False),
        ("evaluesx.yaml", False),
        ("Chart.yaml", False),
        ("files/config.yaml", False),
    ],
)
def test_files_of_values_are_told_by_their_names(name: str, expected: bool) -> None:
    assert chart_folder.is_for_values(CHART / name, CHART) is expected


def test_each_file_is_rendered_by_itself_unless_something_names_it() -> None:
    named = ChartRendering("Application x", whole("charts/t/values/gpu.yaml"), (), "x", "ns")
    files = [CHART / "values-prod.yaml", CHART / "values/gpu.yaml"]
    assert chart_folder.chart_renderings(CHART, (), (named,), files) == (
        ChartRendering(),
        named,
        ChartRendering("values-prod.yaml", whole("charts/t/values-prod.yaml")),
    )


def test_what_the_configuration_says_first_lies_beneath_all_others() -> None:
    text = """\
charts:
- path: charts/*
  values: [envs/eu/v.yaml]
  inline: {queue: main}
  release: digits
  namespace: vision
- path: charts/t
"""
    settled = read_configuration(text, "trainer-policy.yaml").charts
    configured = tuple(chart_folder.configured_renderings(CHART, settled, "."))
    base = (*whole("envs/eu/v.yaml"), '{"queue": "main"}')
    assert configured == (
        ChartRendering("charts[0]", base, (), "digits", "vision"),
        ChartRendering("charts[1]"),
    )
    named = ChartRendering("Application x", whole("envs/us/v.yaml"), ("--set", "a=b"), "x")
    found = chart_folder.chart_renderings(CHART, configured, (named,), [CHART / "values-prod.yaml"])
    prod = (*base, *whole("charts/t/values-prod.yaml"))
    assert found == (
        *configured,
        ChartRendering("Application x", (*base, *named.values), ("--set", "a=b"), "x", "vision"),
        ChartRendering("values-prod.yaml", prod, (), "digits", "vision"),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("charts: [{values: [a.yaml]}]", r"charts\[0\].path: is required"),
        ("charts: [{path: a, values: a.yaml}]", r"charts\[0\].values"),
        ("charts: [{path: a, set: {}}]", r"charts\[0\].set"),
        ("charts: {path: a}", "charts"),
    ],
)
def test_the_section_of_charts_is_validated(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_configuration(text, "trainer-policy.yaml")


def asked(kind: str, spec: Any, *others: str) -> list[gitops_values.NamedRendering]:
    """What an object in `apps/a.yaml` asks for."""
    version = "helm.toolkit.fluxcd.io/v2" if kind == "HelmRelease" else "argoproj.io/v1alpha1"
    metadata = {"name": "x", "namespace": "flux"}
    value = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    texts = [yaml.safe_dump(value), *others]
    found = [
        each for text in texts for each in source_objects.of_text(text, "apps/a.yaml").documents
    ]
    return list(gitops_values.object_renderings(found, [CHART, Path("charts/u")]))


def application(**helm: Any) -> dict[str, Any]:
    return {
        "source": {"repoURL": "r", "path": "charts/t", "helm": helm},
        "destination": {"namespace": "team"},
    }


def test_an_application_names_files_values_and_single_values() -> None:
    (found,) = asked(
        "Application",
        application(
            valueFiles=[
                "values-prod.yaml",
                "../../envs/eu/v.yaml",
                "/envs/us/v.yaml",
                "values/*.yaml",
            ],
            valuesObject={"a": {"b": 1}},
            values="c: 1",
            parameters=[
                {"name": "d", "value": "1"},
                {"name": "e", "value": "1", "forceString": True},
            ],
            fileParameters=[{"name": "f", "path": "values-prod.yaml"}],
            releaseName="rel",
        ),
    )
    files = ("charts/t/values-prod.yaml", "envs/eu/v.yaml", "envs/us/v.yaml")
    inside = ("charts/t/values/cpu.yaml", "charts/t/values/gpu.yaml")
    assert found.chart == whole("charts/t")[0]
    assert found.way.values == (*whole(*files, *inside), '{"a": {"b": 1}}')
    assert found.way.options == (
        *("--set", "d=1", "--set-string", "e=1"),
        *("--set-file", f"f={whole('charts/t/values-prod.yaml')[0]}"),
    )
    assert (found.way.release, found.way.namespace, found.way.name) == (
        "rel",
        "team",
        "Application x",
    )


def test_of_several_sources_one_may_have_the_values_of_another() -> None:
    sources_of_it = [
        {"repoURL": "r", "path": "charts/t", "helm": {"valueFiles": ["$v/envs/eu/v.yaml"]}},
        {"repoURL": "r", "ref": "v"},
        {"repoURL": "r", "path": "charts/u", "helm": {"values": "a: 1"}},
        {"repoURL": "r", "chart": "elsewhere"},
    ]
    first, second = asked("Application", {"sources": sources_of_it})
    assert first.way.values == whole("envs/eu/v.yaml")
    assert (second.chart, second.way.values) == (whole("charts/u")[0], ('{"a": 1}',))


def test_what_is_not_here_is_said() -> None:
    (found,) = asked("Application", application(valueFiles=["none.yaml"]))
    assert (found.missing, found.file) == ("none.yaml", "apps/a.yaml")
    ignored = application(valueFiles=["none.yaml"], ignoreMissingValueFiles=True)
    assert [each.missing for each in asked("Application", ignored)] == [""]
    assert asked("Application", {"source": {"path": "charts/elsewhere"}}) == []


@pytest.mark.parametrize(
    ("generators", "path", "files", "expected"),
    [
        (
            [{"list": {"elements": [{"env": "eu"}, {"env": "us"}]}}],
            "charts/t",
            ["/envs/{{env}}/v.yaml"],
            [("charts/t", ["envs/eu/v.yaml"]), ("charts/t", ["envs/us/v.yaml"])],
        ),
        (
            [
                {
                    "matrix": {
                        "generators": [{"clusters": {}}, {"list": {"elements": [{"env": "eu"}]}}]
                    }
                }
            ],
            "charts/t",
            ["/envs/{{ .env }}/v.yaml"],
            [("charts/t", ["envs/eu/v.yaml"])],
        ),
        (
            [{"clusters": {}}],
            "charts/t",
            ["values-prod.yaml", "/envs/{{.metadata.labels.region}}/v.yaml"],
            [
                ("charts/t", ["charts/t/values-prod.yaml", "envs/eu/v.yaml"]),
                ("charts/t", ["charts/t/values-prod.yaml", "envs/us/v.yaml"]),
            ],
        ),
        (
            [{"git": {"directories": [{"path": "charts/*"}]}}],
            "{{path}}",
            [],
            [("charts/t", []), ("charts/u", [])],
        ),
    ],
)
def test_an_application_set_is_tried_with_all_that_its_parameters_may_be(
    generators: Any, path: str, files: list[str], expected: list[tuple[str, list[str]]]
) -> None:
    source = {"repoURL": "r", "path": path, "helm": {"valueFiles": files}}
    spec = {"generators": generators, "template": {"spec": {"source": source}}}
    found = asked("ApplicationSet", spec)
    assert [(each.chart, each.way.values, each.missing) for each in found] == [
        (whole(chart)[0], whole(*values), "") for chart, values in expected
    ]


def test_a_release_of_flux_names_files_config_maps_and_values() -> None:
    chart = {
        "chart": "./charts/t",
        "sourceRef": {"kind": "GitRepository"},
        "valuesFiles": ["envs/eu/v.yaml"],
    }
    spec = {
        "chart": {"spec": chart},
        "targetNamespace": "vision",
        "valuesFrom": [
            {"kind": "ConfigMap", "name": "v"},
            {"kind": "ConfigMap", "name": "v", "valuesKey": "q", "targetPath": "queue"},
            {"kind": "Secret", "name": "none", "optional": True},
        ],
        "values": {"b": 2},
    }
    values = {"values.yaml": "a: 1\n", "q": "main"}
    metadata = {"name": "v", "namespace": "flux"}
    there = yaml.safe_dump(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": values}
    )
    (found,) = asked("HelmRelease", spec, there)
    assert found.way == ChartRendering(
        "HelmRelease x",
        (*whole("envs/eu/v.yaml"), json.dumps({"a": 1}), json.dumps({"b": 2})),
        ("--set", "queue=main"),
        "vision-x",
        "vision",
    )
    fewer = {**chart, "valuesFiles": ["none.yaml"], "ignoreMissingValuesFiles": True}
    (found,) = asked("HelmRelease", {"chart": {"spec": fewer}})
    assert (found.way.values, found.missing) == ((), "")
    (without,) = asked("HelmRelease", spec)
    assert without.missing == "ConfigMap v, ConfigMap v"


def test_values_of_a_release_may_stand_in_a_secret() -> None:
    chart = {"chart": "./charts/t", "sourceRef": {"kind": "GitRepository"}}
    spec = {"chart": {"spec": chart}, "valuesFrom": [{"kind": "Secret", "name": "v"}]}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "v", "namespace": "flux"}}
    for more, expected in (
        ({"data": {"values.yaml": base64.b64encode(b"a: 1").decode()}}, (json.dumps({"a": 1}),)),
        ({"stringData": {"values.yaml": "a: 2"}}, (json.dumps({"a": 2}),)),
        ({"data": {"values.yaml": "no base64"}}, ()),
    ):
        (found,) = asked("HelmRelease", spec, yaml.safe_dump({**secret, **more}))
        assert (found.way.values, found.missing) == (expected, "" if expected else "Secret v")


def test_a_release_of_flux_may_name_an_object_that_names_the_chart() -> None:
    chart = yaml.safe_dump(
        {
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "HelmChart",
            "metadata": {"name": "t", "namespace": "flux"},
            "spec": {"chart": "./charts/t", "valuesFiles": ["envs/eu/v.yaml"]},
        }
    )
    (found,) = asked("HelmRelease", {"chartRef": {"kind": "HelmChart", "name": "t"}}, chart)
    assert (found.chart, found.way.values) == (whole("charts/t")[0], whole("envs/eu/v.yaml"))
    assert asked("HelmRelease", {"chartRef": {"kind": "HelmChart", "name": "t"}}) == []


def test_objects_that_are_wrong_ask_for_nothing() -> None:
    specs: list[Any] = [None, [], {"source": 1, "sources": {}}, {"chart": "x"}, {"generators": 1}]
    for kind in ("Application", "ApplicationSet", "HelmRelease"):
        assert [asked(kind, spec) for spec in specs] == [[]] * len(specs)


def test_patterns_of_the_configuration_are_relative_to_its_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir("charts")
    configured = [ChartValues(path="charts/t", values=("envs/eu/v.yaml",))]
    (found,) = chart_folder.configured_renderings(Path("t"), configured, "..")
    assert found.values == whole("../envs/eu/v.yaml")


def test_argo_cds_versions_of_apis_are_options_of_their_own() -> None:
    given = {"KUBE_VERSION": "1.31", "KUBE_API_VERSIONS": "v1,batch/v1"}
    assert applied.application_of("argocd", given).way.options == (
        *("--kube-version=1.31", "--api-versions=v1", "--api-versions=batch/v1"),
    )
