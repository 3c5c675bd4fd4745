"""What a pod has of its node: namespaces, folders, ports, processes, and what its kubelet does for it."""

from collections.abc import Iterator
from typing import Final, Literal

from trainer_infra.api.shape import syntax
from trainer_infra.rules import pods
from trainer_infra.rules.finding import REMOVED, where_to_fix
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import present

_SHARED: Final = {"hostNetwork": "network", "hostPID": "processes", "hostIPC": "shared memory"}
"""What of its node a pod shares, by the field that says so."""


class HostNamespaces(Parameters):
    """What pods may share with their node."""

    allow: tuple[Literal["hostNetwork", "hostPID", "hostIPC"], ...] = ()
    """Fields that may be true; `hostNetwork` where RDMA needs it."""


def _places_of_namespaces(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        yield from present(pod.spec[each] for each in _SHARED)


def _check_namespaces(place: Value, context: Context[HostNamespaces]) -> Iterator[Finding]:
    field = str(place.path[-1])
    if place.flag() is True and field not in context.parameters.allow:
        what = f"shares the node's {_SHARED[field]} with the pod"
        fix = "set it to false; where RDMA needs hostNetwork, put that in `allow`"
        yield place.finding(what, True, fix, place.set_to(value=False))


HOST_NAMESPACES: Final = Rule(
    id="host-namespaces",
    title="Pods must not share their node's namespaces",
    severity=Severity.CRITICAL,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "rdma"),
    frameworks=(
        *("pod-security-standards/baseline", "cis-kubernetes/5.2.3", "cis-kubernetes/5.2.4"),
        *("cis-kubernetes/5.2.5", "owasp-k8s/K01"),
    ),
    why=(
        "In its node's namespaces a pod sees the processes, memory and traffic of other pods, and "
        "reaches services that trust the node, such as the cloud's credentials."
    ),
    fix="Set `hostNetwork`, `hostPID` and `hostIPC` to false.",
    places=_places_of_namespaces,
    check=_check_namespaces,
    parameters=HostNamespaces,
    remediates=True,
)


class HostPath(Parameters):
    """What folders of a node may be mounted."""

    allow: tuple[str, ...] = ()
    """Folders that may be mounted, with all that is in them: `/mnt/nvme`."""


_VOLUME: Final = "PersistentVolume"
_SYSTEM: Final = (
    *("/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root"),
    *("/run", "/sbin", "/sys", "/usr", "/var/lib", "/var/log", "/var/run"),
)
"""Folders of a machine itself. Disks that a provisioner of local volumes hands out stand in others."""


def _places_of_path(subject: Subject) -> Iterator[Value]:
    yield from present(volume.at("hostPath", "path") for volume in pods.volumes(subject))
    if subject.kind == _VOLUME:
        yield from (subject.object.at("spec", each, "path") for each in ("hostPath", "local"))


def _check_path(place: Value, context: Context[HostPath]) -> Iterator[Finding]:
    path, allow = place.text(), context.parameters.allow
    if not path or any(_is_in(path, each) for each in allow):
        return
    # A disk that a provisioner hands out is one of its own.
    is_of_machine = not _parts(path) or any(_is_in(path, each) for each in _SYSTEM)
    if place.path[-2] != "local" or is_of_machine or ".." in _parts(path):
        other = f"a folder in {' or '.join(allow)}, or " if allow else ""
        fix = f"use {other}a PersistentVolumeClaim, or an emptyDir for what need not last"
        yield place.finding("is a folder of the node", path, fix)


def _is_in(path: str, folder: str) -> bool:
    parts, allowed = _parts(path), _parts(folder)
    return ".." not in parts and parts[: len(allowed)] == allowed


def _parts(path: str) -> tuple[str, ...]:
    return tuple(each for each in path.split("/") if each not in ("", "."))


