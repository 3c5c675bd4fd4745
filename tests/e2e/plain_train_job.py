"""A TrainJob of Trainer's own API that needs no framework, posted as a person does with kubectl."""

import json

from tests.e2e.cluster import Namespace
from tests.e2e.disruptive.queues import TRAINER
from tools.cluster import busybox
from trainer_infra import names


def post_train_job(
    namespace: Namespace, name: str, command: str, queue: str = "", image: str = busybox.IMAGE
) -> None:
    """Post a runtime and a TrainJob on it.

    Args:
        namespace: where.
        name: of the TrainJob.
        command: of the shell.
        queue: Kueue's LocalQueue; none unless given.
        image: of the pod.
    """
    template = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    container = {"name": "node", "image": busybox.IMAGE, "imagePullPolicy": "IfNotPresent"}
    template["spec"] = {"template": {"spec": {"containers": [container]}}}  # type: ignore[dict-item]
    jobs = [{"name": "node", "template": template}]
    runtime = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAINING_RUNTIME,
        "metadata": {"name": "plain", "labels": {"trainer.kubeflow.org/framework": "plain"}},
        "spec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": name, "labels": {names.KUEUE_QUEUE_LABEL: queue} if queue else {}},
        "spec": {
            "runtimeRef": {"name": "plain", "kind": names.TRAINING_RUNTIME},
            "trainer": {**TRAINER, "image": image, "command": ["sh", "-c", command]},
        },
    }
    for each in (runtime, job):
        namespace.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(each))
