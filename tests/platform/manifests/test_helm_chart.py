"""Charts are rendered by helm itself; what only helm could run is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tools import schemas
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.manifests.helm_chart import chart_objects, installed_objects

pytestmark = pytest.mark.usefixtures("helm_on_path")

HOOK = """
apiVersion: batch/v1
kind: Job
metadata: {name: prepare, annotations: {helm.sh/hook: "WHEN"}}
"""
MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}
data: {size: "{{ .Values.size }}"}
"""


@pytest.fixture
def chart(tmp_path: Path) -> HelmChart:
    (tmp_path / "templates").mkdir()
    (tmp_path / "crds").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: tiny\nversion: 1.0.0\n")
    (tmp_path / "values.yaml").write_text("size: 1\n")
    (tmp_path / "templates" / "map.yaml").write_text(MAP)
    (tmp_path / "crds" / "crd.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: tinies.example.com}\n"
    )
    return HelmChart(str(tmp_path), "mine", "team", values={"size": 3})


def test_a_chart_is_its_objects_with_its_definitions(chart: HelmChart) -> None:
    definition, made = chart_objects(chart)

    assert definition["metadata"]["name"] == "tinies.example.com"
    assert made["metadata"] == {"name": "mine", "namespace": "team"}
    assert made["data"] == {"size": "3"}


def test_a_published_chart_has_the_kinds_of_the_published_manifests() -> None:
    module, version, _ = schemas.CRDS["JobSet"]
    folder = schemas.module_folder(module, version) / "charts" / "jobset"
    objects = chart_objects(HelmChart(str(folder), "jobset", "jobset-system"))

    kinds = {each["kind"] for each in objects}
    assert {"CustomResourceDefinition", "Deployment", "MutatingWebhookConfiguration"} <= kinds
    assert {each["metadata"].get("namespace", "jobset-system") for each in objects} == {
        "jobset-system"
    }


def test_a_hook_is_refused_by_its_name(chart: HelmChart) -> None:
    hook = Path(chart.reference) / "templates" / "hook.yaml"
    hook.write_text(HOOK.replace("WHEN", "pre-install, post-upgrade"))

    with pytest.raises(InvalidInput) as raised:
        chart_objects(chart)
    assert "Job prepare: is a hook of helm (post-upgrade, pre-install)" in str(raised.value)
    hook.write_text(HOOK.replace("WHEN", "test"))
    assert "prepare" not in {each["metadata"]["name"] for each in chart_objects(chart)}


def test_hooks_of_an_installation_are_kept_where_the_chart_may_have_them(chart: HelmChart) -> None:
    hook = Path(chart.reference) / "templates" / "hook.yaml"
    hook.write_text(HOOK.replace("WHEN", "pre-install, post-upgrade"))
    keeping = replace(chart, keeps_hooks=True)

    assert "prepare" in {each["metadata"]["name"] for each in chart_objects(keeping)}
    hook.write_text(HOOK.replace("WHEN", "pre-delete"))
    with pytest.raises(InvalidInput, match=r"Job prepare: is a hook of helm \(pre-delete\)"):
        chart_objects(keeping)


def test_a_chart_is_installed_into_a_namespace_of_its_own(chart: HelmChart) -> None:
    namespace, *rest = installed_objects(chart)

    assert (namespace["kind"], namespace["metadata"]) == ("Namespace", {"name": "team"})
    assert tuple(rest) == chart_objects(chart)
    (Path(chart.reference) / "templates" / "team.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {its: own}}\n"
    )
    assert installed_objects(chart) == chart_objects(chart)


def test_what_helm_refuses_is_said(chart: HelmChart) -> None:
    (Path(chart.reference) / "templates" / "map.yaml").write_text("{{ fail `give a size` }}")
    with pytest.raises(NotAvailable, match="give a size"):
        chart_objects(chart)


def test_without_helm_the_way_out_is_said(
    chart: HelmChart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(NotAvailable, match="`helm`, which is not on PATH"):
        chart_objects(chart)
