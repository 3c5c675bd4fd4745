"""Controllers as components: exactly the release's objects, and what a program may change."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pulumi
import pulumi_kubernetes
import pytest
import yaml

from from_source.cluster import coscheduling, kueue, lws, trainer, volcano
from tests.platform.declared_resources import (
    DeclaredResource,
    as_object,
    declared_objects,
    declared_resources,
)
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_component import CONFIGURATION_HASH
from trainer_infra.platform.kueue import FRAMEWORKS
from trainer_infra.platform.manifests.install_order import install_stages
from trainer_infra.platform.manifests.manifest_source import release_objects
from trainer_infra.platform.manifests.object_resources import object_key
from trainer_infra.platform.releases import RELEASES, release_of

WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
CONTROLLERS: Mapping[str, Any] = {
    "Coscheduling": platform.Coscheduling,
    "JobSet": platform.JobSetController,
    "Kueue": platform.Kueue,
    "LeaderWorkerSet": platform.LeaderWorkerSetController,
    "Trainer": platform.TrainerControlPlane,
    "Volcano": platform.Volcano,
}
"""The component of each project."""
CHANGED: Mapping[str, frozenset[str]] = {
    "Coscheduling": frozenset({"ClusterRole", "Deployment"}),
    "Kueue": frozenset({"ConfigMap", "Deployment", *WEBHOOKS}),
    "Volcano": frozenset({"Deployment", *WEBHOOKS}),
}
"""Kinds of the release's objects that the component changes."""
ADDED = {"Coscheduling": {"Lease"}, "Trainer": {"PodDisruptionBudget"}}
"""Kinds of what the component declares besides."""


def deployment(program: Callable[[], object]) -> JSONObject:
    (found,) = (each for each in declared_objects(program).values() if each["kind"] == "Deployment")
    return found


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("release", RELEASES, ids=lambda each: f"{each.project}-{each.version}")
def test_a_component_has_the_objects_of_its_release(release: Any) -> None:
    component = CONTROLLERS[release.project]
    more: dict[str, Any] = {}
    if release.project == "Kueue":
        published = {object_key(each): each for each in release_objects(release)}
        config = published["ConfigMap/kueue-system/kueue-manager-config"]["data"]
        chosen = yaml.safe_load(config["controller_manager_config.yaml"])["integrations"]
        more = {"frameworks": chosen["frameworks"]}
    if release.project == "Trainer":
        more = {"implementation": "upstream"}
    made = declared_objects(lambda: component("it", version=release.version, **more))

    for each in release_objects(release):
        assert object_key(each) in made
        if each["kind"] not in CHANGED.get(release.project, ()):
            assert made[object_key(each)] == each
    added = made.keys() - {object_key(each) for each in release_objects(release)}
    assert {each.partition("/")[0] for each in added} == ADDED.get(release.project, set())


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
def test_the_image_is_the_published_one() -> None:
    images = {
        each.project: {
            container["image"]
            for value in release_objects(each)
            if value["kind"] in {"Deployment", "Job"}
            for container in value["spec"]["template"]["spec"]["containers"]
        }
        for each in map(release_of, CONTROLLERS, [None] * len(CONTROLLERS))
    }
    assert images == {
        "Coscheduling": set(coscheduling.IMAGES),
        "JobSet": {"registry.k8s.io/jobset/jobset:v0.12.0"},
        "Kueue": {kueue.IMAGE},
        "LeaderWorkerSet": {lws.IMAGE},
        "Trainer": {trainer.IMAGE},
        "Volcano": set(volcano.IMAGES),
    }


@pytest.mark.usefixtures("helm_on_path", "kubectl_on_path")
@pytest.mark.parametrize("project", CONTROLLERS)
def test_every_object_is_a_child_and_each_stage_waits_for_the_one_before(project: str) -> None:
    component, owner, *children, guard = declared_resources(lambda: CONTROLLERS[project]("it"))
    urns = {object_key(as_object(each)): each.urn for each in children}
    stages = install_stages([as_object(each) for each in children])

    assert component.kind == f"trainer:index:{CONTROLLERS[project].__name__}"
    assert {each.parent for each in children} == {component.urn}
    assert all(each.name.startswith("it:") for each in children)
    assert (owner.kind, owner.parent) == ("pulumi-python:trainer:OwnerCheck", component.urn)
    assert owner.inputs["namespaces"] == guard.inputs["namespaces"]
    before = {owner.urn}
    for stage in stages:
        keys = [object_key(each) for each in stage]
        for child in children:
            if object_key(as_object(child)) in keys:
                assert before <= child.dependencies
        before = {urns[key] for key in keys}
    assert len(stages) >= (4 if project == "Coscheduling" else 5)
    assert guard.kind == "pulumi-python:trainer:DestroyGuard"
    assert (guard.name, guard.parent) == ("it:guard", component.urn)
    # The engine deletes it before everything that it depends on.
    assert set(urns.values()) <= guard.dependencies


