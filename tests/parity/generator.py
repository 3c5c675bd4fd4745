"""Cases for the comparison with the reference: `case(seed)` is the same case forever.

A case is a runtime (runtimes.py) and a TrainJob on it with twists of every field; some are updates
of a TrainJob, with the objects that a cluster would have by then. Some are invalid on purpose.
"""

import copy
from random import Random
from typing import Any, Final

from tests.parity import defaults, patches, runtimes
from tests.parity.reference import Case

JSON = dict[str, Any]

CERTIFICATE: Final = "kubeflow-trainer-webhook-cert"
"""The Secret with the status server's certificate, in the controller's namespace."""
_RESERVED: Final = (
    "PET_NNODES",
    "PET_MASTER_PORT",
    "OMPI_MCA_plm_rsh_args",
    "DMLC_TASK_ID",
    "JAX_PROCESS_ID",
    "STORAGE_URI",
    "FLUX_VIEW_IMAGE",
)
_TRAINER: Final[runtimes.Table] = (
    ("numNodes", 0.6, (0, 1, 1, 2, 3, 4, -1)),
    ("numProcPerNode", 0.4, (1, 1, 2, 8, 0, -1)),
    ("image", 0.5, ("mine:2", "mine:2", "")),
    ("command", 0.5, (["python", "train.py"], ["bash", "-c", "a  b"], [])),
    ("args", 0.5, (["--lr", "0.1"], [])),
)
_TUNE_ARGS: Final = (
    "dtype=fp16",
    "model.lora_attn_modules=[q_proj,v_proj]",
    "model.quantize_base=True",
    "model.quantize_base=false",
    "model.use_dora=true",
    "output_dir=/elsewhere",
    "tokenizer.path=/elsewhere",
    "epochs=1",
)
_GATE: Final = 0.12
"""Share of cases with the alpha gate TrainJobStatus."""
_UID: Final = "11111111-2222-3333-4444-555555555555"
_INITIALIZERS: Final = ("dataset", "model")
_READY: Final = {"ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}


def case(seed: int) -> Case:
    """The case of a seed, with API defaults applied. It may not be schema-valid: see test_parity."""
    rng = Random(seed)
    runtime = runtimes.pick(rng)
    job = _train_job(rng, runtime)
    old = _older(rng, job) if rng.random() < 0.2 else None
    return Case(
        train_job=defaults.applied(job),
        runtime=defaults.applied(runtime),
        old_train_job=None if old is None else defaults.applied(old),
        existing=tuple(_existing(rng, job, exists=old is not None)),
        feature_gate=rng.random() < _GATE,
    )


def _train_job(rng: Random, runtime: JSON) -> JSON:
    spec: JSON = {"runtimeRef": {"name": runtime["metadata"]["name"], "kind": runtime["kind"]}}
    flux = "flux" in (runtime["spec"].get("mlPolicy") or {})
    if flux or rng.random() < 0.85:
        spec["trainer"] = _trainer(rng, tune="torchtune" in runtime["metadata"]["name"])
        if flux and rng.random() < 0.95:
            # Without it the reference crashes (Q18).
            spec["trainer"].setdefault("numNodes", rng.choice((1, 2, 3)))
    jobs = {each["name"] for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]}
    known = [kind for kind in _INITIALIZERS if f"{kind}-initializer" in jobs]
    if rng.random() < (0.7 if known else 0.05):
        spec["initializer"] = _initializer(rng, known)
    if rng.random() < 0.35:
        spec["runtimePatches"] = patches.some(rng, runtime)
    if rng.random() < 0.3:
        spec["suspend"] = rng.random() < 0.6
    if rng.random() < 0.1:
        spec["activeDeadlineSeconds"] = 600
    metadata: JSON = {"name": rng.choice(("tj", "job-1")), "namespace": "ns", "uid": _UID}
    if rng.random() < 0.2:
        metadata |= {"labels": {"mine": "1"}, "annotations": {"mine": "2"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": spec,
    }


def _trainer(rng: Random, *, tune: bool) -> JSON:
    if rng.random() < 0.1:
        return {}
    trainer = runtimes.some(rng, _TRAINER)
    if rng.random() < 0.5:
        trainer["resourcesPerNode"] = _resources(rng)
    if rng.random() < (0.7 if tune else 0.03):
        trainer["command"] = ["tune", "run"]
        trainer["args"] = rng.sample(_TUNE_ARGS, rng.choice((0, 1, 1, 2, 3)))
    if rng.random() < 0.5:
        trainer["env"] = _env(rng)
    return trainer


def _resources(rng: Random) -> JSON:
    resources = rng.choice(runtimes.RESOURCES)
    return {**resources, "claims": [{"name": "mine"}]} if rng.random() < 0.1 else resources


def _env(rng: Random) -> list[JSON]:
    field = {"apiVersion": "v1", "fieldPath": "status.podIP"}
    amount = {"containerName": "node", "resource": "limits.cpu", "divisor": "1m"}
    env: list[JSON] = [
        {"name": "MINE", "value": "1"},
        {"name": "FIRST", "value": "trainer"},
        {"name": "EMPTY", "value": ""},
        {"name": "BARE"},
        {"name": "IP", "valueFrom": {"fieldRef": field}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": amount}},
        {"name": "MAP", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"key": "k", "optional": False}}},
        {"name": "FILE", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}},
    ]
    chosen = rng.sample(env, rng.choice((0, 1, 2, 4)))
    if rng.random() < 0.15:
        chosen += [{"name": name, "value": "x"} for name in rng.sample(_RESERVED, 2)]
    return chosen


