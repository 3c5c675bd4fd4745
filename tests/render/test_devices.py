"""Each device of the catalog on each framework: processes, slots and world size, as a table says by hand."""

import itertools
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline

CPUS = 96
DEVICES = {
    "cpu alone": ({}, 96, 1),
    "nvidia.com/gpu": ({"nvidia.com/gpu": 8}, "auto", 8),
    "nvidia.com/gpu.shared": ({"nvidia.com/gpu.shared": 2}, "auto", 2),
    "amd.com/gpu": ({"amd.com/gpu": 8}, "auto", 8),
    "one MIG slice": ({"nvidia.com/mig-1g.10gb": 1}, 1, 1),
    "MIG slices": ({"nvidia.com/mig-3g.40gb": 2, "nvidia.com/mig-1g.10gb": 1}, 3, 3),
    "AMD partitions": ({"amd.com/cpx_nps4": 4}, 4, 4),
    "Intel GPUs": ({"gpu.intel.com/i915": 2}, 2, 2),
    "Intel GPUs and their memory": (
        {"gpu.intel.com/memory.max": "4Gi", "gpu.intel.com/i915": 2},
        2,
        2,
    ),
    "Gaudi": ({"habana.ai/gaudi": 8}, 8, 8),
    "TPU": ({"google.com/tpu": 4}, 4, 4),
    "Neuron": ({"aws.amazon.com/neuron": 16}, 16, 16),
    "Neuron cores": ({"aws.amazon.com/neuroncore": 32}, 32, 32),
    "Ascend": ({"huawei.com/Ascend910": 8}, 8, 8),
    "Ascend and its memory": (
        {"huawei.com/Ascend910A-memory": 2184, "huawei.com/Ascend910A": 1},
        1,
        1,
    ),
    "Cambricon": ({"cambricon.com/mlu": 4}, 4, 4),
    "Hygon": ({"hygon.com/dcunum": 2, "hygon.com/dcumem": 2000, "hygon.com/dcucores": 60}, 2, 2),
    "MetaX": ({"metax-tech.com/gpu": 2}, 2, 2),
    "HAMi": (
        {"nvidia.com/gpumem": 3000, "nvidia.com/gpucores": 30, "nvidia.com/gpu": 1},
        "auto",
        1,
    ),
    "HAMi by percentage": ({"nvidia.com/gpumem-percentage": 50, "nvidia.com/gpu": 2}, "auto", 2),
    "HAMi without a number": ({"nvidia.com/gpumem": 3000}, "auto", 1),
    "Volcano": ({"volcano.sh/vgpu-memory": 3000, "volcano.sh/vgpu-number": 2}, 2, 2),
    "Koordinator": (
        {"koordinator.sh/gpu-core": 50, "koordinator.sh/gpu-memory-ratio": 50},
        "auto",
        1,
    ),
    "Alibaba": ({"aliyun.com/gpu-count": 2, "aliyun.com/gpu-mem": 16}, 2, 2),
    "a vendor that is not known": ({"example.com/gpu": 2}, "auto", 2),
    "network cards": ({"vpc.amazonaws.com/efa": 32, "rdma/hca_shared": 1}, 96, 1),
    "network cards beside GPUs": ({"vpc.amazonaws.com/efa": 32, "nvidia.com/gpu": 8}, "auto", 8),
}
"""What a node asks for beside 96 CPUs; torchrun's processes; devices that count elsewhere."""


def job(runtime: str, nodes: int, asked: dict[str, Any], **trainer: Any) -> TrainJob:
    amounts = {"cpu": CPUS, **asked}
    both = {"limits": amounts, "requests": amounts}
    launcher = {"torch-distributed": "torchrun", "deepspeed-distributed": "mpirun"}
    command = [launcher.get(runtime, "python"), "t.py"]
    spec = {"numNodes": nodes, "command": command, "resourcesPerNode": both, **trainer}
    return TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj", "namespace": "n"},
            "spec": {"runtimeRef": {"name": runtime}, "trainer": spec},
        }
    )