def test_a_guard_knows_every_kind_that_a_release_defines() -> None:
    (guard,) = guards(lambda: platform.TrainerControlPlane("it"))
    assert guard.inputs["kinds"] == [
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind}
        for kind in ("ClusterTrainingRuntime", "TrainingRuntime", "TrainJob")
    ]
    assert guard.inputs["landmark"]["name"] == "kubeflow-system"


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_guard_is_left_out_or_looks_at_the_cluster_that_the_program_names() -> None:
    assert guards(lambda: platform.JobSetController("it", guard=False)) == []
    (east,) = guards(lambda: platform.JobSetController("it", guard={"context": "east"}))
    assert east.inputs["context"] == "east"


def test_a_chart_says_where_a_controller_runs() -> None:
    chart = platform.HelmChart("charts/jobset", "jobset", "training")
    assert platform.JobSetController.namespace_in({"manifests": chart}) == "training"
    assert platform.JobSetController.namespace_in({}) == "jobset-system"


def guards(program: Callable[[], object]) -> list[DeclaredResource]:
    made = declared_resources(program)
    return [each for each in made if each.kind.endswith(":DestroyGuard")]


class Site(pulumi.ComponentResource):
    """What a platform team wraps a controller in."""

    def __init__(self, name: str, opts: pulumi.ResourceOptions) -> None:
        super().__init__("acme:index:Site", name, None, opts)
        mine = pulumi.ResourceOptions(parent=self)
        self.jobset = platform.JobSetController(f"{name}-jobset", opts=mine)


@pytest.mark.usefixtures("kubectl_on_path")
def test_components_of_two_clusters_stand_side_by_side() -> None:
    def program() -> None:
        for name in ("east", "west"):
            cluster = pulumi_kubernetes.Provider(name, kubeconfig=name)
            Site(name, pulumi.ResourceOptions(providers=[cluster]))

    made = declared_resources(program)
    deployments = [each for each in made if each.kind.endswith(":Deployment")]
    assert len({each.urn for each in made}) == len(made)
    assert sorted(each.provider.partition("::")[2].split("::")[2] for each in deployments) == [
        "east",
        "west",
    ]


@pytest.mark.usefixtures("kubectl_on_path")
def test_a_program_changes_the_controllers_pods() -> None:
    made = deployment(
        lambda: platform.JobSetController(
            "it",
            image=pulumi.Output.from_input("mirror.example.com/jobset:1"),
            image_pull_policy="IfNotPresent",
            replicas=pulumi.Output.from_input(2),
            resources={"requests": {"cpu": "10m"}},
            node_selector={"role": "system"},
            tolerations=[{"key": "system", "operator": "Exists"}],
        )
    )["spec"]
    pods = made["template"]["spec"]
    (container,) = pods["containers"]

    assert made["replicas"] == 2
    assert container["image"] == "mirror.example.com/jobset:1"
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["resources"] == {"requests": {"cpu": "10m"}}
    assert pods["nodeSelector"] == {"role": "system"}
    assert pods["tolerations"] == [{"key": "system", "operator": "Exists"}]


@pytest.mark.usefixtures("kubectl_on_path")
def test_another_configuration_is_merged_and_starts_new_pods() -> None:
    def configured(client_qps: int) -> tuple[Any, str]:
        made = declared_objects(
            lambda: platform.JobSetController(
                "it", configuration={"clientConnection": {"qps": client_qps}}
            )
        )
        content = made["ConfigMap/jobset-system/jobset-manager-config"]["data"]
        pods = made["Deployment/jobset-system/jobset-controller-manager"]["spec"]["template"]
        read = yaml.safe_load(content["controller_manager_config.yaml"])
        return read, pods["metadata"]["annotations"][CONFIGURATION_HASH]

    slow, slow_hash = configured(10)
    fast, fast_hash = configured(1000)

    assert slow["clientConnection"] == {"qps": 10}
    assert fast["clientConnection"] == {"qps": 1000}
    assert slow["leaderElection"] == fast["leaderElection"] == {"leaderElect": True}
    assert slow_hash != fast_hash
    assert configured(10)[1] == slow_hash


