"""Device drivers: what each kind installs, that training goes on, and that there is one for a cluster."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes
import pytest

from tests.platform.declared_resources import declared_objects, declared_resources
from trainer_infra import platform
from trainer_infra.platform.drivers.driver_arguments import DeviceDriverArgs

POLICY = """
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver: {{ toJson .Values.driver }}
  toolkit: {{ toJson .Values.toolkit }}
  cdi: {{ toJson .Values.cdi }}
  daemonsets: {{ toJson .Values.daemonsets }}
  hostPaths: {{ toJson .Values.hostPaths }}
"""
HOOK = """
{{ if .Values.operator.upgradeCRD }}
apiVersion: batch/v1
kind: Job
metadata: {name: upgrade-crd, annotations: {helm.sh/hook: pre-upgrade}}
{{ end }}
"""
PLUGIN = """
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: "{{ .Release.Namespace }}"}
data: {values: {{ toJson .Values | quote }}}
"""
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
P5: Mapping[str, Any] = {
    "backend": "existing",
    "machine_type": "p5.48xlarge",
    "nodes": {"max": 1},
}
GKE: Mapping[str, Any] = {
    "backend": "gke_compute_class",
    "machine_type": "g2-standard-4",
    "nodes": {"max": 1},
}


def write_chart(folder: Path, **templates: str) -> str:
    (folder / "templates").mkdir()
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: tiny\nversion: 1.0.0\n")
    (folder / "values.yaml").write_text(
        "operator: {upgradeCRD: true}\ntoolkit: {enabled: true}\nhostPaths: {}\n"
    )
    for name, text in templates.items():
        (folder / "templates" / f"{name}.yaml").write_text(text)
    return str(folder)


@pytest.fixture
def operator_chart(tmp_path: Path) -> str:
    """A chart with the values of NVIDIA's, and a hook that those switch off."""
    return write_chart(tmp_path, policy=POLICY, hook=HOOK)


def policy(chart: str, **args: Any) -> Any:
    made = declared_objects(
        lambda: platform.DeviceDriver("gpu", kind="gpu_operator", chart=chart, **args)
    )
    return made["ClusterPolicy/cluster-policy"]["spec"]


@pytest.mark.usefixtures("helm_on_path")
def test_the_operator_waits_for_training_before_it_restarts_a_driver(operator_chart: str) -> None:
    assert policy(operator_chart)["driver"] == {
        "enabled": True,
        "upgradePolicy": {
            "autoUpgrade": True,
            "maxParallelUpgrades": 1,
            "maxUnavailable": "25%",
            "waitForCompletion": {
                "podSelector": "jobset.sigs.k8s.io/jobset-name",
                "timeoutSeconds": 0,
            },
            "gpuPodDeletion": {"force": False, "timeoutSeconds": 300, "deleteEmptyDir": False},
            "drain": {"enable": False},
        },
    }


@pytest.mark.usefixtures("helm_on_path")
def test_the_operator_has_a_namespace_and_tolerates_the_machines(operator_chart: str) -> None:
    made = declared_objects(
        lambda: platform.DeviceDriver("gpu", kind="gpu_operator", chart=operator_chart)
    )
    assert made.keys() == {"Namespace/gpu-operator", "ClusterPolicy/cluster-policy"}
    spec = made["ClusterPolicy/cluster-policy"]["spec"]
    assert spec["daemonsets"] == {"tolerations": [TOLERATION]}
    assert spec["toolkit"] == {"enabled": True}


@pytest.mark.usefixtures("helm_on_path")
def test_the_operator_installs_no_driver_where_machines_have_one(operator_chart: str) -> None:
    spec = policy(operator_chart, cloud="aws")
    assert spec["driver"]["enabled"] is False
    assert spec["toolkit"] == {"enabled": False}
    assert policy(operator_chart, cloud="aws", has_driver=False)["driver"]["enabled"] is True


@pytest.mark.usefixtures("helm_on_path")
def test_on_gke_the_driver_is_elsewhere_and_pods_need_a_quota(operator_chart: str) -> None:
    made = declared_objects(
        lambda: platform.DeviceDriver("gpu", kind="gpu_operator", cloud="gcp", chart=operator_chart)
    )
    spec = made["ClusterPolicy/cluster-policy"]["spec"]
    assert spec["hostPaths"] == {"driverInstallDir": "/home/kubernetes/bin/nvidia"}
    assert spec["toolkit"] == {"enabled": True, "installDir": "/home/kubernetes/bin/nvidia"}
    assert made["ResourceQuota/gpu-operator/critical-pods"]["spec"] == {
        "hard": {"pods": "1G"},
        "scopeSelector": {
            "matchExpressions": [
                {
                    "scopeName": "PriorityClass",
                    "operator": "In",
                    "values": ["system-node-critical", "system-cluster-critical"],
                }
            ]
        },
    }


