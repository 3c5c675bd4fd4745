"""One volume for each claim of a pod: the kubelet never starts a pod that has one claim twice.

It knows a volume by the claim's PersistentVolume and waits for each name of the pod's spec, of
which the second one never comes: the pod stays in ContainerCreating, without an event. So what we
mount of a claim is mounted from the volume that the runtime, a runtime patch or an earlier mount of
ours has for it. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.catalog import initializers
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resolve
from trainer_infra.trainers import volume_address


def of_one_volume(
    job: JSONObject,
    runtime: Runtime,
    step: str,
    volumes: Sequence[JSONDict],
    mounts: list[JSONDict],
) -> tuple[list[JSONDict], list[JSONDict]]:
    """The volumes that the pods of a replicated job do not have yet, and the mounts from those that they will have.

    What they have by now, the runtime and the runtime patches of the TrainJob say.

    Raises:
        InvalidInput: The volume that there is cannot be written.
    """
    there = (each for pod in pod_specs(job, runtime, step) for each in pod.get("volumes") or ())
    known = {claim: each for each in there if (claim := _claim(each))}
    added: list[JSONDict] = []
    renamed: dict[str, JSONObject] = {}
    for each in volumes:
        claim = _claim(each)
        if claim in known:
            renamed[each["name"]] = known[claim]
            continue
        added.append(each)
        if claim:
            known[claim] = each
    return added, [_renamed(each, renamed) for each in mounts]


def pod_specs(job: JSONObject, runtime: Runtime, step: str) -> Iterator[JSONObject]:
    """What the runtime and each runtime patch of the TrainJob say of the pods of a replicated job."""
    template = runtime.spec.template
    specs = [(template.spec if template else None) or {}]
    for patch in job["spec"].get("runtimePatches") or ():
        patched = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        specs.append(patched.get("spec") or {})
    for spec in specs:
        for each in spec.get("replicatedJobs") or ():
            if each["name"] == step:
                yield resolve.pod_spec(each)


def _claim(volume: JSONObject) -> str:
    return str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")


def _renamed(mount: JSONDict, volumes: dict[str, JSONObject]) -> JSONDict:
    volume = volumes.get(mount["name"])
    if volume is None:
        return mount
    if volume["persistentVolumeClaim"].get("readOnly") and not mount.get("readOnly"):
        claim, path = _claim(volume), mount["mountPath"]
        what = f"has the claim {claim} for reading alone, and {path} of it is to be written"
        fix = "leave readOnly out of the volume, and give it to its volumeMounts"
        raise InvalidInput([Problem(f"volume {volume['name']!r}", what, fix=fix)])
    return {**mount, "name": volume["name"]}


def attach_claims(job: JSONDict, runtime: Runtime, place: Callable[[str], str]) -> JSONDict:
    """A TrainJob whose initializers find the claims that they read: `pvc://CLAIM/PATH` as `storageUri`.

    The claim is mounted, read-only, where `in_pod.initializers` looks for it, by a runtime patch, so
    that every engine renders it. `place` has the address of `pvc://CLAIM` on the run's target.
    """
    pods: JSONDict = {}
    for step, field in initializers.ROLES.items():
        uri = initializers.storage_uri(job, field)
        if uri.startswith(volume_address.CLAIM):
            volume, mount = of_claim(uri, place)
            volumes, mounts = of_one_volume(job, runtime, step, [volume], [mount])
            container = {"name": step, "volumeMounts": mounts}
            pods[step] = {"volumes": volumes, "containers": [container]}
    return with_patch(job, names.CLAIMS_MANAGER, pods) if pods else job


def with_patch(job: JSONDict, manager: str, pods: Mapping[str, JSONObject]) -> JSONDict:
    """The TrainJob with one more runtime patch: name of a replicated job -> what its pods get."""
    jobs = [
        {"name": step, "template": {"spec": {"template": {"spec": pod}}}}
        for step, pod in pods.items()
    ]
    spec = {"template": {"spec": {"replicatedJobs": jobs}}}
    patch = {"manager": manager, "trainingRuntimeSpec": spec}
    return with_spec(job, runtimePatches=[*(job["spec"].get("runtimePatches") or ()), patch])


def with_spec(job: JSONDict, **fields: Any) -> JSONDict:
    """The TrainJob with these fields of its spec in place of its own."""
    return {**job, "spec": {**job["spec"], **fields}}


def of_claim(uri: str, place: Callable[[str], str]) -> tuple[JSONDict, JSONDict]:
    """The volume of the claim of a URI, and its mount, where launchers and initializers look for it."""
    claim, _ = volume_address.claim_of(uri)
    address = place(f"{volume_address.CLAIM}{claim}")
    volume = volume_address.volume_of(names.CLAIM_VOLUME, address)
    mount = volume_address.mount_of(names.CLAIM_VOLUME, address, f"{names.CLAIMS_MOUNT}/{claim}")
    return volume, {**mount, "readOnly": True}
