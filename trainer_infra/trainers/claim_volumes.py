"""One volume for each claim of a pod: the kubelet never starts a pod that has one claim twice.

It knows a volume by the claim's PersistentVolume and waits for each name of the pod's spec, of
which the second one never comes: the pod stays in ContainerCreating, without an event. So what we
mount of a claim is mounted from the volume that the runtime, a runtime patch or an earlier mount of
ours has for it. Pure.
"""

from collections.abc import Iterator, Sequence

from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resolve


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