def webhooks(made: Mapping[str, JSONObject]) -> set[str]:
    return {
        webhook["name"]
        for each in made.values()
        if each["kind"].endswith("WebhookConfiguration")
        for webhook in each["webhooks"]
    }


@pytest.mark.usefixtures("kubectl_on_path")
def test_kueue_judges_the_kinds_that_it_queues_and_no_others() -> None:
    training = webhooks(declared_objects(lambda: platform.Kueue("it")))
    pods = webhooks(declared_objects(lambda: platform.Kueue("it", frameworks=["pod", "batch/job"])))
    own = {"mclusterqueue.kb.io", "vclusterqueue.kb.io", "vcohort.kb.io", "mresourceflavor.kb.io",
           "vresourceflavor.kb.io", "mworkload.kb.io", "vworkload.kb.io"}  # fmt: skip

    assert training == own | {
        "mjobset.kb.io",
        "vjobset.kb.io",
        "mtrainjob.kb.io",
        "vtrainjob.kb.io",
    }
    assert pods == own | {"mpod.kb.io", "vpod.kb.io", "mjob.kb.io", "vjob.kb.io"}


@pytest.mark.usefixtures("kubectl_on_path")
def test_kueue_without_visibility_asks_the_api_server_to_serve_nothing() -> None:
    made = declared_objects(lambda: platform.Kueue("it", visibility=False))
    content = made["ConfigMap/kueue-system/kueue-manager-config"]["data"]
    read = yaml.safe_load(content["controller_manager_config.yaml"])

    assert "APIService" not in {each["kind"] for each in made.values()}
    assert read["featureGates"] == {"VisibilityOnDemand": False}
    assert read["integrations"]["frameworks"] == list(FRAMEWORKS)


def test_prometheus_is_asked_when_the_program_says_so() -> None:
    plain = declared_objects(lambda: platform.TrainerControlPlane("it"))
    asked = declared_objects(lambda: platform.TrainerControlPlane("it", service_monitor=True))
    (monitor,) = asked.keys() - plain.keys()
    service = asked["Service/kubeflow-system/kubeflow-trainer-controller-manager"]
    (endpoint,) = asked[monitor]["spec"]["endpoints"]

    assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
    selected = asked[monitor]["spec"]["selector"]["matchLabels"].items()
    assert selected <= service["metadata"].get("labels", {}).items()


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize(("implementation", "panels"), [("builtin", 12), ("upstream", 8)])
def test_a_dashboard_is_declared_when_the_program_says_so(
    implementation: Literal["builtin", "upstream"], panels: int
) -> None:
    given: dict[str, Any] = {"implementation": implementation}
    plain = declared_objects(lambda: platform.TrainerControlPlane("it", **given))
    asked = declared_objects(lambda: platform.TrainerControlPlane("it", dashboard=True, **given))
    (added,) = asked.keys() - plain.keys()
    page = json.loads(asked[added]["data"]["kubeflow-trainer.json"])
    queries = [target["expr"] for panel in page["panels"] for target in panel["targets"]]

    assert added == "ConfigMap/kubeflow-system/kubeflow-trainer-controller-manager-dashboard"
    assert asked[added]["metadata"]["labels"] == {"grafana_dashboard": "1"}
    assert all(
        '{namespace="kubeflow-system", service="kubeflow-trainer' in each for each in queries
    )
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in page["panels"]]
    assert len(set(places)) == len(page["panels"]) == panels


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("implementation", ["builtin", "upstream"])
@pytest.mark.parametrize("asked", [True, False])
def test_the_status_server_is_switched_and_a_programs_own_configuration_stays(
    asked: bool, implementation: Literal["builtin", "upstream"]
) -> None:
    made = declared_objects(
        lambda: platform.TrainerControlPlane(
            "it",
            implementation=implementation,
            status_server=asked,
            configuration={"statusServer": {"qps": 50}},
        )
    )
    content = made["ConfigMap/kubeflow-system/kubeflow-trainer-config"]["data"]
    read = yaml.safe_load(content["controller_manager_config.yaml"])
    assert read["featureGates"] == {"TrainJobStatus": asked}
    assert read["statusServer"]["qps"] == 50
    assert read["statusServer"]["port"] == 10443


