"""Runtimes of generated cases: the reference's own manifests, and made ones with every twist."""

from functools import cache
from random import Random
from typing import Any, Final

import yaml

from tests.parity import reference

JSON = dict[str, Any]
Table = tuple[tuple[str, float, tuple[Any, ...]], ...]
"""Fields, each with its probability and its values."""

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
INITIALIZERS: Final = ("dataset-initializer", "model-initializer")
RESOURCES: Final[tuple[JSON, ...]] = (
    {"limits": {"cpu": 4, "memory": "16Gi"}},
    {"requests": {"cpu": "500m"}, "limits": {"cpu": "2"}},
    {"requests": {"cpu": "2.5", "memory": "1024Mi"}},
    {"limits": {"nvidia.com/gpu": 2}},
    {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": 1, "cpu": "1500m"}},
    {"limits": {"amd.com/gpu": 4, "cpu": "8"}},
    {"limits": {"gpu.intel.com/i915": 1}},
    {"requests": {"google.com/tpu": 4}, "limits": {"google.com/tpu": 4}},
    {"limits": {"nvidia.com/mig-1g.5gb": 3}},
    {"limits": {"cpu": "1", "nvidia.com/gpu": 0}},
    {"requests": {"cpu": 0}, "limits": {"cpu": "3"}},
    {"requests": {"nvidia.com/gpu": 0}, "limits": {"nvidia.com/gpu": 2}},
    {"limits": {"nvidia.com/gpu": 2, "amd.com/gpu": 3}},
    {"limits": {"cpu": "0.1", "ephemeral-storage": "1e9"}},
)
_VOLUMES: Final[tuple[JSON, ...]] = (
    {"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "0.5Gi"}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}},
    {"name": "config", "configMap": {"name": "config", "items": [{"key": "a", "path": "b"}]}},
    {"name": "initializer", "emptyDir": {}},
)
_ENV: Final[tuple[JSON, ...]] = (
    {"name": "FIRST", "value": "1"},
    {"name": "EMPTY", "value": ""},
    {"name": "POD", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": True}}},
    {"name": "STORAGE_URI", "value": "hf://runtime/own"},
    {"name": "PET_NNODES", "value": "runtime"},
    {"name": "FLUX_QUEUE_POLICY", "value": "easy"},
    {"name": "FLUX_VIEW_IMAGE", "value": "view:1"},
    {"name": "DMLC_NUM_WORKER", "value": "runtime"},
    {"name": "OMPI_MCA_plm_rsh_args", "value": "runtime"},
    {"name": "JAX_NUM_PROCESSES", "value": "runtime"},
    {"name": "KUBEFLOW_TRAINER_SERVER_URL", "value": "runtime"},
)
_PORTS: Final[tuple[JSON, ...]] = (
    {"containerPort": 8080},
    {"containerPort": 9090},
    {"containerPort": 29500, "name": "rdzv"},
    {"containerPort": 29500},
    {"containerPort": 7070, "name": "metrics", "protocol": "TCP"},
)
_CONTAINER: Final[Table] = (
    ("resources", 0.4, RESOURCES),
    ("command", 0.3, (["run"], ["tune", "run", "output_dir=/out", "x=1"], [])),
    ("args", 0.2, (["--flag", "a b"],)),
)
_POD_SPEC: Final[Table] = (
    ("nodeSelector", 0.1, ({"pool": "a"},)),
    ("tolerations", 0.1, ([{"key": "gpu", "operator": "Exists"}],)),
    ("priorityClassName", 0.1, ("high", "system-node-critical", "missing")),
    ("overhead", 0.05, ({"cpu": "250m"},)),
    ("resources", 0.05, ({"requests": {"cpu": "3"}},)),
    ("imagePullSecrets", 0.1, ([{"name": "pull"}],)),
    ("schedulerName", 0.1, ("scheduler",)),
)
_JOB_SPEC: Final[Table] = (("parallelism", 0.2, (1, 3)), ("backoffLimit", 0.2, (2,)))
_JOB_SET_SPEC: Final[Table] = (
    ("network", 0.15, ({"subdomain": "net"}, {"enableDNSHostnames": False})),
    ("failurePolicy", 0.15, ({"maxRestarts": 3},)),
    ("successPolicy", 0.1, ({"operator": "Any"},)),
    ("ttlSecondsAfterFinished", 0.1, (60,)),
    ("suspend", 0.05, (True,)),
)


@cache
def shipped() -> tuple[str, ...]:
    """The reference's runtimes, in a fixed order, as YAML (so that each case gets its own copy)."""
    folder = reference.module()
    files = sorted((folder / "manifests" / "base" / "runtimes").rglob("*.yaml"))
    texts = [path.read_text() for path in (*files, folder / "examples/flux/flux-runtime.yaml")]
    return tuple(text for text in texts if "kind: ClusterTrainingRuntime" in text)


def pick(rng: Random) -> JSON:
    """A shipped runtime as it is or twisted, or a made one."""
    if rng.random() < 0.45:
        chosen: JSON = yaml.safe_load(rng.choice(shipped()))
        if rng.random() < 0.4:
            _twist(rng, chosen)
    else:
        chosen = _made(rng)
    if rng.random() < 0.2:
        chosen["kind"] = "TrainingRuntime"
        chosen["metadata"]["namespace"] = "ns"
    if rng.random() < 0.05:
        chosen["metadata"].setdefault("labels", {})["trainer.kubeflow.org/support"] = "deprecated"
    return chosen


def _twist(rng: Random, runtime: JSON) -> None:
    spec = runtime["spec"]
    if rng.random() < 0.5:
        spec["mlPolicy"]["numNodes"] = rng.choice((1, 2, 4))
    if rng.random() < 0.4:
        spec["podGroupPolicy"] = _pod_group(rng)
    jobs = spec["template"]["spec"]["replicatedJobs"]
    for job in jobs:
        pods = job["template"]["spec"]["template"]["spec"]
        for container in pods["containers"]:
            if rng.random() < 0.3:
                _fill(rng, container)
    _metadata(rng, spec["template"])


def _made(rng: Random) -> JSON:
    policy = _policy(rng)
    jobs = _jobs(rng, policy)
    if policy is not None and "envInjection" in policy.get("torch", {}):
        policy["torch"]["envInjection"]["targets"] = _targets(rng, jobs)
    spec: JSON = {"template": {"spec": {"replicatedJobs": jobs}}}
    if policy is not None:
        spec["mlPolicy"] = policy
    if rng.random() < 0.3:
        spec["podGroupPolicy"] = _pod_group(rng)
    _metadata(rng, spec["template"])
    spec["template"]["spec"] |= some(rng, _JOB_SET_SPEC)
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": rng.choice(("made", "made-runtime", "torchtune-llama3.3-70b"))},
        "spec": spec,
    }


def _policy(rng: Random) -> JSON | None:
    kind = rng.choice(("none", "plain", "torch", "inject", "jax", "xgboost", "mpi", "flux"))
    if kind == "none":
        return None
    policy: JSON = {} if rng.random() < 0.3 else {"numNodes": rng.choice((1, 1, 2, 5))}
    if kind == "plain":
        return policy or {"numNodes": 1}
    value: JSON = {}
    if kind == "inject":
        kind = "torch"
        value = {"envInjection": {"targets": []}}
    elif kind == "mpi":
        value = _mpi(rng)
    elif kind == "flux" and rng.random() < 0.5:
        value = {"numProcPerNode": rng.choice((1, 4))}
    return {**policy, kind: value}


def _targets(rng: Random, jobs: list[JSON]) -> list[JSON]:
    """Containers that the jobs have, besides `node`, and now and then one that they have not."""
    targets = []
    for job in jobs:
        pods = job["template"]["spec"]["template"]["spec"]
        each = [*pods["containers"], *pods.get("initContainers", ())]
        names = [one["name"] for one in each if one["name"] != "node"]
        if rng.random() < 0.1:
            names.append("ghost")
        if names:
            targets.append({"jobName": job["name"], "containerNames": names})
    return targets


def _mpi(rng: Random) -> JSON:
    value: JSON = {}
    if rng.random() < 0.6:
        value["runLauncherAsNode"] = rng.random() < 0.6
    if rng.random() < 0.5:
        value["numProcPerNode"] = rng.choice((1, 2, 8))
    if rng.random() < 0.3:
        value["sshAuthMountPath"] = "/home/mpiuser/.ssh"
    if rng.random() < 0.1:
        value["mpiImplementation"] = ""
    return value


def _pod_group(rng: Random) -> JSON:
    kind = rng.choice(("coscheduling", "timeout", "volcano", "topology"))
    if kind == "coscheduling":
        return {"coscheduling": {}}
    if kind == "timeout":
        return {"coscheduling": {"scheduleTimeoutSeconds": 120}}
    if kind == "volcano":
        return {"volcano": {}}
    return {"volcano": {"networkTopology": rng.choice(({}, {"mode": "soft"}))}}


def _jobs(rng: Random, policy: JSON | None) -> list[JSON]:
    mpi = policy is not None and "mpi" in policy
    jobs = [_initializer(rng, name) for name in INITIALIZERS if rng.random() < 0.3]
    trainer_name = "worker" if rng.random() < 0.1 else "node"
    ancestor = None if mpi and rng.random() < 0.8 else "trainer"
    jobs.append(_job(rng, trainer_name, ancestor, "node"))
    if mpi and rng.random() < 0.85:
        jobs.append(_job(rng, "launcher", "trainer", "node"))
    if rng.random() < 0.15:
        monitor = _job(rng, "monitor", rng.choice((None, "other")), "monitor")
        monitor["replicas"] = rng.choice((0, 1, 2))
        jobs.append(monitor)
    if len(jobs) > 1 and rng.random() < 0.5:
        jobs[-1]["dependsOn"] = [
            {"name": job["name"], "status": rng.choice(("Complete", "Ready"))} for job in jobs[:-1]
        ]
    return jobs


def _initializer(rng: Random, name: str) -> JSON:
    container = "loader" if rng.random() < 0.1 else name
    job = _job(rng, name, name if rng.random() < 0.9 else None, container)
    spec = job["template"]["spec"]["template"]["spec"]
    if rng.random() < 0.8:
        mount = {"name": "initializer", "mountPath": "/workspace"}
        spec["containers"][0]["volumeMounts"] = [mount]
        spec["volumes"] = [{"name": "initializer", "emptyDir": {}}]
    return job


def _job(rng: Random, name: str, ancestor: str | None, container: str) -> JSON:
    pods: JSON = {"containers": [_container(rng, container)]}
    if rng.random() < 0.3:
        pods["containers"].insert(rng.choice((0, 1)), _fill(rng, {"name": "sidecar"}))
    if rng.random() < 0.3:
        prepare = _fill(rng, {"name": rng.choice(("prepare", "prepare", "flux-installer"))})
        pods["initContainers"] = [prepare | some(rng, (("restartPolicy", 0.2, ("Always",)),))]
    pods |= some(rng, _POD_SPEC)
    if rng.random() < 0.4:
        pods["volumes"] = rng.sample(_VOLUMES, rng.choice((1, 2, 3)))
    template: JSON = {"spec": {"template": {"spec": pods}} | some(rng, _JOB_SPEC)}
    if ancestor is not None:
        template["metadata"] = {"labels": {ANCESTOR: ancestor}}
    if rng.random() < 0.2:
        template["spec"]["template"]["metadata"] = {"labels": {"team": "x"}, "annotations": {}}
    return {"name": name, "template": template} | some(rng, (("replicas", 0.05, (2,)),))


def _container(rng: Random, name: str) -> JSON:
    return _fill(rng, {"name": name, "image": "image:1"})


def _fill(rng: Random, container: JSON) -> JSON:
    """Env, ports, mounts, resources and a command, each now and then."""
    container |= some(rng, _CONTAINER)
    if rng.random() < 0.4:
        container["env"] = rng.sample(_ENV, rng.choice((1, 2, 4)))
    if rng.random() < 0.3:
        container["ports"] = _some_ports(rng)
    if rng.random() < 0.3:
        paths = (("scratch", "/scratch"), ("data", "/data"), ("config", "/etc/mpi"))
        chosen = rng.sample(paths, rng.choice((1, 2)))
        mounts: list[JSON] = [{"name": name, "mountPath": path} for name, path in chosen]
        mounts[0] |= some(rng, (("readOnly", 0.3, (True,)),))
        container["volumeMounts"] = mounts
    if rng.random() < 0.05 and "resources" in container:
        container["resources"] = {**container["resources"], "claims": [{"name": "claim"}]}
    return container


def _some_ports(rng: Random) -> list[JSON]:
    chosen = rng.sample(_PORTS, rng.choice((1, 2, 3)))
    ports = list({each["containerPort"]: each for each in chosen}.values())
    return [*ports, {"containerPort": 8080, "protocol": "UDP"}] if rng.random() < 0.1 else ports


def some(rng: Random, fields: Table) -> JSON:
    """Fields of a table, each with its probability, and one of its values."""
    return {name: rng.choice(values) for name, share, values in fields if rng.random() < share}


def _metadata(rng: Random, template: JSON) -> None:
    if rng.random() < 0.3:
        template["metadata"] = {
            "labels": {"team": "a", "tier": "runtime"},
            "annotations": {"note": "runtime"},
        }
        queue = rng.choice((None, "queue", ""))
        if queue is not None:
            template["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = queue
