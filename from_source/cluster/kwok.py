"""kwok v0.8.0: nodes and pods that only the API server knows, for pools larger than this machine.

It looks after nodes that say so, and leaves the real one to its kubelet. A pod on such a node is
ready at once and runs until it is deleted, or until its annotation `COMPLETE` says that it is done,
or `FAIL` that it has failed.
"""

from typing import Any, Final

import yaml

from from_source.cluster import build, credentials, daemon, live
from from_source.cluster.build import Program
from from_source.cluster.daemon import Component
from tools import schemas

JSON = dict[str, Any]

MODULE: Final = ("sigs.k8s.io/kwok", "v0.8.0")
"""Module and version of what runs."""
KWOK: Final = Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok")
"""What is built."""
COMPLETE: Final = "trainer-infra.local/complete"
"""Annotation of a pod that has done its work, with the value `true`."""
FAIL: Final = "trainer-infra.local/fail"
"""Annotation of a pod that fails, with the value `true`."""
TAINT: Final = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
"""Of every such node: what really has to run stays away."""

_ANNOTATION: Final = "kwok.x-k8s.io/node"
_STAGES: Final = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/pod/fast/pod-ready.yaml",
    "kustomize/stage/pod/fast/pod-delete.yaml",
)
"""What happens to nodes and pods, as published."""
_COMPLETES: Final = "kustomize/stage/pod/fast/pod-complete.yaml"
"""Published for pods of Jobs, which would all end at once."""
_BAD_END: Final = {"exitCode: 0": "exitCode: 1", "Completed": "Error", "Succeeded": "Failed"}
"""What a published stage says of a pod that ends well, and what it says of one that fails."""
_LEASE_SECONDS: Final = 40
_NAME: Final = "kwok"


def start() -> None:
    """Run its controller in the cluster of this machine; nothing to do where it runs.

    Raises:
        NotAvailable: It cannot be built, or the cluster does not run.
    """
    if daemon.alive(_NAME):
        return
    file = live.made() / "kwok.yaml"
    live.write_private(file, yaml.safe_dump_all(stages()).encode())
    flags = {
        "config": str(file),
        "kubeconfig": str(credentials.kubeconfig(credentials.ADMIN, credentials.INSIDE)),
        "manage-nodes-with-annotation-selector": f"{_ANNOTATION}=fake",
        "node-lease-duration-seconds": str(_LEASE_SECONDS),
        "cidr": "10.200.0.1/16",
    }
    command = (str(build.built(KWOK)), *(f"--{key}={value}" for key, value in flags.items()))
    component = Component(_NAME, command)
    daemon.start(component)
    daemon.wait_until_ready(component)


def stop() -> None:
    """End its controller; its nodes then stop being ready."""
    daemon.stop(_NAME)


def stages() -> list[JSON]:
    """What it does with nodes and pods."""
    folder = schemas.module_folder(*MODULE)
    published = [yaml.safe_load((folder / each).read_text()) for each in _STAGES]
    completes = yaml.safe_load((folder / _COMPLETES).read_text())
    return [*published, _ending(completes, COMPLETE), _failing(_ending(completes, FAIL))]


def _ending(completes: JSON, annotation: str) -> JSON:
    """The stage that ends a pod, for those with the annotation alone."""
    selector = [
        {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
        {"key": ".status.phase", "operator": "In", "values": ["Running"]},
        {"key": f'.metadata.annotations["{annotation}"]', "operator": "In", "values": ["true"]},
    ]
    name = annotation.rpartition("/")[2]
    spec = {**completes["spec"], "selector": {"matchExpressions": selector}}
    return {**completes, "metadata": {"name": f"pod-{name}"}, "spec": spec}


def _failing(stage: JSON) -> JSON:
    """The same with exit code 1."""
    following = stage["spec"]["next"]
    template = following["statusTemplate"]
    for good, bad in _BAD_END.items():
        template = template.replace(good, bad)
    return {**stage, "spec": {**stage["spec"], "next": {**following, "statusTemplate": template}}}


def node(name: str, labels: dict[str, str], capacity: dict[str, str]) -> JSON:
    """A node of its own making.

    Args:
        name: its name, and its label `kubernetes.io/hostname`.
        labels: further labels.
        capacity: by resource, for example `{"cpu": "96", "nvidia.com/gpu": "8"}`.
    """
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **labels},
            "annotations": {_ANNOTATION: "fake"},
        },
        "spec": {"taints": [TAINT]},
        "status": {"capacity": capacity, "allocatable": capacity},
    }
