"""Objects in wire form, as small as the server takes them."""

from typing import Any

JSON = dict[str, Any]


def config_map(namespace: str, name: str = "a", **fields: Any) -> JSON:
    return of("v1", "ConfigMap", namespace, name, **fields)


def secret(namespace: str, name: str = "a", **fields: Any) -> JSON:
    return of("v1", "Secret", namespace, name, **fields)


def train_job(namespace: str, name: str = "a", **spec: Any) -> JSON:
    spec = {"runtimeRef": {"name": "torch-distributed"}, **spec}
    return of("trainer.kubeflow.org/v1alpha1", "TrainJob", namespace, name, spec=spec)


def training_runtime(namespace: str, name: str = "a", **policy: Any) -> JSON:
    template = {"spec": {"replicatedJobs": [replicated_job("node")]}}
    spec = {"mlPolicy": policy, "template": template}
    return of("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", namespace, name, spec=spec)


def pod_template(**pod: Any) -> JSON:
    container = {"name": "node", "image": "example.com/train:1"}
    return {"spec": {"restartPolicy": "Never", "containers": [container], **pod}}


def job(namespace: str, name: str = "a", **spec: Any) -> JSON:
    spec = {"template": pod_template(), "suspend": True, **spec}
    return of("batch/v1", "Job", namespace, name, spec=spec)


def job_set(namespace: str, name: str = "a", *replicated: JSON) -> JSON:
    spec = {"replicatedJobs": list(replicated) or [replicated_job("node")]}
    return of("jobset.x-k8s.io/v1alpha2", "JobSet", namespace, name, spec=spec)


def replicated_job(name: str, replicas: int = 1) -> JSON:
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"template": pod_template()}},
    }


def of(api_version: str, kind: str, namespace: str, name: str, **fields: Any) -> JSON:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
