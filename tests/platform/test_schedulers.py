"""Schedulers as components: several parts of one release, and charts that are not pinned."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from tests.platform.declared_resources import as_object, declared_objects, declared_resources
from trainer_infra import catalog, platform
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_component import CONFIGURATION_HASH
from trainer_infra.platform.manifests.manifest_source import release_objects
from trainer_infra.platform.manifests.object_resources import object_key
from trainer_infra.platform.releases import release_of

TOLERATIONS = [{"key": "system", "operator": "Exists"}]
CHANGES: Mapping[str, Any] = {
    "image_pull_policy": "IfNotPresent",
    "resources": {"requests": {"cpu": "10m"}},
    "node_selector": {"role": "system"},
    "tolerations": TOLERATIONS,
}


def workloads(program: Callable[[], object]) -> dict[str, JSONObject]:
    """Deployments and Jobs, by name."""
    kinds = {"Deployment", "Job"}
    return {
        each["metadata"]["name"]: each
        for each in declared_objects(program).values()
        if each["kind"] in kinds
    }


def container(workload: JSONObject) -> JSONObject:
    (found,) = workload["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
def test_coscheduling_is_one_plugin_and_the_schedulers_replicas_elect_one() -> None:
    made = declared_objects(lambda: platform.Coscheduling("it", replicas=2))
    config = yaml.safe_load(
        made["ConfigMap/scheduler-plugins/scheduler-config"]["data"]["scheduler-config.yaml"]
    )
    (profile,) = config["profiles"]
    scheduler, controller = (
        made[f"Deployment/scheduler-plugins/scheduler-plugins-{part}"]
        for part in ("scheduler", "controller")
    )

    assert profile["schedulerName"] == platform.Coscheduling.scheduler_name
    assert profile["plugins"]["multiPoint"]["enabled"] == [{"name": "Coscheduling"}]
    assert config["leaderElection"]["leaderElect"] is True
    assert "--enableLeaderElection" in container(controller)["args"]
    assert {each["spec"]["replicas"] for each in (scheduler, controller)} == {2}
    assert list(made).index("Lease/kube-system/sched-plugins-controllers") < len(made) - 2
    definitions = {key for key in made if key.startswith("CustomResourceDefinition/")}
    assert definitions == {
        "CustomResourceDefinition/podgroups.scheduling.x-k8s.io",
        "CustomResourceDefinition/elasticquotas.scheduling.x-k8s.io",
    }


PARTS: Mapping[str, tuple[Any, Mapping[str, str]]] = {
    "Coscheduling": (
        platform.Coscheduling,
        {
            "scheduler-plugins-scheduler": "scheduler",
            "scheduler-plugins-controller": "controller",
        },
    ),
    "Volcano": (
        platform.Volcano,
        {
            "volcano-scheduler": "scheduler",
            "volcano-controllers": "controllers",
            "volcano-admission": "admission",
            "volcano-admission-init": "admission",
        },
    ),
}
"""The component, and the part whose image a workload runs."""


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("name", PARTS)
def test_a_program_changes_every_part(name: str) -> None:
    component, parts = PARTS[name]
    images = {part: f"mirror.example.com/{part}:1" for part in parts.values()}
    made = workloads(lambda: component("it", images=images, replicas=3, **CHANGES))

    assert made.keys() == parts.keys()
    for workload, part in parts.items():
        pods = made[workload]["spec"]["template"]["spec"]
        assert container(made[workload])["image"] == images[part]
        assert container(made[workload])["imagePullPolicy"] == "IfNotPresent"
        assert container(made[workload])["resources"] == CHANGES["resources"]
        assert pods["nodeSelector"] == {"role": "system"}
        assert pods["tolerations"] == TOLERATIONS
        is_deployment = made[workload]["kind"] == "Deployment"
        assert made[workload]["spec"].get("replicas") == (3 if is_deployment else None)


@pytest.mark.parametrize("name", PARTS)
def test_an_image_of_no_part_is_refused_by_its_name(name: str) -> None:
    component, parts = PARTS[name]
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: component("it", images={"webhook": "a:1"}))

    choices = ", ".join(dict.fromkeys(parts.values()))
    assert str(raised.value) == (
        f"{name} it: images.webhook: is not an image of {name}; use {choices}"
    )


@pytest.mark.usefixtures("kubectl_on_path")
def test_volcano_makes_the_certificate_of_its_webhooks_before_anything_starts() -> None:
    made = declared_resources(lambda: platform.Volcano("it", guard=False))
    by_key = {object_key(as_object(each)): each for each in made[1:]}
    job = by_key["Job/volcano-system/volcano-admission-init"]
    deployments = [each for key, each in by_key.items() if key.startswith("Deployment/")]

    assert len(deployments) == 3
    assert all(job.urn in each.dependencies for each in deployments)


def conditions(made: Mapping[str, JSONObject]) -> dict[str, Any]:
    """The match conditions of each webhook, by its name."""
    return {
        webhook["name"]: webhook.get("matchConditions")
        for each in made.values()
        for webhook in each.get("webhooks", ())
    }


@pytest.mark.usefixtures("kubectl_on_path")
def test_volcanos_webhooks_see_the_pods_that_name_it(tmp_path: Path) -> None:
    published = declared_objects(lambda: platform.Volcano("it", guard=False))
    own = [{"name": "names-volcano", "expression": "object.spec.schedulerName == 'volcano'"}]

    found = conditions(published)
    assert found.pop("mutatepod.volcano.sh") == found.pop("validatepod.volcano.sh") == own
    assert len(found) == 5
    assert set(map(str, found.values())) == {"None"}

    groups = {"resourceGroups": [{"resourceGroup": "cpu", "schedulerName": "volcano"}]}
    chosen = published["ConfigMap/volcano-system/volcano-admission-configmap"]
    chosen = {**chosen, "data": {"volcano-admission.conf": yaml.safe_dump(groups)}}
    file = tmp_path / "volcano.yaml"
    others = [
        each for each in release_objects(release_of("Volcano", None)) if each["kind"] != "ConfigMap"
    ]
    maps = [each for each in published.values() if each["kind"] == "ConfigMap"]
    kept = [each for each in maps if "volcano-admission.conf" not in each["data"]]
    file.write_text(yaml.safe_dump_all([*others, *kept, chosen]))
    with_groups = conditions(declared_objects(lambda: platform.Volcano("it", manifests=str(file))))
    assert with_groups["mutatepod.volcano.sh"] is None
    assert with_groups["validatepod.volcano.sh"] == own


@pytest.mark.usefixtures("kubectl_on_path")
def test_volcanos_replicas_elect_one() -> None:
    made = workloads(lambda: platform.Volcano("it"))
    for name in ("volcano-scheduler", "volcano-controllers"):
        assert "--leader-elect=true" in container(made[name])["args"]
        assert "--leader-elect=false" not in container(made[name])["args"]


@pytest.mark.usefixtures("kubectl_on_path")
def test_volcanos_configuration_is_the_schedulers() -> None:
    actions = "enqueue, allocate, preempt, backfill"
    made = declared_objects(lambda: platform.Volcano("it", configuration={"actions": actions}))
    content = made["ConfigMap/volcano-system/volcano-scheduler-configmap"]["data"]
    read = yaml.safe_load(content["volcano-scheduler.conf"])
    changed = {
        key
        for key, each in made.items()
        if each["kind"] == "Deployment"
        and CONFIGURATION_HASH in each["spec"]["template"]["metadata"].get("annotations", {})
    }

    assert read["actions"] == actions
    assert [each["name"] for each in read["tiers"][0]["plugins"]] == [
        "priority",
        "gang",
        "conformance",
    ]
    assert changed == {"Deployment/volcano-system/volcano-scheduler"}


@pytest.mark.parametrize(
    ("component", "policy"),
    [(platform.Coscheduling, "coscheduling"), (platform.Volcano, "volcano")],
    ids=["Coscheduling", "Volcano"],
)
def test_a_runtime_becomes_that_of_a_gang(component: Any, policy: str) -> None:
    published = catalog.get("torchtune-llama3.2-1b").to_wire()
    made = ClusterTrainingRuntime.from_wire(component.gang_runtime(published)).to_wire()
    pods = [each["template"]["spec"]["template"]["spec"] for each in replicated_jobs(made)]

    assert made["spec"].pop("podGroupPolicy") == {policy: {}}
    assert len(pods) == 3
    assert {each.pop("schedulerName") for each in pods} == {component.scheduler_name}
    assert made == published


def test_what_a_runtime_says_of_its_gang_stays() -> None:
    wire = catalog.get("torch-distributed").to_wire()
    (job,) = replicated_jobs(wire)
    job["template"]["spec"]["template"]["spec"]["schedulerName"] = "mine"
    wire["spec"]["podGroupPolicy"] = {"coscheduling": {"scheduleTimeoutSeconds": 9}}

    assert platform.Coscheduling.gang_runtime(wire) == wire
    assert platform.Volcano.gang_runtime(wire) == wire


def replicated_jobs(runtime: JSONObject) -> list[Any]:
    return list(runtime["spec"]["template"]["spec"]["replicatedJobs"])


DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}", namespace: "{{ .Release.Namespace }}"}
spec:
  selector: {matchLabels: {app: it}}
  replicas: {{ .Values.replicas }}
  template:
    metadata: {labels: {app: it}}
    spec: {containers: [{name: it, image: "it:{{ .Chart.Version }}"}]}
"""
CONFIG = """
apiVersion: example.com/v1
kind: Config
metadata: {name: config, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
spec: {admission: {{ .Values.embedAdmissionController }}, cleanup: {{ .Values.postCleanup.enabled }}}
"""
VALUES = "replicas: 1\nembedAdmissionController: true\npostCleanup: {enabled: true}\n"
CHARTED: Mapping[str, Any] = {"Kai": platform.Kai, "Yunikorn": platform.Yunikorn}
OWN_NAMES = {"Kai": "kai-scheduler", "Yunikorn": "yunikorn"}


