"""Volume claims that initializers read: `pvc://CLAIM/PATH` as `storageUri` of a TrainJob's initializer.

The claim is mounted, read-only, where `in_pod.initializers` looks for it, by a runtime patch, so
that every engine renders it. Pure.
"""

from collections.abc import Callable

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.catalog import initializers
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers import volume_address
from trainer_infra.trainers.claim_volumes import of_one_volume


def attach_claims(job: JSONDict, runtime: Runtime, place: Callable[[str], str]) -> JSONDict:
    """A TrainJob whose initializers find the claims that they read.

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