def _initializer(rng: Random, known: list[str]) -> JSON:
    """Sources for what the runtime has an initializer for, and now and then for more."""
    return {
        kind: _source(rng)
        for kind in _INITIALIZERS
        if rng.random() < (0.8 if kind in known else 0.1)
    }


def _source(rng: Random) -> JSON:
    source: JSON = {}
    if rng.random() < 0.7:
        source["storageUri"] = rng.choice(("hf://org/repo", "s3://bucket/path", "cache://s/t", ""))
    if rng.random() < 0.4:
        source["env"] = _env(rng)
    if rng.random() < 0.4:
        source["secretRef"] = {"name": "credentials"}
    return source


def _older(rng: Random, job: JSON) -> JSON:
    """What the TrainJob may have been before an update."""
    old: JSON = copy.deepcopy(job)
    for patch in old["spec"].get("runtimePatches", ()):
        patch.setdefault("time", "2026-01-01T00:00:00Z")
    if rng.random() < 0.6:
        old["spec"]["suspend"] = rng.random() < 0.5
    if rng.random() < 0.6 and old["spec"].get("runtimePatches"):
        change = rng.choice(("fewer", "time", "label"))
        first = old["spec"]["runtimePatches"][0]
        if change == "fewer":
            old["spec"]["runtimePatches"].pop()
        elif change == "time":
            first["time"] = "2025-01-01T00:00:00Z"
        else:
            first["trainingRuntimeSpec"] = {"template": {"metadata": {"labels": {"old": "1"}}}}
    return old


def _existing(rng: Random, job: JSON, *, exists: bool) -> list[JSON]:
    """What a cluster has: a priority class now and then, and the objects of an older TrainJob."""
    found: list[JSON] = []
    if rng.random() < 0.9:
        certificate = _object("v1", "Secret", CERTIFICATE)
        certificate["metadata"]["namespace"] = "kubeflow-system"
        found.append({**certificate, "data": {"ca.crt": rng.choice(("Q0E=", "Q0E=", "Q0E=", ""))}})
    if rng.random() < 0.5:
        found.append(_object("scheduling.k8s.io/v1", "PriorityClass", "high") | {"value": 1000})
    metadata = {"name": job["metadata"]["name"], "namespace": "ns"}
    if rng.random() < (0.8 if exists else 0.1):
        found.append(_jobset(rng, metadata))
    groups = ("scheduling.x-k8s.io/v1alpha1", "scheduling.volcano.sh/v1beta1")
    found += [
        {**_object(group, "PodGroup", ""), "metadata": metadata}
        for group in groups
        if rng.random() < (0.4 if exists else 0.05)
    ]
    if rng.random() < (0.5 if exists else 0.05):
        secret = {**metadata, "name": f"{metadata['name']}-mpi-ssh-auth"}
        found.append({**_object("v1", "Secret", ""), "metadata": secret})
    return found


def _object(version: str, kind: str, name: str) -> JSON:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


def _jobset(rng: Random, metadata: JSON) -> JSON:
    active = rng.choice((0, 0, 2))
    status: JSON = {"replicatedJobsStatus": [{"name": "node", "active": active, **_READY}]}
    ending = rng.choice((None, None, "Completed", "Failed"))
    if ending is not None:
        condition = {"type": ending, "status": "True", "reason": "Because", "message": "it is"}
        status["conditions"] = [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    jobset = {**_object("jobset.x-k8s.io/v1alpha2", "JobSet", ""), "metadata": metadata}
    return {**jobset, "spec": {"suspend": rng.random() < 0.5}, "status": status}
