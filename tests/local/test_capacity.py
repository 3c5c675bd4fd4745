"""What a run asks for and this machine does not have is said, once for all runs alike."""

import os
from typing import Any

import psutil

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.local import capacity
from trainer_infra.local.capacity import Machine
from trainer_infra.local.target import ThisMachine
from trainer_infra.render import pipeline

SMALL = Machine(2, 4 * 1024**3, {"nvidia.com/gpu": 1})


def said(machine: Machine = SMALL, **trainer: Any) -> list[str]:
    job = TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj", "namespace": "ns"},
            "spec": {
                "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": "plain-distributed"},
                "trainer": {"command": ["true"], **trainer},
            },
        }
    )
    objects = pipeline.render(job, catalog.get("plain-distributed"))
    return list(capacity.capacity_warnings(objects, machine))


def test_what_fits_is_not_said() -> None:
    fits = {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": 1}
    assert said(numNodes=64) == []
    assert said(numNodes=2, resourcesPerNode={"requests": {"cpu": 1, "memory": "2Gi"}}) == []
    assert said(numNodes=1, resourcesPerNode={"limits": fits}) == []


def test_what_is_asked_for_and_not_there_is_said() -> None:
    wanted = {"cpu": "500m", "memory": "1536Mi", "nvidia.com/gpu": 2, "rdma/hca": 1}
    assert said(numNodes=65, resourcesPerNode={"limits": wanted}) == [
        (
            "65 pods are as many processes on the 2 processors of this machine, which has room for "
            "some 64; lower numNodes for this target"
        ),
        "32.5 CPUs requested in all, and this machine has 2: the processes take turns",
        (
            "97.5Gi of memory requested in all, and this machine has 4.0Gi: the kernel may end "
            "processes"
        ),
        "130 nvidia.com/gpu requested in all, and this machine has 1: the processes share 1",
        "65 rdma/hca requested in all, and this machine has 0: the processes run without",
    ]


def test_this_machine_is_what_it_is() -> None:
    here = Machine.here()
    assert here.processors == os.cpu_count()
    assert here.memory == psutil.virtual_memory().total
    assert set(here.devices) == set(capacity.DEVICES)
    pods: dict[str, Any] = {"template": {"spec": {"template": {"spec": {}}}}}
    many = {
        "kind": "JobSet",
        "spec": {"replicatedJobs": [{"name": "n", "replicas": 10**6, **pods}]},
    }
    assert "1,000,000 pods" in ThisMachine().warnings((many,))[0]
