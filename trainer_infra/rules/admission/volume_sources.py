"""volume-sources: a volume has a name of its own and one source, with all that names it.

Source: Kubernetes' validation of pods (`ValidateVolumes`, `validateVolumeSource` and what that
calls). A volume without a source is an emptyDir. Of sources that Kubernetes has given up only what
they require is judged.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.admission.field import Check
from trainer_infra.rules.admission.field_references import FIELD_OF_FILE, RESOURCE_OF_FILE
from trainer_infra.rules.name_syntax import (
    DNS_LABEL,
    DNS_SUBDOMAIN,
    DRIVER_NAME,
    FILE_IN_VOLUME,
    PATH_WITHOUT_STEPS_UP,
)
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.words import listed

_MODE: Final = field.number(0, 0o777)
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
_SOURCES: Final = (*_REQUIRED, "emptyDir", "downwardAPI", "projected", "image", "fc")
_FILE: Final = {"path": field.text(FILE_IN_VOLUME), "mode": _MODE}
_KEYS: Final = field.items(field.every(field.required("key", "path"), field.fields(_FILE)))
_DOWNWARD: Final = field.items(
    field.every(
        field.required("path"),
        field.one_of("fieldRef", "resourceFieldRef"),
        field.fields({**_FILE, "fieldRef": FIELD_OF_FILE, "resourceFieldRef": RESOURCE_OF_FILE}),
    )
)
_MAP: Final = {"items": _KEYS, "defaultMode": _MODE}
_PROJECTED: Final = field.every(
    field.one_of(
        *("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle"),
        "podCertificate",
        is_optional=True,
    ),
    field.fields(
        {
            **dict.fromkeys(
                ("secret", "configMap"), field.every(field.required("name"), field.fields(_MAP))
            ),
            "downwardAPI": field.fields({"items": _DOWNWARD}),
            "serviceAccountToken": field.every(
                field.required("path"),
                field.fields(
                    {
                        "path": field.text(FILE_IN_VOLUME),
                        "expirationSeconds": field.number(_SHORTEST_TOKEN, _LONGEST_TOKEN),
                    }
                ),
            ),
        }
    ),
)


def _absolute(place: Value) -> Iterator[Finding]:
    if place.text() and not place.text().startswith("/"):
        yield place.finding("must be an absolute path", place.text())


def _paths_differ(projected: Value) -> Iterator[Finding]:
    """No two files of a projected volume have one path."""
    seen = set()
    for source in projected["sources"].items():
        for kind in ("secret", "configMap", "downwardAPI"):
            for each in source[kind]["items"].items():
                path = each["path"]
                if path.text() in seen:
                    yield path.finding("is the path of two files of the volume", path.text())
                elif path.text():
                    seen.add(path.text())


def _claim(spec: Value) -> Iterator[Finding]:
    modes, storage = spec["accessModes"], spec.at("resources", "requests", "storage")
    known = modes.texts()
    if not field.all_items(modes):
        yield modes.finding("is required", None, f"write {listed(_ACCESS, 'or')}")
    elif _ALONE in known and len({*known}) > 1:
        yield modes.finding(f"must have {_ALONE} alone")
    if not storage.is_there():
        yield storage.finding("is required")
    elif storage.quantity() == 0:
        yield storage.finding("must be more than 0", storage.raw)
    else:
        yield from field.amount(storage)


_CLAIM_TEMPLATE: Final = field.every(
    field.required("spec"),
    field.fields(
        {
            "spec": field.every(
                _claim,
                field.fields(
                    {
                        "accessModes": field.items(field.choice(*_ACCESS, is_optional=False)),
                        "storageClassName": field.text(DNS_SUBDOMAIN),
                        "volumeMode": field.choice("Block", "Filesystem", is_optional=False),
                    }
                ),
            )
        }
    ),
)
_OF_SOURCE: Final[Mapping[str, Check]] = {
    "emptyDir": field.fields({"sizeLimit": field.amount}),
    "secret": field.fields(_MAP),
    "configMap": field.fields(_MAP),
    "downwardAPI": field.fields({"items": _DOWNWARD, "defaultMode": _MODE}),
    "projected": field.every(
        field.fields({"sources": field.items(_PROJECTED), "defaultMode": _MODE}), _paths_differ
    ),
    "hostPath": field.fields(
        {"path": field.text(PATH_WITHOUT_STEPS_UP), "type": field.choice(*_HOST_TYPES)}
    ),
    "nfs": field.fields({"path": _absolute}),
    "csi": field.fields(
        {
            "driver": field.text(DRIVER_NAME),
            "nodePublishSecretRef": field.every(
                field.required("name"), field.fields({"name": field.text(DNS_SUBDOMAIN)})
            ),
        }
    ),
    "ephemeral": field.fields({"volumeClaimTemplate": _CLAIM_TEMPLATE}),
    "iscsi": field.fields({"lun": field.number(0, 255)}),
}
_VOLUMES: Final = field.every(
    field.items(
        field.every(
            field.required("name"),
            field.one_of(*_SOURCES, is_optional=True),
            field.fields(
                {
                    "name": field.text(DNS_LABEL),
                    **{key: field.required(*keys) for key, keys in _REQUIRED.items()},
                }
            ),
            field.fields(_OF_SOURCE),
        )
    ),
    field.unique("name"),
)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(field.found_in(pod.spec["volumes"], _VOLUMES), context)


RULE: Final = Rule(
    id="volume-sources",
    title="A volume has a name of its own and one source",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "volumes"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write one source for each volume, and all that names what it holds.",
    places=written_places.pods_with("volumes"),
    check=_check,
)
