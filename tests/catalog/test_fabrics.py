"""What a fabric adds to a runtime's training pods, and what it leaves as the runtime says it."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.catalog.fabrics import FABRICS, fabric_of
from trainer_infra.catalog.fabrics.pod_patch import PodPatch, patched_runtime
from trainer_infra.errors import InvalidInput

TORCH = catalog.get("torch-distributed").to_wire()


def pods_of(runtime: Any) -> dict[str, Any]:
    """The pod template of each replicated job."""
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    return {each["name"]: each["template"]["spec"]["template"] for each in jobs}


def test_efa_is_a_resource_two_variables_and_room_for_nccl() -> None:
    before = deepcopy(TORCH)
    pod = pods_of(fabric_of("efa", interfaces=16).wired_runtime(TORCH))["node"]
    assert before == TORCH
    assert pod == {
        "spec": {
            "containers": [
                {
                    "name": "node",
                    "image": "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
                    "resources": {
                        "requests": {"vpc.amazonaws.com/efa": 16},
                        "limits": {"vpc.amazonaws.com/efa": 16},
                    },
                    "env": [
                        {"name": "FI_PROVIDER", "value": "efa"},
                        {"name": "FI_EFA_USE_DEVICE_RDMA", "value": "1"},
                        {"name": "NCCL_SOCKET_IFNAME", "value": "^docker,lo,veth"},
                    ],
                    "volumeMounts": [{"name": "fabric-shared-memory", "mountPath": "/dev/shm"}],
                }
            ],
            "volumes": [{"name": "fabric-shared-memory", "emptyDir": {"medium": "Memory"}}],
        }
    }


def test_tcpxo_is_a_daemon_eight_networks_and_paths_of_the_node() -> None:
    pod = pods_of(fabric_of("tcpxo").wired_runtime(TORCH))["node"]
    annotations, spec = pod["metadata"]["annotations"], pod["spec"]
    (daemon,), (container,) = spec["initContainers"], spec["containers"]

    assert annotations["networking.gke.io/default-interface"] == "eth0"
    assert json.loads(annotations["networking.gke.io/interfaces"]) == [
        {"interfaceName": "eth0", "network": "default"},
        *({"interfaceName": f"eth{each}", "network": f"vpc{each}"} for each in range(1, 9)),
    ]
    devices = [f"nvidia{each}" for each in range(8)]
    devices += ["nvidiactl", "nvidia-uvm", "dmabuf_import_helper"]
    assert annotations["devices.gke.io/container.tcpxo-daemon"] == "".join(
        f"- path: /dev/{each}\n" for each in devices
    )
    assert daemon == {
        "name": "tcpxo-daemon",
        "image": "us-docker.pkg.dev/gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev:v1.0.21",
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",
        "command": ["/bin/sh", "-c"],
        "args": [
            (
                "set -ex; chmod 755 /fts/entrypoint_rxdm_container.sh; exec "
                "/fts/entrypoint_rxdm_container.sh --num_hops=2 --num_nics=8 --uid= --alsologtostderr"
            )
        ],
        "env": [{"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"}],
        "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
        "volumeMounts": [
            {"name": "fabric-nvidia", "mountPath": "/usr/local/nvidia"},
            {"name": "fabric-sys", "mountPath": "/hostsysfs"},
            {"name": "fabric-proc-sys", "mountPath": "/hostprocsysfs"},
        ],
    }
    paths = {
        each["name"]: each["hostPath"]["path"] for each in spec["volumes"] if "hostPath" in each
    }
    assert paths == {
        "fabric-nvidia": "/home/kubernetes/bin/nvidia",
        "fabric-sys": "/sys",
        "fabric-proc-sys": "/proc/sys",
        "fabric-aperture-devices": "/dev/aperture_devices",
    }
    env = {each["name"]: each["value"] for each in container["env"]}
    assert env["NCCL_FASTRAK_LLCM_DEVICE_DIRECTORY"] == "/dev/aperture_devices"
    assert env["NCCL_FASTRAK_IFNAME"] == "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8"


@pytest.mark.parametrize(
    ("name", "networks"),
    [
        ("tcpx", ["default", "vpc1", "vpc2", "vpc3", "vpc4"]),
        ("gke_rdma", ["default", "gvnic-1", *(f"rdma-{each}" for each in range(8))]),
    ],
)
def test_other_machines_of_gke_have_other_networks(name: Any, networks: list[str]) -> None:
    pod = pods_of(fabric_of(name).wired_runtime(TORCH))["node"]
    interfaces = json.loads(pod["metadata"]["annotations"]["networking.gke.io/interfaces"])
    assert [each["network"] for each in interfaces] == networks


def test_networks_have_the_names_that_the_cluster_gives_them() -> None:
    fabric = fabric_of("roce", networks=("net-a", "net-b"), interfaces=2, resource="rdma/roce")
    pod = pods_of(fabric.wired_runtime(TORCH))["node"]
    assert pod["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "net-a,net-b"}
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"] == {"rdma/roce": 2}
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_variables_of_a_pool_take_the_place_of_the_presets() -> None:
    fabric = fabric_of("infiniband", environment={"NCCL_NET": "UCX", "NCCL_TOPO_FILE": "/topo.xml"})
    (container,) = pods_of(fabric.wired_runtime(TORCH))["node"]["spec"]["containers"]
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "NCCL_NET": "UCX",
        "NCCL_IB_DISABLE": "0",
        "NCCL_TOPO_FILE": "/topo.xml",
    }


def test_what_a_runtime_says_itself_stays() -> None:
    runtime = deepcopy(TORCH)
    pod = pods_of(runtime)["node"]
    pod["metadata"] = {"annotations": {"mine": "1"}}
    (container,) = pod["spec"]["containers"]
    container["env"] = [{"name": "FI_PROVIDER", "value": "tcp"}]
    container["resources"] = {"limits": {"vpc.amazonaws.com/efa": 2}}
    container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]
    pod["spec"]["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]

    made = pods_of(fabric_of("efa", interfaces=16).wired_runtime(runtime))["node"]
    (wired,) = made["spec"]["containers"]
    assert made["metadata"]["annotations"] == {"mine": "1"}
    assert wired["env"][0] == {"name": "FI_PROVIDER", "value": "tcp"}
    assert [each["name"] for each in wired["env"]].count("FI_PROVIDER") == 1
    assert wired["resources"]["limits"] == {"vpc.amazonaws.com/efa": 2}
    assert wired["volumeMounts"] == [{"name": "shm", "mountPath": "/dev/shm"}]


def test_a_launcher_gets_it_where_it_trains_as_well() -> None:
    runtime = catalog.get("deepspeed-distributed").to_wire()
    wired = pods_of(fabric_of("efa", interfaces=4).wired_runtime(runtime))
    apart = deepcopy(runtime)
    apart["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = False
    other = pods_of(fabric_of("efa", interfaces=4).wired_runtime(apart))

    has_efa = {"limits": {"vpc.amazonaws.com/efa": 4}, "requests": {"vpc.amazonaws.com/efa": 4}}
    assert wired["launcher"]["spec"]["containers"][0]["resources"] == has_efa
    assert wired["node"]["spec"]["containers"][0]["resources"] == has_efa
    assert "resources" not in other["launcher"]["spec"]["containers"][0]


def test_initializers_do_not_use_the_fabric() -> None:
    runtime = catalog.get("torchtune-llama3.2-1b").to_wire()
    wired, before = pods_of(fabric_of("tcpxo").wired_runtime(runtime)), pods_of(runtime)
    assert wired["dataset-initializer"] == before["dataset-initializer"]
    assert wired["model-initializer"] == before["model-initializer"]
    assert wired["node"] != before["node"]


@pytest.mark.parametrize("fabric", FABRICS)
def test_wiring_twice_is_refused_and_says_what_is_there(fabric: Any) -> None:
    mixin = fabric_of(fabric, interfaces=FABRICS[fabric].interfaces or 8)
    wired = mixin.wired_runtime(TORCH)
    with pytest.raises(InvalidInput) as raised:
        mixin.wired_runtime(wired)
    assert (
        str(raised.value).splitlines()[-1].startswith("ClusterTrainingRuntime torch-distributed: ")
    )
    assert "has fabric-shared-memory already, which the fabric brings" in str(raised.value)


def test_a_runtime_without_pods_that_train_is_refused() -> None:
    runtime = deepcopy(TORCH)
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    job["name"] = "worker"
    with pytest.raises(InvalidInput, match="has no job node"):
        patched_runtime(runtime, PodPatch())


def test_a_training_job_without_its_container_is_refused() -> None:
    runtime = deepcopy(TORCH)
    pods_of(runtime)["node"]["spec"]["containers"][0]["name"] = "main"
    with pytest.raises(InvalidInput, match="job node has no container node"):
        patched_runtime(runtime, PodPatch())


def test_the_page_has_a_row_for_each_preset() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gpu-node-pools.md").read_text()
    for each in FABRICS.values():
        row = f"| `{each.name}` | {each.title} | {each.source} | {each.date} | {each.proven} |"
        assert row in page