HOST_PATH: Final = Rule(
    id="host-path",
    title="Pods must not mount folders of their node",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS | {_VOLUME},
    tags=("pod-security", "volumes"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.12", "owasp-k8s/K01"),
    why=(
        "Through a folder of the node a pod can read what others keep there or take over the node, "
        "and what it writes is gone when it restarts on another node. A PersistentVolume with "
        "`hostPath` does the same for the pods that claim it."
    ),
    fix="Use a PersistentVolumeClaim or an emptyDir, or put the folder in `allow`.",
    places=_places_of_path,
    check=_check_path,
    parameters=HostPath,
)


def _places_of_ports(subject: Subject) -> Iterator[Value]:
    for container in pods.containers(subject):
        yield from (each["hostPort"] for each in container.value["ports"].items())


def _check_ports(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if port := place.number():
        fix = "remove it; nodes of a job reach one another by their names"
        yield place.finding("takes a port of the node", port, fix)


HOST_PORTS: Final = Rule(
    id="host-ports",
    title="Containers must not use ports of their node",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "network"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.13", "owasp-k8s/K01"),
    why=(
        "Two pods with the same port never run on one node, and no NetworkPolicy protects the "
        "port. A namespace at the baseline level rejects such pods."
    ),
    fix="Remove `hostPort`.",
    places=_places_of_ports,
    check=_check_ports,
)


def _check_process(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    process = place.at("windowsOptions", "hostProcess")
    if process.flag() is True:
        patch = process.set_to(value=False)
        yield process.finding("runs as a process of the node", True, "set it to false", patch)


HOST_PROCESS: Final = Rule(
    id="host-process",
    title="Pods must not run Windows HostProcess containers",
    severity=Severity.CRITICAL,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.11", "owasp-k8s/K01"),
    why="A HostProcess container has its node's files, network and rights, like a privileged one on Linux.",
    fix="Set `windowsOptions.hostProcess` to false.",
    places=security_context.security_contexts,
    check=_check_process,
    remediates=True,
)


_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def _places_of_probes(subject: Subject) -> Iterator[Value]:
    for each in pods.containers(subject):
        hooks = (each.value["lifecycle"][kind] for kind in ("postStart", "preStop"))
        for handler in present((*(each.value[kind] for kind in _PROBES), *hooks)):
            yield from (handler.at(way, "host") for way in ("httpGet", "tcpSocket"))


def _check_probes(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if place.text():
        what = "makes the kubelet connect to another host"
        fix = "remove it: the kubelet asks the pod itself"
        yield place.finding(what, place.text(), fix)


PROBE_HOSTS: Final = Rule(
    id="probe-hosts",
    title="Probes must not query other hosts",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "network"),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "The kubelet sends probes from the node's own network, which reaches addresses that pods "
        "cannot. Since Kubernetes 1.34 a namespace at the baseline level rejects such pods."
    ),
    fix="Remove `host` from probes and lifecycle handlers.",
    places=_places_of_probes,
    check=_check_probes,
)


_SAFE: Final = frozenset((
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ping_group_range", "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem", "net.ipv4.tcp_syncookies", "net.ipv4.tcp_wmem",
))  # fmt: skip
"""Of the level baseline of Kubernetes 1.32 and later."""


class Sysctls(Parameters):
    """What kernel parameters may be set."""

    allow: tuple[str, ...] = ()
    """Names besides the safe ones; the kubelet must allow them, too."""


def _places_of_sysctls(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        for each in pod.spec.at("securityContext", "sysctls").items():
            yield each["name"]


def _check_sysctls(place: Value, context: Context[Sysctls]) -> Iterator[Finding]:
    # What is not a name at all is for the rule security-values.
    is_one = place.is_there() and syntax.KERNEL_PARAMETER.fits(place.text())
    if is_one and place.text() not in _SAFE.union(context.parameters.allow):
        fix = "remove it, or put it in `allow` where the kubelets allow it"
        yield place.finding("is a kernel parameter that other pods feel", place.text(), fix)


SYSCTLS: Final = Rule(
    id="sysctls",
    title="Pods may set only safe kernel parameters",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "Other parameters change the node for every pod on it. A kubelet starts a pod with one "
        "only if its administrator allowed it, and a namespace at the baseline level rejects it."
    ),
    fix="Remove the parameter, or have the node's administrator set it.",
    places=_places_of_sysctls,
    check=_check_sysctls,
    parameters=Sysctls,
)


_TEMPLATE: Final = "ResourceClaimTemplate"


def _places_of_requests(subject: Subject) -> Iterator[Value]:
    spec = subject.object["spec"]
    claim = spec["spec"] if subject.kind == _TEMPLATE else spec
    for each in claim.at("devices", "requests").items():
        yield from (each["adminAccess"], each.at("exactly", "adminAccess"))


def _check_requests(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if place.flag() is True:
        what = "gives the pod devices that other pods use"
        yield place.finding(what, True, "remove it", place.set_to(REMOVED))


ADMIN_ACCESS: Final = Rule(
    id="admin-access",
    title="Claims must not ask for administrative access to devices",
    severity=Severity.HIGH,
    kinds=frozenset(("ResourceClaim", _TEMPLATE)),
    tags=("pod-security", "devices"),
    frameworks=("owasp-k8s/K01",),
    why=(
        "With `adminAccess` a pod has devices that are in use by others, and can read and stop "
        "their work. It is meant for monitoring in namespaces of administrators."
    ),
    fix="Remove `adminAccess`.",
    places=_places_of_requests,
    check=_check_requests,
    remediates=True,
)
"""Sources: the requests of resource.k8s.io/v1beta1, and the exact ones of v1beta2 and v1."""


_LEFT: Final = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret", "name", "hostPath",
))  # fmt: skip
"""Fields of a volume with nothing wrong by themselves; a hostPath is for the rule host-path."""
_SERVER_DRIVERS: Final = tuple(f"{each}.csi.k8s.io" for each in ("nfs", "smb", "hostpath", "image"))
"""Drivers that mount what the volume names: a server, a folder of the node, or an image."""
_SERVER_KEYS: Final = ("server", "source", "share", "url", "endpoint", "image")
"""Attributes in which a driver is told what to mount."""


def _check_volumes(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    fix = "mount it through a PersistentVolumeClaim"
    for kind, source in place.fields():
        if kind not in _LEFT and source.is_there():
            yield where_to_fix(source.finding(f"is a volume of kind {kind}", None, fix))
    csi = place["csi"]
    driver, attributes = csi["driver"].text(), csi["volumeAttributes"].fields()
    named = [key for key, value in attributes if key.lower() in _SERVER_KEYS and value.text()]
    if driver in _SERVER_DRIVERS or named:
        what = f"names its own source{f' in {named[0]}' if named else ''}"
        yield where_to_fix(csi.finding(what, driver or None, fix))


VOLUME_TYPES: Final = Rule(
    id="volume-types",
    title="Pods may mount only restricted volume types",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "volumes"),
    frameworks=("pod-security-standards/restricted", "owasp-k8s/K01"),
    why=(
        "A volume that names its own server, such as nfs or a CSI volume with a server in its "
        "attributes, mounts whatever its author likes, past every quota and storage class."
    ),
    fix="Use a PersistentVolumeClaim of a storage class that has the same data.",
    places=pods.volumes,
    check=_check_volumes,
)
