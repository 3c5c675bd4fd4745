"""One volume for each claim of a pod: the kubelet never starts a pod that has one claim twice.

It knows a volume by the claim's PersistentVolume and waits for each name of the pod's spec, of
which the second one never comes: the pod stays in ContainerCreating, without an event. So what we
mount of a claim is mounted from the volume that the runtime, a runtime patch or an earlier mount of
ours has for it. Pure.
"""

from collections.abc import Callable, Iterator, Sequence

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
    """The volumes that the pods of a step do not have yet, and the mounts from those that they will have.

    Args:
        job: TrainJob in wire form, with the runtime patches that it has by now.
        runtime: what it runs on.
        step: name of the replicated job.
        volumes: to add.
        mounts: of those volumes.

    Raises:
        InvalidInput: The volume that there is cannot be written.
    """
    known = {claim: each for each in _volumes_of(job, runtime, step) if (claim := _claim(each))}
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


def _volumes_of(job: JSONObject, runtime: Runtime, step: str) -> Iterator[JSONObject]:
    """The volumes of a step as the runtime and the patches have them."""
    template = runtime.spec.template
    specs = [(template.spec if template else None) or {}]
    for patch in job["spec"].get("runtimePatches") or ():
        patched = (patch.get("trainingRuntimeSpec") or {}).get("template") or {}
        specs.append(patched.get("spec") or {})
    for spec in specs:
        for each in spec.get("replicatedJobs") or ():
            if each["name"] == step:
                yield from resolve.pod_spec(each).get("volumes") or ()


def _claim(volume: JSONObject) -> str:
    return str((volume.get("persistentVolumeClaim") or {}).get("claimName") or "")


def _renamed(mount: JSONDict, volumes: dict[str, JSONObject]) -> JSONDict:
    """The mount from the volume that there is.

    Raises:
        InvalidInput: That is for reading, and this is to be written.
    """
    volume = volumes.get(mount["name"])
    if volume is None:
        return mount
    if volume["persistentVolumeClaim"].get("readOnly") and not mount.get("readOnly"):
        claim = _claim(volume)
        raise InvalidInput(
            [
                Problem(
                    f"volume {volume['name']!r}",
                    f"has the claim {claim} for reading alone, and {mount['mountPath']} of it is to be written",
                    fix="leave readOnly out of the volume, and give it to its volumeMounts",
                )
            ]
        )
    return {**mount, "name": volume["name"]}


def attach_claims(job: JSONDict, runtime: Runtime, place: Callable[[str], str]) -> JSONDict:
    """A TrainJob whose initializers find the claims that they read: `pvc://CLAIM/PATH` as `storageUri`.

    The claim is mounted, read-only, where `in_pod.initializers` looks for it, by a runtime patch, so
    that every engine renders it.

    Args:
        job: in wire form; not changed.
        runtime: the runtime that it refers to.
        place: the address of a claim, `pvc://CLAIM`, on the run's target.
    """
    given = job["spec"].get("initializer") or {}
    uris = {
        job_name: str((given.get(field) or {}).get("storageUri") or "")
        for job_name, field in initializers.ROLES.items()
    }
    read = {
        job_name: volume_address.claim_of(uri)[0]
        for job_name, uri in uris.items()
        if uri.startswith(volume_address.CLAIM)
    }
    if not read:
        return job
    patched = []
    for step, claim in read.items():
        volume, mount = of_claim(claim, place(f"{volume_address.CLAIM}{claim}"))
        volumes, mounts = of_one_volume(job, runtime, step, [volume], [mount])
        pod = {"volumes": volumes, "containers": [{"name": step, "volumeMounts": mounts}]}
        patched.append({"name": step, "template": {"spec": {"template": {"spec": pod}}}})
    spec = {"template": {"spec": {"replicatedJobs": patched}}}
    patch = {"manager": names.CLAIMS_MANAGER, "trainingRuntimeSpec": spec}
    patches = [*(job["spec"].get("runtimePatches") or ()), patch]
    return {**job, "spec": {**job["spec"], "runtimePatches": patches}}


def of_claim(claim: str, address: str) -> tuple[JSONDict, JSONDict]:
    """The volume of a claim, and its mount, where launchers and initializers look for it."""
    volume = volume_address.volume_of(names.CLAIM_VOLUME, address)
    mount = volume_address.mount_of(names.CLAIM_VOLUME, address, f"{names.CLAIMS_MOUNT}/{claim}")
    return volume, {**mount, "readOnly": True}
