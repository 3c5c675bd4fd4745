"""Forms of volumes: each has a name of its own and one source, with all that names it.

Source: Kubernetes' validation of pods (`ValidateVolumes`, `validateVolumeSource` and what that
calls). A volume without a source is an emptyDir. Of sources that Kubernetes has given up only what
they require is judged.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.api.shape import form, syntax
from trainer_infra.api.shape.container_forms import FIELD_OF_FILE, RESOURCE_OF_FILE
from trainer_infra.api.shape.form import (
    AMOUNT,
    JSON,
    asked,
    choice,
    every,
    fields,
    items,
    needs,
    number,
    one_of,
    part_of,
    required,
    text,
    unique,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.walk import Schema
from trainer_infra.words import listed

_MODE: Final = number(0, 0o777)
_SHORTEST_TOKEN: Final = 600
_LONGEST_TOKEN: Final = 1 << 32
_ALONE: Final = "ReadWriteOncePod"
_ACCESS: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ALONE)
_HOST_TYPES: Final = (
    "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "secret": ("secretName",),
    "configMap": ("name",),
    "persistentVolumeClaim": ("claimName",),
    "hostPath": ("path",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
    "ephemeral": ("volumeClaimTemplate",),
    "gitRepo": ("repository",),
    "iscsi": ("targetPortal", "iqn"),
    "cephfs": ("monitors",),
    "rbd": ("monitors", "image"),
    "glusterfs": ("endpoints", "path"),
    "flexVolume": ("driver",),
    "azureFile": ("secretName", "shareName"),
    "azureDisk": ("diskName", "diskURI"),
    "awsElasticBlockStore": ("volumeID",),
    "gcePersistentDisk": ("pdName",),
    "portworxVolume": ("volumeID",),
    "vsphereVolume": ("volumePath",),
    "cinder": ("volumeID",),
}
_FILE: Final = {"path": text(syntax.FILE_IN_VOLUME), "mode": _MODE}
_KEYS: Final = items(needs("key", "path", **_FILE))
_DOWNWARD: Final = items(
    every(
        required("path"),
        one_of("fieldRef", "resourceFieldRef"),
        fields(**_FILE, fieldRef=FIELD_OF_FILE, resourceFieldRef=RESOURCE_OF_FILE),
    )
)
_MAP: Final = fields(items=_KEYS, defaultMode=_MODE)
_OF_FILES: Final = ("secret", "configMap", "downwardAPI")
_PROJECTED: Final = every(
    one_of(
        *(*_OF_FILES, "serviceAccountToken", "clusterTrustBundle", "podCertificate"),
        is_optional=True,
    ),
    fields(
        **dict.fromkeys(("secret", "configMap"), every(required("name"), _MAP)),
        downwardAPI=fields(items=_DOWNWARD),
        serviceAccountToken=needs(
            "path",
            path=text(syntax.FILE_IN_VOLUME),
            expirationSeconds=number(_SHORTEST_TOKEN, _LONGEST_TOKEN),
        ),
    ),
)


def _absolute(path: str) -> Broken:
    if path and not path.startswith("/"):
        yield BrokenRule((), path, "must be an absolute path")


def _paths_differ(projected: JSON) -> Broken:
    """No two files of a projected volume have one path."""
    seen = set()
    for index, source in enumerate(projected.get("sources") or ()):
        for kind in _OF_FILES:
            for position, each in enumerate(part_of(source, kind).get("items") or ()):
                path = each.get("path")
                if path in seen:
                    where = ("sources", index, kind, "items", position, "path")
                    yield BrokenRule(where, path, "is the path of two files of the volume")
                elif path:
                    seen.add(path)


def _used_alone(modes: list[str]) -> Broken:
    if _ALONE in modes and len({*modes}) > 1:
        yield BrokenRule(what=f"must have {_ALONE} alone")


def _some_storage(amount: Any) -> Broken:
    if form.amount_of(amount) == 0:
        yield BrokenRule((), amount, "must be more than 0")


def _asks_storage(spec: JSON) -> Broken:
    requests = part_of(spec, "resources", "requests")
    if requests.get("storage") is None:
        yield BrokenRule(("resources", "requests", "storage"), None, "is required")


_CLAIM: Final = every(
    required("accessModes", fix=f"write {listed(_ACCESS, 'or')}"),
    asked(_asks_storage),
    fields(
        accessModes=every(items(choice(*_ACCESS, is_optional=False)), asked(_used_alone)),
        resources=fields(requests=fields(storage=every(AMOUNT, asked(_some_storage)))),
        storageClassName=text(syntax.DNS_SUBDOMAIN),
        volumeMode=choice("Block", "Filesystem", is_optional=False),
    ),
)
_OF_SOURCE: Final[Mapping[str, Schema]] = {
    "emptyDir": fields(sizeLimit=AMOUNT),
    "secret": _MAP,
    "configMap": _MAP,
    "downwardAPI": fields(items=_DOWNWARD, defaultMode=_MODE),
    "projected": every(fields(sources=items(_PROJECTED), defaultMode=_MODE), asked(_paths_differ)),
    "hostPath": fields(path=text(syntax.PATH_WITHOUT_STEPS_UP), type=choice(*_HOST_TYPES)),
    "nfs": fields(path=asked(_absolute)),
    "csi": fields(
        driver=text(syntax.DRIVER_NAME),
        nodePublishSecretRef=needs("name", name=text(syntax.DNS_SUBDOMAIN)),
    ),
    "ephemeral": fields(volumeClaimTemplate=needs("spec", spec=_CLAIM)),
    "iscsi": fields(lun=number(0, 255)),
}
_VOLUME: Final = every(
    required("name"),
    one_of(*_REQUIRED, "emptyDir", "downwardAPI", "projected", "image", "fc", is_optional=True),
    fields(
        name=text(syntax.DNS_LABEL), **{key: required(*keys) for key, keys in _REQUIRED.items()}
    ),
    fields(**_OF_SOURCE),
)
VOLUMES: Final = fields(volumes=every(items(_VOLUME), unique("name")))
"""Of a PodSpec, its volumes."""
