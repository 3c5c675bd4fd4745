"""What the local target cannot run, and why. Pure: called at preview and by `runs.submit`.

Only what would change results is a problem: an image is not pulled and a node selector has nothing
to select, which harms no other pod; a container without a command would not run at all.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.catalog.initializers import ROLES
from trainer_infra.errors import Problem
from trainer_infra.in_pod import initializers
from trainer_infra.json_values import JSONObject
from trainer_infra.local.jobset.failure_policy import FAIL, RESTART, RESTART_FREELY

VOLUMES: Final = frozenset(
    {
        "emptyDir", "configMap", "secret", "downwardAPI", "projected", "persistentVolumeClaim",
        "ephemeral", "hostPath",
    }
)  # fmt: skip
"""Volume kinds that can be a folder."""
SOURCES: Final = frozenset({"configMap", "secret", "downwardAPI"})
"""Kinds of a projected volume's sources."""
_GATED = "is behind a feature gate of JobSet that is off by default"
Keys = Mapping[tuple[str, str], frozenset[str]]
"""(kind, name) of each ConfigMap and Secret, to its keys."""


def unsupported_here(objects: Sequence[JSONObject]) -> tuple[Problem, ...]:
    """What this target cannot run among rendered objects, in the order of the fields.

    Keys that are made at create are said alone: the rest of such a job does not matter then.
    """
    if keys_made := tuple(_made_at_create(objects)):
        return keys_made
    keys = {
        (each["kind"], str(each["metadata"]["name"])): _keys(each)
        for each in objects
        if each["kind"] in {"ConfigMap", "Secret"}
    }
    return tuple(
        replace(problem, where=f"JobSet {each['metadata']['name']}")
        for each in objects
        if each["kind"] == "JobSet"
        for problem in (*unsupported_fields(each["spec"]), *_in_pods(each, keys))
    )


def pod_specs(jobset: JSONObject) -> Iterator[tuple[str, dict[str, Any]]]:
    """Field path and PodSpec of each replicated job."""
    for index, job in enumerate(jobset["spec"].get("replicatedJobs") or ()):
        path = f"spec.replicatedJobs[{index}].template.spec.template.spec"
        yield path, job["template"]["spec"]["template"]["spec"]


def containers_of(path: str, pod: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    """Field path and Container of each init container and container."""
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod.get(kind) or ()):
            yield f"{path}.{kind}[{index}]", container


def _made_at_create(objects: Sequence[JSONObject]) -> Iterator[Problem]:
    """Secrets by which the pods of an MPI or Flux job reach one another."""
    for each in objects:
        if each["kind"] == "Secret" and names.GENERATED_SHOWN in (each.get("data") or {}).values():
            yield Problem(
                "data",
                "holds keys by which pods reach one another (MPI over SSH, Flux), "
                "but the pods of this target are processes of one machine",
                fix="run the job on Kubernetes, or on a runtime with torch, jax or xgboost",
                where=f"Secret {each['metadata']['name']}",
            )


def _keys(value: JSONObject) -> frozenset[str]:
    parts = ("data", "binaryData", "stringData")
    return frozenset(key for part in parts for key in value.get(part) or ())


def _in_pods(jobset: JSONObject, known: Keys) -> Iterator[Problem]:
    claims = {
        template["metadata"]["name"]
        for policy in jobset["spec"].get("volumeClaimPolicies") or ()
        for template in policy.get("templates") or ()
    }
    for path, pod in pod_specs(jobset):
        volumes = tuple(pod.get("volumes") or ())
        for index, volume in enumerate(volumes):
            yield from _in_volume(f"{path}.volumes[{index}]", volume, known)
        mountable = claims | {volume["name"] for volume in volumes}
        for below, container in containers_of(path, pod):
            yield from _in_container(below, container, mountable)
            yield from _in_env(below, container, known)


def _in_container(path: str, container: JSONObject, mountable: set[str]) -> Iterator[Problem]:
    if not container.get("command") and not image_entrypoint(container):
        what = "is missing: the entrypoint of an image cannot run on this machine"
        fix = "set the command, for example spec.trainer.command of the TrainJob"
        yield Problem(f"{path}.command", what, fix=fix)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount["name"] not in mountable:
            what = "names a volume that the pod does not have"
            yield Problem(f"{path}.volumeMounts[{index}].name", what, mount["name"])
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if "grpc" in (container.get(probe) or {}):
            what, fix = "cannot be probed on this machine", "use exec, tcpSocket or httpGet"
            yield Problem(f"{path}.{probe}.grpc", what, fix=fix)


