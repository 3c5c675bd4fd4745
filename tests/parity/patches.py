"""runtimePatches of generated cases: every patchable field, on known and unknown jobs."""

from random import Random
from typing import Any, Final

from tests.parity.runtimes import ANCESTOR

JSON = dict[str, Any]

_MANAGERS: Final = (
    "kueue.x-k8s.io/manager",
    "acme.io/team",
    "trainer.kubeflow.org/kubeflow-sdk",
    "acme.io/deep/path",
)
_BAD_MANAGERS: Final = ("plain", "Upper.io/x", "acme.io/", "/x", "acme.io/sp ace", "a_b/c")
_TERM: Final = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}


def some(rng: Random, runtime: JSON) -> list[JSON]:
    """One to three patches by different managers."""
    managers = rng.sample(_MANAGERS, rng.choice((1, 1, 2, 3)))
    if rng.random() < 0.08:
        managers[0] = rng.choice(_BAD_MANAGERS)
    return [_patch(rng, manager, runtime) for manager in managers]


def _patch(rng: Random, manager: str, runtime: JSON) -> JSON:
    patch: JSON = {"manager": manager}
    if rng.random() < 0.5:
        patch["time"] = "2026-01-01T00:00:00Z"
    if rng.random() < 0.05:
        return patch
    template: JSON = {}
    if rng.random() < 0.4:
        template["metadata"] = {
            "labels": {"tier": manager.split("/", maxsplit=1)[0], "added": "yes"},
            "annotations": {"scheduling.volcano.sh/queue-name": "patched"},
        }
    jobs = [each["name"] for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]]
    chosen = rng.sample(jobs, rng.randint(1, len(jobs)))
    if rng.random() < 0.05:
        chosen.append("ghost")
    if rng.random() < 0.9:
        patched = [_job(rng, name, runtime) for name in chosen]
        template["spec"] = {"replicatedJobs": patched}
    patch["trainingRuntimeSpec"] = {"template": template}
    return patch


def _job(rng: Random, name: str, runtime: JSON) -> JSON:
    job: JSON = {"name": name}
    if rng.random() < 0.05:
        return job
    template: JSON = {}
    if rng.random() < 0.3:
        template["metadata"] = {"labels": {"job": "patched"}, "annotations": {"a": "b"}}
        if rng.random() < 0.1:
            template["metadata"]["labels"][ANCESTOR] = rng.choice(("trainer", "other"))
    pods: JSON = {"spec": _pod_spec(rng, name, runtime)}
    if rng.random() < 0.4:
        pods["metadata"] = {"labels": {"pod": "patched"}, "annotations": {"a": "pod"}}
    return job | {"template": {**template, "spec": {"template": pods}}}


def _pod_spec(rng: Random, name: str, runtime: JSON) -> JSON:
    fields: JSON = {
        "serviceAccountName": "account",
        "nodeSelector": {"pool": "b", "gpu": "h100"},
        "affinity": _affinity(rng),
        "tolerations": rng.choice(
            ([{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}], [])
        ),
        "schedulingGates": [{"name": "acme.io/gate"}],
        "imagePullSecrets": rng.sample([{"name": "pull"}, {"name": "other"}], 2),
        "volumes": _volumes(rng),
        "securityContext": {"runAsUser": 1000, "fsGroup": 2000},
        "terminationGracePeriodSeconds": rng.choice((0, 30)),
        "containers": _containers(rng, _named(runtime, name, "containers")),
        "initContainers": _containers(rng, _named(runtime, name, "initContainers")),
    }
    chosen = rng.sample(sorted(fields), rng.choice((1, 2, 4)))
    return {key: fields[key] for key in chosen}


def _maybe(rng: Random) -> bool:
    return rng.random() < 0.5


def _affinity(rng: Random) -> JSON:
    if rng.random() < 0.5:
        required = {"nodeSelectorTerms": [_TERM]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    preferred = [{"weight": 5, "preference": _TERM}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _volumes(rng: Random) -> list[JSON]:
    volumes: list[JSON] = [
        {"name": "extra", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "p", "readOnly": _maybe(rng)}},
        {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "config", "secret": {"secretName": "patched"}},
    ]
    return rng.sample(volumes, rng.choice((1, 2, 3)))


def _named(runtime: JSON, job_name: str, kind: str) -> list[str]:
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        if job["name"] == job_name:
            pods = job["template"]["spec"]["template"]["spec"]
            return [each["name"] for each in pods.get(kind, ())]
    return []


def _containers(rng: Random, known: list[str]) -> list[JSON]:
    names = rng.sample(known, rng.randint(0, len(known)))
    if not names or rng.random() < 0.08:
        names.append(rng.choice(("unknown", "node", "prepare", "sidecar")))
    return [_container(rng, name) for name in dict.fromkeys(names)]


def _container(rng: Random, name: str) -> JSON:
    container: JSON = {"name": name}
    main = name in {"node", "dataset-initializer", "model-initializer"}
    if rng.random() < (0.1 if main else 0.6):
        env: list[JSON] = [
            {"name": "PATCHED", "value": "1"},
            {"name": "FIRST", "value": "patched"},
            {"name": "POD", "value": "patched"},
            {"name": "FLUX_QUEUE_POLICY", "value": ""},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ]
        container["env"] = rng.sample(env, rng.choice((1, 2, 3)))
    if rng.random() < 0.5:
        paths = (("extra", "/extra"), ("data", "/data"), ("scratch", "/other"))
        chosen = rng.sample(paths, rng.choice((1, 2)))
        container["volumeMounts"] = [
            {"name": name, "mountPath": path, "readOnly": _maybe(rng)} for name, path in chosen
        ]
    if rng.random() < 0.3:
        container["securityContext"] = {"runAsNonRoot": True, "capabilities": {"add": ["IPC_LOCK"]}}
    return container