def rendered(runtime: str, nodes: int, asked: dict[str, Any]) -> tuple[dict[str, str], str]:
    """The variables of all containers, and the hostfile."""
    objects = pipeline.render(job(runtime, nodes, asked), catalog.get(runtime))
    jobs = objects[-1]["spec"]["replicatedJobs"]
    pods = (each["template"]["spec"]["template"]["spec"] for each in jobs)
    containers = itertools.chain.from_iterable(each["containers"] for each in pods)
    env = {v["name"]: v.get("value", "") for each in containers for v in each.get("env", ())}
    texts = (each["data"].get("hostfile", "") for each in objects if each["kind"] == "ConfigMap")
    return env, "".join(texts)


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize(("asked", "processes", "devices"), DEVICES.values(), ids=DEVICES)
def test_q6_processes_follow_the_devices(
    asked: dict[str, Any], processes: int | str, devices: int, nodes: int
) -> None:
    torch, _ = rendered("torch-distributed", nodes, asked)
    assert (torch["PET_NPROC_PER_NODE"], torch["PET_NNODES"]) == (str(processes), str(nodes))
    for each in ("deepspeed-distributed", "mlx-distributed"):
        mpi, hosts = rendered(each, nodes, asked)
        assert mpi["OMPI_MCA_orte_set_default_slots"] == str(devices)
        assert mpi["PRTE_MCA_prte_set_default_slots"] == str(devices)
        assert {line.partition(" ")[2] for line in hosts.splitlines()} == {f"slots={devices}"}
    xgboost, _ = rendered("xgboost-distributed", nodes, asked)
    assert xgboost["DMLC_NUM_WORKER"] == str(nodes * devices)
    jax, _ = rendered("jax-distributed", nodes, asked)
    assert jax["JAX_NUM_PROCESSES"] == str(nodes)
    assert "PET_NPROC_PER_NODE" not in rendered("plain-distributed", nodes, asked)[0]


@pytest.mark.parametrize("runtime", ["jax-distributed", "xgboost-distributed", "plain-distributed"])
def test_num_proc_that_nothing_reads_is_refused(runtime: str) -> None:
    with pytest.raises(
        InvalidInput, match=r"spec\.trainer\.numProcPerNode: has no effect on this runtime"
    ):
        pipeline.render(job(runtime, 1, {}, numProcPerNode=3), catalog.get(runtime))


@pytest.mark.parametrize(
    ("asked", "trainer", "said"),
    [
        ({"example.com/npu": 4}, {}, "a node asks for example.com/npu, and whether"),
        ({"example.com/npu": 4}, {"numProcPerNode": 4}, ""),
        ({"example.com/npu": 4, "nvidia.com/gpu": 4}, {}, ""),
        (
            {"aws.amazon.com/neuron": 16},
            {},
            "a node gets one process for each aws.amazon.com/neuron,",
        ),
        ({"rdma/hca": 1}, {}, ""),
        ({}, {}, ""),
    ],
)
@pytest.mark.parametrize("runtime", ["torch-distributed", "deepspeed-distributed"])
def test_a_resource_that_does_not_say_how_many_processes_is_told(
    asked: dict[str, Any], trainer: dict[str, Any], said: str, runtime: str
) -> None:
    warnings = pipeline.rendering_warnings(job(runtime, 1, asked, **trainer), catalog.get(runtime))
    assert [each[: len(said)] for each in warnings] == ([said] if said else [])


@pytest.mark.parametrize(
    ("limits", "requests", "said"),
    [
        ({}, {"nvidia.com/gpu": 1}, "Kubernetes takes no request for a device without its limit"),
        ({"cpu": 1}, {"google.com/tpu": "4"}, "no request for a device without its limit"),
        ({"nvidia.com/gpu": "0.5"}, {}, "must be a whole number"),
        ({"nvidia.com/gpu": "500m"}, {"nvidia.com/gpu": "500m"}, "must be a whole number"),
        ({"nvidia.com/mig-1g.10gb": "1500m"}, {}, "must be a whole number"),
        ({"nvidia.com/gpu": 2}, {"nvidia.com/gpu": 1}, "for a device equal to it"),
        ({"nvidia.com/gpu": "2k", "cpu": "500m"}, {}, ""),
        ({"cpu": "0.5", "memory": "1.5Gi"}, {"cpu": "100m"}, ""),
    ],
)
def test_devices_that_kubernetes_refuses_are_refused_at_preview(
    limits: dict[str, Any], requests: dict[str, Any], said: str
) -> None:
    both = {"limits": limits, "requests": requests}
    given = job("torch-distributed", 1, {}, resourcesPerNode=both)
    found = pipeline.rendering_problems(given, catalog.get("torch-distributed"))
    assert [said in each.what for each in found] == ([True] if said else [])
    assert all(each.fix and each.path.startswith("spec.trainer.resourcesPerNode") for each in found)
