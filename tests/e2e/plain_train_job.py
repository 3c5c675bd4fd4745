"""A TrainJob of Trainer's own API that needs no framework, posted as a person does with kubectl."""

import json
from collections.abc import Mapping
from typing import Any

from from_source.cluster import busybox
from tests.e2e.cluster import Namespace
from tests.e2e.disruptive.queues import TRAINER
from trainer_infra import names

UNTIL_TOLD = "trap 'exit 1' TERM; until [ -e /tmp/end ]; do sleep 0.2; done; sleep 1"
"""A command that ends well once `end` was called of its pod, and badly when it is stopped.

It outlives the command by which it is told, which a container that ends takes along (137).
"""


def post_train_job(
    namespace: Namespace,
    name: str,
    command: str,
    queue: str = "",
    image: str = busybox.IMAGE,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    resources: Mapping[str, Any] | None = None,
) -> None:
    """Post a runtime and a TrainJob on it.

    Args:
        namespace: where.
        name: of the TrainJob.
        command: of the shell.
        queue: Kueue's LocalQueue; none unless given.
        image: of the pod.
        labels: further ones of the TrainJob.
        annotations: of the runtime's pods.
        resources: of the runtime's container.
    """
    container = {"name": "node", "image": busybox.IMAGE, "imagePullPolicy": "IfNotPresent"}
    pod = {
        "metadata": {"annotations": dict(annotations or {})},
        "spec": {"containers": [{**container, "resources": dict(resources or {})}]},
    }
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": pod},
    }
    spec = {"replicatedJobs": [{"name": "node", "template": template}]}
    runtime = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAINING_RUNTIME,
        "metadata": {"name": "plain", "labels": {"trainer.kubeflow.org/framework": "plain"}},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": spec}},
    }
    queued = {names.KUEUE_QUEUE_LABEL: queue} if queue else {}
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": {**queued, **(labels or {})}},
        "spec": {
            "runtimeRef": {"name": "plain", "kind": names.TRAINING_RUNTIME},
            "trainer": {**TRAINER, "image": image, "command": ["sh", "-c", command]},
        },
    }
    for each in (runtime, job):
        namespace.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(each))


def end(namespace: Namespace, pod: str) -> None:
    """Let the command of a pod end."""
    namespace.kubectl("exec", pod, "--", "touch", "/tmp/end")


def conditions(namespace: Namespace, name: str) -> set[str]:
    """The conditions of a TrainJob that are true."""
    found = namespace.one("trainjobs", name).get("status", {}).get("conditions", ())
    return {each["type"] for each in found if each["status"] == "True"}