OUTPUT = pulumi.Output.from_input("a")
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "an argument that is none": (
        {"replica": 2},
        "replica: is not an argument; did you mean replicas?",
    ),
    "a version that is not pinned": ({"version": "0.1"}, "version: is not a version of JobSet"),
    "a version that is a number": ({"version": 0.12}, "version: must be a text, got 0.12"),
    "a version that is not known yet": (
        {"version": OUTPUT},
        "version: is an Output, whose value the preview does not know; write the value itself",
    ),
    "a file that is not there": ({"manifests": "/no/file.yaml"}, "is not a file"),
    "a page without a hash": ({"manifests": "https://example.com/a.yaml"}, "name its hash"),
    "two sources": ({"manifests": "a.yaml", "version": "0.12.0"}, "exclude one another"),
    "an image without a name": ({"image": ""}, "image: must be the name of an image, got ''"),
    "an image of two names": ({"image": "a b"}, "image: must be the name of an image, got 'a b'"),
    "no pods": ({"replicas": 0}, "replicas: must be at least 1, got 0"),
    "a number in words": ({"replicas": "two"}, "replicas: must be a whole number, got 'two'"),
    "a policy that is none": (
        {"image_pull_policy": "Sometimes"},
        "image_pull_policy: must be Always, IfNotPresent or Never, got 'Sometimes'",
    ),
    "resources in words": ({"resources": "small"}, "resources: must be a mapping, got 'small'"),
    "a field of resources that is none": (
        {"resources": {"request": {"cpu": 1}}},
        "resources.request: unknown field; did you mean requests?",
    ),
    "an amount that is none": (
        {"resources": {"limits": {"memory": "2 GB"}}},
        "resources.limits.memory: must be a quantity",
    ),
    "more than the limit": (
        {"resources": {"requests": {"cpu": 2}, "limits": {"cpu": "500m"}}},
        "resources.requests.cpu: is more than its limit, 500m, got 2",
    ),
    "a label that is none": (
        {"node_selector": {"role": "a b"}},
        "node_selector.role: must",
    ),
    "labels in a list": (
        {"node_selector": ["role"]},
        "node_selector: must be a mapping, got ['role']",
    ),
    "one toleration": (
        {"tolerations": {"key": "a"}},
        "tolerations: must be a list, got {'key': 'a'}",
    ),
    "a toleration that is none": (
        {"tolerations": [{"key": "a", "effect": "Never"}]},
        "tolerations[0].effect: must be NoSchedule, PreferNoSchedule or NoExecute, got 'Never'",
    ),
    "a configuration in words": (
        {"configuration": "a: b"},
        "configuration: must be a mapping, and is of type str",
    ),
    "a configuration that is not known yet": (
        {"configuration": {"clientConnection": [{"qps": OUTPUT}]}},
        "configuration.clientConnection[0].qps: is an Output, whose value the preview does not know",
    ),
    "a configuration that no file can have": (
        {"configuration": {"a": {1, 2}}},
        "configuration.a: must be a value that JSON has, got {1, 2}",
    ),
    "an answer in words": ({"adopt": "yes"}, "adopt: must be True or False, got 'yes'"),
    "a guard in words": (
        {"guard": "yes"},
        "guard: must be True or False or a mapping, and is of type str",
    ),
    "a guard's field that is none": (
        {"guard": {"kube": "a"}},
        "guard.kube: is not a known field here; use kubeconfig, context",
    ),
    "credentials in a guard": (
        {"guard": {"kubeconfig": "apiVersion: v1\nusers: []"}},
        (
            "guard.kubeconfig: must be a path: the text of a kubeconfig has credentials, which the state "
            "would keep"
        ),
    ),
}


def refusal(component: Any, args: Mapping[str, Any]) -> str:
    """The one sentence with which a component refuses its arguments."""
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: component("it", **args))

    assert str(raised.value).startswith(f"{component.__name__} it: ")
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_argument_is_one_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    assert sentence in refusal(platform.JobSetController, args)


