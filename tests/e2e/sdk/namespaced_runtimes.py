"""Runtimes in a user's namespace whose pods can start here: our image, packages from the host."""

from collections.abc import Iterator
from typing import Any

from from_source.cluster import python
from tests.e2e import runtimes
from trainer_infra import names

JSON = dict[str, Any]


def namespaced_runtimes() -> Iterator[JSON]:
    """Of one node each."""
    yield _tried_once(_runtime("plain", "plain-distributed", "kubeflow"))
    yield _runtime("mpi", "deepspeed-distributed", "mpi")
    # Named as one of the cluster.
    yield _runtime("torch-distributed", "torch-distributed", "torch")
    unlabelled = _runtime("unlabelled", "plain-distributed", "kubeflow")
    del unlabelled["metadata"]["labels"][names.FRAMEWORK_LABEL]
    yield unlabelled
    yield _fetching()


def _runtime(name: str, shipped: str, packages: str) -> JSON:
    made = runtimes.on_host(shipped, python.environment(packages)).to_wire()
    made["kind"] = names.TRAINING_RUNTIME
    made["metadata"]["name"] = name
    for job in made["spec"]["template"]["spec"]["replicatedJobs"]:
        # Bash as the first process of a container leaves it at SIGTERM to be killed.
        job["template"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return made


def _tried_once(made: JSON) -> JSON:
    for job in made["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"]["backoffLimit"] = 0
        job["template"]["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    return made


def _fetching() -> JSON:
    """Initializers that say what they are asked for, before a node."""
    made = _runtime("fetching", "torchtune-llama3.2-1b", "kubeflow")
    made["metadata"]["labels"][names.FRAMEWORK_LABEL] = "plain"
    made["spec"]["mlPolicy"] = {"numNodes": 1}
    volume = {"name": "initializer", "emptyDir": {}}
    spec = made["spec"]["template"]["spec"]
    del spec["volumeClaimPolicies"]
    for job in spec["replicatedJobs"]:
        pod = job["template"]["spec"]["template"]["spec"]
        pod["volumes"] = [*pod["volumes"], volume]
        pod["containers"][0]["command"] = ["env"]
    return made