@pytest.fixture
def chart(tmp_path: Path) -> str:
    """A chart of the form of the published ones; with a hook, as KAI's has."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: it\nversion: 1.2.3\n")
    (tmp_path / "values.yaml").write_text(VALUES)
    (tmp_path / "templates" / "deployment.yaml").write_text(DEPLOYMENT)
    (tmp_path / "templates" / "config.yaml").write_text(CONFIG)
    return str(tmp_path)


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("name", CHARTED)
def test_a_chart_becomes_resources_in_a_namespace_that_the_component_makes(
    name: str, chart: str
) -> None:
    own = OWN_NAMES[name]
    component, *children = declared_resources(
        lambda: CHARTED[name]("it", chart=chart, values={"replicas": 2})
    )
    made = {object_key(as_object(each)): each for each in children}

    assert component.kind == f"trainer:index:{name}"
    assert {each.parent for each in children} == {component.urn}
    assert made.keys() == {f"Namespace/{own}", f"Deployment/{own}/{own}", "Config/config"}
    deployment = made[f"Deployment/{own}/{own}"]
    assert deployment.inputs["spec"]["replicas"] == 2
    assert deployment.urn in made["Config/config"].dependencies


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
def test_what_the_platform_has_otherwise_than_a_chart_a_program_may_take_back(chart: str) -> None:
    def spec(component: Any, **values: Any) -> JSONObject:
        made = declared_objects(lambda: component("it", chart=chart, values=values))
        return dict(made["Config/config"]["spec"])

    assert spec(platform.Kai) == {"admission": True, "cleanup": False}
    assert spec(platform.Yunikorn) == {"admission": False, "cleanup": True}
    assert spec(platform.Yunikorn, embedAdmissionController=True)["admission"] is True


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("name", CHARTED)
def test_a_chart_may_go_to_another_namespace_or_come_as_manifests(
    name: str, chart: str, tmp_path: Path
) -> None:
    made = declared_objects(lambda: CHARTED[name]("it", chart=chart, namespace="gangs"))
    assert f"Deployment/gangs/{OWN_NAMES[name]}" in made
    file = tmp_path / "rendered.yaml"
    file.write_text(yaml.safe_dump_all(made.values()))
    assert declared_objects(lambda: CHARTED[name]("it", manifests=str(file))) == made


MISTAKES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "no version": ({}, "version: is missing: this release of trainer-infra pins no version"),
    "an argument that is none": ({"image": "a"}, "image: is not an argument"),
    "two sources": ({"manifests": "a.yaml", "version": "1"}, "version: and manifests= exclude"),
    "a chart that is not there": ({"chart": "/no/chart"}, "`helm template /no/chart` failed"),
    "a value that helm cannot know": (
        {"version": "1", "values": {"a": [{"b": pulumi.Output.from_input(1)}]}},
        "values.a[0].b: is an Output, whose value the preview does not know; write the value itself",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("name", CHARTED)
def test_a_mistake_is_one_sentence(name: str, mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: CHARTED[name]("it", **args))

    assert str(raised.value).startswith(f"{name} it: ")
    assert sentence in str(raised.value)