def _in_volume(path: str, volume: JSONObject, known: Keys) -> Iterator[Problem]:
    for kind in sorted(set(volume) - {"name"} - VOLUMES):
        fix = "use a persistentVolumeClaim, hostPath or emptyDir, which are folders here"
        yield Problem(f"{path}.{kind}", "cannot be a folder on this machine", fix=fix)
    for kind, name in (("configMap", "name"), ("secret", "secretName")):
        if kind in volume:
            yield from _reference(f"{path}.{kind}", volume[kind], kind, name, known)
    for index, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
        yield from _in_projected(f"{path}.projected.sources[{index}]", source, known)


def _in_projected(path: str, source: JSONObject, known: Keys) -> Iterator[Problem]:
    for kind, value in source.items():
        if kind not in SOURCES:
            what, fix = "cannot be made on this machine", "leave it out for this target"
            yield Problem(f"{path}.{kind}", what, fix=fix)
        elif kind != "downwardAPI":
            yield from _reference(f"{path}.{kind}", value, kind, "name", known)


def _in_env(path: str, container: JSONObject, known: Keys) -> Iterator[Problem]:
    for index, entry in enumerate(container.get("envFrom") or ()):
        for field, kind in (("configMapRef", "configMap"), ("secretRef", "secret")):
            if field in entry:
                below = f"{path}.envFrom[{index}].{field}"
                yield from _reference(below, entry[field], kind, "name", known)
    for index, entry in enumerate(container.get("env") or ()):
        for field, kind in (("configMapKeyRef", "configMap"), ("secretKeyRef", "secret")):
            if source := (entry.get("valueFrom") or {}).get(field):
                below = f"{path}.env[{index}].valueFrom.{field}"
                yield from _reference(below, source, kind, "name", known)


def _reference(
    path: str, source: JSONObject, kind: str, field: str, known: Keys
) -> Iterator[Problem]:
    """A ConfigMap or Secret, or a key of it, that is not there and not optional."""
    if source.get("optional"):
        return
    shown = "ConfigMap" if kind == "configMap" else "Secret"
    name = str(source.get(field) or "")
    keys = known.get((shown, name))
    fix = f"declare the {shown} with the TrainJob, or mark the reference optional"
    if keys is None:
        what = f"names a {shown} that is not among the job's objects"
        yield Problem(f"{path}.{field}", what, name, fix)
        return
    items = source.get("items") or ()
    for key in [source["key"]] if "key" in source else [each["key"] for each in items]:
        if key not in keys:
            what = f"names a key that {shown} {name} does not have"
            yield Problem(path, what, key, fix)


def unsupported_fields(spec: JSONObject) -> tuple[Problem, ...]:
    """Every field of a JobSetSpec that would be run otherwise than on a cluster.

    JobSet v0.12 has those of the failure policy behind feature gates that are off, so that a cluster
    refuses them too.
    """
    return tuple(_in_failure_policy(spec))


def _in_failure_policy(spec: JSONObject) -> Iterator[Problem]:
    policy = spec.get("failurePolicy") or {}
    for index, rule in enumerate(policy.get("rules") or ()):
        if rule["action"] not in {FAIL, RESTART, RESTART_FREELY}:
            path = f"spec.failurePolicy.rules[{index}].action"
            yield Problem(path, _GATED, rule["action"], f"use {RESTART}")
    strategy = policy.get("restartStrategy", "Recreate")
    if strategy not in {"Recreate", "BlockingRecreate"}:
        path = "spec.failurePolicy.restartStrategy"
        yield Problem(path, _GATED, strategy, "use Recreate or BlockingRecreate")


def image_entrypoint(container: JSONObject) -> Sequence[str]:
    """The command of an initializer's image, run by our own Python; empty for any other container.

    Ours and the reference's images fetch the same (reference behaviour 7.1).
    """
    name = str(container["name"])
    role = "code" if name == names.CODE_INITIALIZER else ROLES.get(name)
    if role is None:
        return ()
    told = () if container.get("args") else (role,)
    return (sys.executable, "-m", initializers.__name__, *told)