@pytest.mark.usefixtures("helm_on_path")
def test_the_values_of_a_program_are_merged(operator_chart: str) -> None:
    spec = policy(
        operator_chart,
        training_pods="team=vision",
        values={"driver": {"version": "580.1", "upgradePolicy": {"maxUnavailable": 1}}},
    )
    assert spec["driver"]["version"] == "580.1"
    assert spec["driver"]["upgradePolicy"]["maxUnavailable"] == 1
    assert spec["driver"]["upgradePolicy"]["waitForCompletion"]["podSelector"] == "team=vision"


@pytest.mark.usefixtures("helm_on_path")
def test_a_program_may_end_training_when_it_says_so(operator_chart: str) -> None:
    values = {"driver": {"upgradePolicy": {"drain": {"enable": True}}}}
    spec = policy(operator_chart, values=values, may_interrupt_training=True)
    assert spec["driver"]["upgradePolicy"]["drain"] == {"enable": True}


def test_the_device_plugin_is_a_daemon_set() -> None:
    made = declared_objects(
        lambda: platform.DeviceDriver(
            "gpu",
            kind="device_plugin",
            image="mirror.example.com/plugin:1",
            runtime_class="nvidia",
            node_selector={"trainer-infra.dev/pool": "h100"},
        )
    )
    labels = {"app.kubernetes.io/name": "nvidia-device-plugin"}
    assert made == {
        "DaemonSet/kube-system/nvidia-device-plugin": {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": {
                "name": "nvidia-device-plugin",
                "namespace": "kube-system",
                "labels": labels,
            },
            "spec": {
                "selector": {"matchLabels": labels},
                "updateStrategy": {"type": "RollingUpdate"},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "priorityClassName": "system-node-critical",
                        "tolerations": [TOLERATION],
                        "nodeSelector": {"trainer-infra.dev/pool": "h100"},
                        "runtimeClassName": "nvidia",
                        "containers": [
                            {
                                "name": "nvidia-device-plugin",
                                "image": "mirror.example.com/plugin:1",
                                "env": [{"name": "FAIL_ON_INIT_ERROR", "value": "false"}],
                                "securityContext": {
                                    "allowPrivilegeEscalation": False,
                                    "capabilities": {"drop": ["ALL"]},
                                },
                                "volumeMounts": [
                                    {
                                        "name": "sockets",
                                        "mountPath": "/var/lib/kubelet/device-plugins",
                                    }
                                ],
                            }
                        ],
                        "volumes": [
                            {
                                "name": "sockets",
                                "hostPath": {"path": "/var/lib/kubelet/device-plugins"},
                            }
                        ],
                    },
                },
            },
        }
    }


@pytest.mark.usefixtures("helm_on_path")
def test_the_dra_driver_serves_gpus_and_compute_domains(tmp_path: Path) -> None:
    chart = write_chart(tmp_path, values=PLUGIN)
    made = declared_objects(
        lambda: platform.DeviceDriver(
            "gpu", kind="dra_driver", chart=chart, cloud="gcp", compute_domains=False
        )
    )
    values = made["ConfigMap/dra-driver-nvidia-gpu/values"]["data"]["values"]
    assert '"nvidiaDriverRoot":"/home/kubernetes/bin/nvidia"' in values
    assert '"resources":{"computeDomains":{"enabled":false},"gpus":{"enabled":true}}' in values
    assert '"gpuResourcesEnabledOverride":true' in values


def test_manifests_of_a_site_take_the_place_of_the_chart(tmp_path: Path) -> None:
    file = tmp_path / "dra.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: x}\n")
    made = declared_objects(
        lambda: platform.DeviceDriver("gpu", kind="dra_driver", manifests=str(file), namespace="x")
    )
    assert made.keys() == {"Namespace/x", "ConfigMap/x/mine"}


OPERATOR: DeviceDriverArgs = {"kind": "gpu_operator", "version": "v26.7.0"}
MISTAKES: Mapping[str, tuple[Any, str]] = {
    "no kind": ({}, "kind: is missing; use device_plugin, dra_driver, gpu_operator"),
    "a kind that is none": (
        {"kind": "operator"},
        "kind: must be device_plugin or dra_driver or gpu_operator, got 'operator'; did you mean gpu_operator?",
    ),
    "an argument of another kind": (
        {"kind": "device_plugin", "training_pods": "a=b"},
        "training_pods: is of gpu_operator; device_plugin has none",
    ),
    "a chart that changes by itself": (
        {"kind": "gpu_operator"},
        "version: is missing: without it each run may install another release",
    ),
    "two sources": (
        {"kind": "dra_driver", "manifests": "a.yaml", "version": "0.5.0"},
        "version: and manifests= exclude one another, got '0.5.0'; leave one of the two out",
    ),
    "a value that helm cannot wait for": (
        {**OPERATOR, "values": {"driver": {"version": pulumi.Output.from_input("580.1")}}},
        "values.driver.version: is an Output, whose value the preview does not know; write the value itself",
    ),
    "an upgrade that waits for no pod": (
        {**OPERATOR, "training_pods": ""},
        ("values.driver.upgradePolicy.waitForCompletion.podSelector: is empty, so that an upgrade waits "
        "for no pod"),
    ),
    "an upgrade that ends pods": (
        {**OPERATOR, "values": {"driver": {"upgradePolicy": {"gpuPodDeletion": {"force": True}}}}},
        "values.driver.upgradePolicy.gpuPodDeletion.force: lets an upgrade end training pods",
    ),
    "an upgrade that drains machines": (
        {**OPERATOR, "values": {"driver": {"upgradePolicy": {"drain": {"enable": True}}}}},
        ("values.driver.upgradePolicy.drain.enable: lets an upgrade end training pods; leave it out, or "
        "say may_interrupt_training=True"),
    ),
    "an upgrade that waits for a while": (
        {**OPERATOR, "values": {"driver": {"upgradePolicy": {"waitForCompletion": {"timeoutSeconds": 9}}}}},
        ("values.driver.upgradePolicy.waitForCompletion.timeoutSeconds: lets an upgrade end training pods "
        "after that time; write 0, or say may_interrupt_training=True"),
    ),
}  # fmt: skip


