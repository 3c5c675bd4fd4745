"""Large objects that a client might send to the webhooks, nearly all of them wrong, by what is large in them."""

import json
from collections.abc import Iterator
from typing import Any, Final

from trainer_infra import catalog
from trainer_infra.controller.admission_judgement import (
    VALIDATE_CLUSTER_TRAINING_RUNTIME,
    VALIDATE_TRAIN_JOB,
)

JSON = dict[str, Any]

LARGEST: Final = 3 * 1024 * 1024
"""Bytes of a request that the API server takes. Source: apiserver's `MaxRequestBodyBytes`."""


def large_objects(size: int = LARGEST) -> Iterator[tuple[str, str, JSON]]:
    """What is large, the webhook that gets it, and the object.

    Args:
        size: bytes of JSON that each has, about.
    """
    for name, spec in _specs(size).items():
        yield name, VALIDATE_TRAIN_JOB, _train_job(spec)
    for name, metadata in _metadata(size).items():
        yield name, VALIDATE_TRAIN_JOB, _train_job({}, **metadata)
    for name, pod in _pods(size).items():
        yield name, VALIDATE_CLUSTER_TRAINING_RUNTIME, _runtime(pod)
    jobs = _many({"name": "node"}, size)
    yield "replicated jobs", VALIDATE_CLUSTER_TRAINING_RUNTIME, _runtime({}, jobs)


def _specs(size: int) -> dict[str, JSON]:
    patch = {"manager": "m", "trainingRuntimeSpec": {"template": {"spec": {"x": 1}}}}
    envs = _many({"name": "A", "value": "1"}, size // 16)
    pod = {"containers": [{"name": "node", "env": envs}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    patched = {"template": {"spec": {"replicatedJobs": [job]}}}
    patches = [{"manager": f"m{each}", "trainingRuntimeSpec": patched} for each in range(16)]
    return {
        "variables without a name": {"trainer": {"env": _many({"value": 1}, size)}},
        "variables of one name": {"trainer": {"env": _many({"name": "A", "value": "1"}, size)}},
        "patches": {"runtimePatches": _many(patch, size)},
        "empty words of a command": {"trainer": {"command": _many("", size)}},
        "numbers in a command": {"trainer": {"command": _many(1, size)}},
        "unknown fields": _keys("field", 1, size),
        "unknown fields of the trainer": {"trainer": _keys("field", 1, size)},
        "a field with a long name": {"a" * size: 1},
        "a long image": {"trainer": {"image": "a" * size}},
        "resources": {"trainer": {"resourcesPerNode": {"limits": _keys("a.io/r", "x", size)}}},
        "variables in patches": {"runtimePatches": patches},
    }


def _metadata(size: int) -> dict[str, JSON]:
    return {
        "wrong labels": {"labels": _keys("-wrong", "-", size)},
        "right labels": {"labels": _keys("right", "a", size)},
        "annotations that are numbers": {"annotations": _keys("a", 1, size)},
        "finalizers that are numbers": {"finalizers": _many(1, size)},
    }


def _pods(size: int) -> dict[str, JSON]:
    variable, mount = {"name": "A", "value": "1"}, {"name": "v", "mountPath": "/v"}
    return {
        "wrong variables of a runtime": {"containers": [_container(env=_many({"name": 1}, size))]},
        "variables of one name of a runtime": {
            "containers": [_container(env=_many(variable, size))]
        },
        "right variables of a runtime": {
            "containers": [_container(env=_different(variable, size))]
        },
        "mounts of a runtime": {"containers": [_container(volumeMounts=_many(mount, size))]},
        "words of a runtime's command": {"containers": [_container(command=_many("", size))]},
        "containers of a runtime": {"containers": _many(_container(), size)},
        "volumes of a runtime": {"volumes": _many({"name": "v", "emptyDir": {}}, size)},
        "tolerations of a runtime": {
            "tolerations": _many({"operator": "Exists", "key": "k"}, size)
        },
        "unknown fields of a runtime's pod": _keys("field", 1, size),
    }


def _many(item: Any, size: int) -> list[Any]:
    """An item so often that the list has this size."""
    return [item] * (size // (len(json.dumps(item)) + 2))


def _different(item: JSON, size: int) -> list[JSON]:
    """The same with another name in each."""
    count = size // (len(json.dumps(item)) + 8)
    return [{**item, "name": f"{item['name']}{each}"} for each in range(count)]


def _keys(begin: str, value: Any, size: int) -> JSON:
    """Different keys, so many that the object has this size."""
    return {
        f"{begin}{each}": value
        for each in range(size // (len(begin) + len(json.dumps(value)) + 12))
    }


def _container(**fields: Any) -> JSON:
    return {"name": "node", "image": "a:1", **fields}


def _train_job(spec: JSON, **metadata: Any) -> JSON:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "large", "namespace": "default", **metadata},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, **spec},
    }


def _runtime(pod: JSON, jobs: list[Any] | None = None) -> JSON:
    """torch-distributed with another pod, or with other jobs."""
    runtime: JSON = json.loads(json.dumps(catalog.get("torch-distributed").to_wire()))
    replicated = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    replicated[0]["template"]["spec"]["template"]["spec"] |= pod
    runtime["spec"]["template"]["spec"]["replicatedJobs"] = jobs or replicated
    return runtime