def test_all_bad_arguments_are_said_at_once() -> None:
    args: dict[str, Any] = {"image": "", "replicas": -1, "version": "0.1", "tolerations": [{}]}
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: platform.JobSetController("it", **args))

    paths = [line.split(": ")[1] for line in str(raised.value).splitlines()]
    assert paths == ["image", "replicas", "tolerations[0].operator", "version"]


@pytest.mark.usefixtures("kubectl_on_path")
def test_an_argument_that_is_none_or_an_output_is_taken() -> None:
    def by_urn(**args: Any) -> dict[str, DeclaredResource]:
        """Objects of one stage reach the engine in any order."""
        made = declared_resources(lambda: platform.JobSetController("it", **args))
        return {each.urn: each for each in made}

    nothing: dict[str, Any] = dict.fromkeys(("image", "manifests", "version", "guard", "replicas"))
    assert by_urn(**nothing) == by_urn()
    selected = deployment(
        lambda: platform.JobSetController("it", node_selector={"role": OUTPUT}, image=OUTPUT)
    )
    pods = selected["spec"]["template"]["spec"]
    assert pods["nodeSelector"] == {"role": "a"}
    assert pods["containers"][0]["image"] == "a"


KUEUE_MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a framework for a list": (
        {"frameworks": "trainer.kubeflow.org/trainjob"},
        "frameworks: must be a list, got 'trainer.kubeflow.org/trainjob'",
    ),
    "a framework that is none": (
        {"frameworks": ["trainjob.kubeflow.org/trainjob"]},
        (
            "frameworks: is not a kind of job that Kueue supports, got 'trainjob.kubeflow.org/trainjob'; "
            "did you mean trainer.kubeflow.org/trainjob?"
        ),
    ),
    "a framework with a group that its name has not": (
        {"frameworks": ["apps/deployment"]},
        "did you mean deployment?",
    ),
    "integrations that are none": (
        {"configuration": {"integrations": "pod"}},
        "configuration.integrations: must be an object, got 'pod'",
    ),
    "frameworks of the configuration that are no list": (
        {"configuration": {"integrations": {"frameworks": "pod"}}},
        "configuration.integrations.frameworks: must be a list, got 'pod'",
    ),
    "integrations that are not known yet": (
        {"configuration": {"integrations": OUTPUT}},
        "configuration.integrations: is an Output",
    ),
}


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("mistake", KUEUE_MISTAKES)
def test_a_bad_argument_of_kueue_is_one_sentence(mistake: str) -> None:
    args, sentence = KUEUE_MISTAKES[mistake]
    assert sentence in refusal(platform.Kueue, args)


@pytest.mark.usefixtures("kubectl_on_path")
def test_manifests_of_a_site_take_the_place_of_the_releases(tmp_path: Path) -> None:
    published = [dict(each) for each in release_objects(release_of("JobSet", None))]
    (mine,) = (each for each in published if each["kind"] == "Deployment")
    mine["metadata"] = {**mine["metadata"], "labels": {"site": "ours"}}
    file = tmp_path / "jobset.yaml"
    file.write_text(yaml.safe_dump_all(published))

    assert deployment(lambda: platform.JobSetController("it", manifests=str(file))) == mine
    file.write_text(yaml.safe_dump_all(each for each in published if each is not mine))
    with pytest.raises(pulumi.RunError, match="have no Deployment jobset-controller-manager"):
        declared_resources(lambda: platform.JobSetController("it", manifests=str(file)))


@pytest.mark.usefixtures("kubectl_on_path")
def test_certificates_that_a_chart_leaves_empty_are_the_controllers(tmp_path: Path) -> None:
    published = [dict(each) for each in release_objects(release_of("JobSet", None))]
    for each in published:
        if each["kind"] == "Secret":
            each["data"] = {"tls.crt": "", "kept": "a2VwdA=="}
        for webhook in each.get("webhooks", ()):
            webhook["clientConfig"] = {**webhook["clientConfig"], "caBundle": "Cg=="}
    file = tmp_path / "jobset.yaml"
    file.write_text(yaml.safe_dump_all(published))
    made = declared_objects(lambda: platform.JobSetController("it", manifests=str(file))).values()
    (secret,) = (each for each in made if each["kind"] == "Secret")
    webhooks = [webhook for each in made for webhook in each.get("webhooks", ())]
    assert secret["data"] == {"kept": "a2VwdA=="}
    assert webhooks != []
    assert not any("caBundle" in each["clientConfig"] for each in webhooks)