def refusal(program: Callable[[], object]) -> str:
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(program)
    return str(raised.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    said = refusal(lambda: platform.DeviceDriver("gpu", **args))
    assert said.startswith(f"DeviceDriver gpu: {sentence}")
    assert "\n" not in said


def cluster(name: str = "east") -> pulumi.ResourceOptions:
    """Of one cluster of a program; without a provider mocks do not tell one test's program from another's."""
    return pulumi.ResourceOptions(provider=pulumi_kubernetes.Provider(name, kubeconfig=name))


def test_a_cluster_has_one_driver() -> None:
    def program() -> None:
        opts = cluster()
        platform.DeviceDriver("plugin", kind="device_plugin", opts=opts)
        platform.DeviceDriver("more", kind="device_plugin", namespace="more", opts=opts)

    assert refusal(program) == (
        "DeviceDriver more: the cluster has the DeviceDriver plugin already; keep one of the two"
    )


def test_two_clusters_have_one_each() -> None:
    def program() -> None:
        for name in ("east", "west"):
            opts = cluster(name)
            platform.DeviceDriver(name, kind="device_plugin", opts=opts)
            platform.GpuNodePool(f"{name}-l4", **P5, opts=opts)

    kinds = [each.kind for each in declared_resources(program)]
    assert kinds.count("kubernetes:apps/v1:DaemonSet") == 2


def test_programs_of_one_process_and_stack_know_nothing_of_one_another() -> None:
    """So run the unit tests of a user who sets mocks once."""

    def program() -> None:
        for _ in range(2):
            platform.DeviceDriver("plugin", kind="device_plugin")

    kinds = [each.kind for each in declared_resources(program)]
    assert kinds.count("kubernetes:apps/v1:DaemonSet") == 2


CONFLICTS: Mapping[str, tuple[Any, Any, str]] = {
    "another driver than the pool's": (
        {"kind": "device_plugin"},
        {**P5, "driver": "dra_driver"},
        ("driver: pool h100 has the driver dra_driver, and DeviceDriver gpu is a device_plugin; say "
        "driver='device_plugin' of the pool"),
    ),
    "two drivers on one machine": (
        OPERATOR,
        P5,
        ("driver: the cloud installs the driver of pool h100, and DeviceDriver gpu installs another; say "
        "driver='gpu_operator' of the pool, or has_driver=True"),
    ),
    "two device plugins on one machine": (
        {"kind": "device_plugin"},
        GKE,
        ("driver: GKE runs a device plugin on pool h100, and DeviceDriver gpu runs another; say "
        "driver='device_plugin' of the pool"),
    ),
}  # fmt: skip


@pytest.mark.usefixtures("helm_on_path")
@pytest.mark.parametrize("conflict", CONFLICTS)
def test_a_pool_and_a_driver_that_do_not_go_together_are_refused(
    conflict: str, operator_chart: str
) -> None:
    driver, pool, sentence = CONFLICTS[conflict]
    if driver["kind"] == "gpu_operator":
        driver = {"kind": "gpu_operator", "chart": operator_chart}

    def driver_first() -> None:
        opts = cluster()
        platform.DeviceDriver("gpu", **driver, opts=opts)
        platform.GpuNodePool("h100", **pool, opts=opts)

    def pool_first() -> None:
        opts = cluster()
        platform.GpuNodePool("h100", **pool, opts=opts)
        platform.DeviceDriver("gpu", **driver, opts=opts)

    assert refusal(driver_first) == f"GpuNodePool h100: {sentence}"
    assert refusal(pool_first) == f"DeviceDriver gpu: {sentence}"


@pytest.mark.usefixtures("helm_on_path")
def test_a_pool_and_its_driver_stand_side_by_side(operator_chart: str) -> None:
    def program() -> None:
        opts = cluster()
        platform.GpuNodePool("h100", **P5, driver="gpu_operator", opts=opts)
        platform.GpuNodePool("l4", **GKE, driver="gpu_operator", opts=opts)
        platform.DeviceDriver("gpu", kind="gpu_operator", chart=operator_chart, opts=opts)

    assert declared_objects(program).keys() >= {"ClusterPolicy/cluster-policy"}
