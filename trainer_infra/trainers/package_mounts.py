"""What pods mount to install packages: which ones, their cache, and wheels of a claim.

The cache is an address, `pvc://CLAIM/PATH` or `/PATH`, a folder of each Kubernetes node, from stack
configuration `trainer:packages` or `packages_at=` of a CustomTrainer; without one it is a folder
that goes with the pod. Pure, and light.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers import volume_address
from trainer_infra.trainers.code import Code

INIT: Final = "init.py"
"""The file of a code mount that is a pod's first process, and starts what its arguments say."""
INSTALLING: Final = "packages.py"
"""The file of a code mount that installs packages, and then starts what its arguments say."""
PACKAGES: Final = "packages.txt"
"""The file beside it that says which."""


def package_volumes(
    lines: Sequence[str], cache: str, namespace: str
) -> tuple[list[JSONDict], list[JSONDict]]:
    """Volumes of the cache of packages, by its address, and of wheels in a claim, and their mounts.

    A node's folder has one folder for each namespace: who may write code that another namespace runs could read
    that one's secrets.
    """
    place = cache if not cache.startswith("/") else f"{cache.rstrip('/')}/{namespace}"
    name = names.PACKAGES_VOLUME
    if place:
        volumes = [volume_address.volume_of(name, place)]
        mounts = [volume_address.mount_of(name, place, names.PACKAGES_MOUNT)]
    else:
        volumes = [{"name": name, "emptyDir": {}}]
        mounts = [{"name": name, "mountPath": names.PACKAGES_MOUNT}]
    for line in lines:
        if line.startswith(names.FIND_LINKS + volume_address.CLAIM):
            address = line.removeprefix(names.FIND_LINKS)
            volumes.append(volume_address.volume_of(names.WHEELS_VOLUME, address))
            mount = volume_address.mount_of(names.WHEELS_VOLUME, address, names.WHEELS_MOUNT)
            mounts.append({**mount, "readOnly": True})
    return volumes, mounts


def mounted_files(code: Code) -> Mapping[str, str]:
    """Everything in a code mount: the files of the code, and which packages pods install."""
    if INSTALLING not in code.files:
        return code.files
    in_claim = names.FIND_LINKS + volume_address.CLAIM
    mounted = names.FIND_LINKS + names.WHEELS_MOUNT
    in_image = code.image_has_packages or ()
    wanted = (each for each in code.packages if in_image is not True and each not in in_image)
    lines = (mounted if each.startswith(in_claim) else each for each in wanted)
    return {**code.files, PACKAGES: "".join(f"{each}\n" for each in lines)}
