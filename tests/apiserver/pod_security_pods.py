"""Pods that differ from one which every level of the Pod Security Standards admits, in one field or several.

A variation is a path below the pod's template and what stands there; REMOVED takes a field away.
"""

import copy
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

JSON = dict[str, Any]
Path = tuple[str | int, ...]
Variation = tuple[Path, Any]

REMOVED: Final = object()
_STRICT: Final[JSON] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_PLACES: Final[Mapping[str, Path]] = {
    "init": ("spec", "initContainers", 0),
    "first": ("spec", "containers", 0),
    "second": ("spec", "containers", 1),
}
_SYSCTLS: Final = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem", "net.core.somaxconn", "kernel.msgmax", "fs.mqueue.msg_max",
)  # fmt: skip
_CONTEXT: Final[Mapping[str, Sequence[Any]]] = {
    "privileged": (True, False),
    "allowPrivilegeEscalation": (True, REMOVED),
    "runAsUser": (0, 1000),
    "runAsNonRoot": (True, False),
    "seccompProfile": (
        {"type": "Unconfined"},
        {"type": "RuntimeDefault"},
        {"type": "Localhost", "localhostProfile": "profiles/a.json"},
    ),
    "appArmorProfile": (
        {"type": "Unconfined"},
        {"type": "RuntimeDefault"},
        {"type": "Localhost", "localhostProfile": "a"},
    ),
    "seLinuxOptions": (
        *({"type": each} for each in ("container_t", "container_init_t", "container_kvm_t")),
        *({"type": each} for each in ("container_engine_t", "spc_t", "")),
        {"level": "s0:c1,c2"},
        {"user": "system_u"},
        {"role": "system_r"},
    ),
    "procMount": ("Default", "Unmasked"),
    "windowsOptions": ({"hostProcess": True}, {"hostProcess": False}, {"runAsUserName": "a"}),
    "capabilities": (
        REMOVED,
        {},
        *({"drop": each} for each in ([], ["NET_RAW"], ["all"], ["NET_RAW", "ALL"])),
        *(
            {"drop": ["ALL"], "add": [each]}
            for each in ("NET_BIND_SERVICE", "CHOWN", "MKNOD", "SYS_ADMIN", "IPC_LOCK", "NET_RAW")
        ),
        *({"drop": ["ALL"], "add": [each]} for each in ("ALL", "CAP_CHOWN", "chown", "")),
    ),
}
_OF_CONTAINERS: Final = {"privileged", "allowPrivilegeEscalation", "procMount", "capabilities"}
_VOLUMES: Final[Sequence[JSON]] = (
    {"emptyDir": {"medium": "Memory"}},
    {"configMap": {"name": "a"}},
    {"secret": {"secretName": "a"}},
    {"persistentVolumeClaim": {"claimName": "a"}},
    {"projected": {"sources": [{"configMap": {"name": "a"}}]}},
    {"downwardAPI": {"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {"csi": {"driver": "example.com"}},
    {
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    },
    {"image": {"reference": "registry.example.com/a:v1"}},
    {"hostPath": {"path": "/mnt"}},
    {"nfs": {"server": "a", "path": "/a"}},
    {"gitRepo": {"repository": "https://example.com/a"}},
    {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
    {"cephfs": {"monitors": ["a"]}},
    {"rbd": {"monitors": ["a"], "image": "a"}},
    {"glusterfs": {"endpoints": "a", "path": "a"}},
    {"fc": {"targetWWNs": ["a"], "lun": 0}},
    {"flexVolume": {"driver": "example.com/a"}},
    {"azureFile": {"secretName": "a", "shareName": "a"}},
    {"azureDisk": {"diskName": "a", "diskURI": "https://a/b.vhd"}},
    {"awsElasticBlockStore": {"volumeID": "a"}},
    {"gcePersistentDisk": {"pdName": "a"}},
    {"portworxVolume": {"volumeID": "a"}},
    {"vsphereVolume": {"volumePath": "a"}},
    {},
)
_HOSTS: Final = ("", "127.0.0.1", "::1", "localhost", "10.0.0.1")


def admitted_pod() -> JSON:
    """A pod template that every level admits."""
    return {
        "metadata": {"name": "digits"},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [_container("init")],
            "containers": [_container("first"), _container("second")],
        },
    }


def _container(name: str) -> JSON:
    image = "registry.example.com/vision/train:v7"
    return {"name": name, "image": image, "securityContext": copy.deepcopy(_STRICT)}


def variations() -> Iterator[Variation]:
    """Each alone."""
    for place, at in _PLACES.items():
        yield from (
            ((*at, "securityContext", key), value)
            for key, values in _CONTEXT.items()
            for value in values
        )
        yield from _of_container(at)
        yield (*at, "securityContext"), REMOVED
        for profile in ("unconfined", "runtime/default", "localhost/a", ""):
            key = f"container.apparmor.security.beta.kubernetes.io/{place}"
            yield ("metadata", "annotations", key), profile
    pod: Path = ("spec", "securityContext")
    yield from (
        ((*pod, key), value)
        for key, values in _CONTEXT.items()
        if key not in _OF_CONTAINERS
        for value in (*values, REMOVED)
    )
    yield pod, REMOVED
    yield from (((*pod, "sysctls"), [{"name": each, "value": "1"}]) for each in _SYSCTLS)
    yield from (
        (("spec", key), value)
        for key in ("hostNetwork", "hostPID", "hostIPC", "hostUsers")
        for value in (True, False)
    )
    yield from ((("spec", "volumes"), [{"name": "a", **each}]) for each in _VOLUMES)


def compounds() -> Iterator[tuple[Variation, ...]]:
    """Variations that are valid only together."""
    of_all = [(*at, "securityContext") for at in _PLACES.values()]
    windows = {"hostProcess": True}
    host_network = (("spec", "hostNetwork"), True)
    yield from ((((at, {"privileged": True})),) for at in of_all)
    yield from ((((*at, "procMount"), "Unmasked"), (("spec", "hostUsers"), False)) for at in of_all)
    yield host_network, (("spec", "securityContext", "windowsOptions"), windows)
    yield host_network, *(((*at, "windowsOptions"), windows) for at in of_all)


def _of_container(at: Path) -> Iterator[Variation]:
    yield from (((*at, "ports"), [{"containerPort": 80, "hostPort": each}]) for each in (0, 80))
    for host in _HOSTS:
        handlers: Sequence[JSON] = (
            {"httpGet": {"port": 80, "host": host}},
            {"tcpSocket": {"port": 80, "host": host}},
        )
        if "initContainers" not in at:
            for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
                yield from (((*at, probe), each) for each in handlers)
            for moment in ("postStart", "preStop"):
                yield from (((*at, "lifecycle", moment), each) for each in handlers)


def varied(*chosen: Variation) -> JSON:
    """The pod that is admitted, with variations."""
    return with_variations(admitted_pod(), chosen)


def with_variations(made: JSON, chosen: Iterable[Variation]) -> JSON:
    """An object with variations, a later one over what an earlier one says; it is changed."""
    for path, value in chosen:
        place: Any = made
        for key, below in pairwise(path):
            if isinstance(key, str):
                place = place.setdefault(key, [] if isinstance(below, int) else {})
            else:
                place = place[key]
        if value is not REMOVED:
            place[path[-1]] = copy.deepcopy(value)
        elif isinstance(place, dict):
            place.pop(path[-1], None)
    return made


def mixed(count: int) -> Iterator[tuple[Variation, ...]]:
    """Some at once, the same each time."""
    drawn, known = random.Random(16), list(variations())
    for _ in range(count):
        yield tuple(drawn.sample(known, drawn.randint(2, 3)))
