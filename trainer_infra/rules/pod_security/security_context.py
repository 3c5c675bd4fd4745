"""The securityContext of a container, and that of its pod, which holds where it says nothing: a rule for each field."""

import itertools
import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.api.finding import Path
from trainer_infra.rules import pods
from trainer_infra.rules.finding import REMOVED, where_to_fix
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import present


def security_contexts(subject: Subject) -> tuple[Value, ...]:
    """Each one that the object writes: those of its pods, then those of their containers."""
    return subject.once(_contexts)


def _contexts(subject: Subject) -> Iterator[Value]:
    written = [each.spec["securityContext"] for each in pods.pods_of(subject)]
    written += (each.value["securityContext"] for each in pods.containers(subject))
    yield from present(written)


def own_value(container: PodContainer, *path: str | int) -> Value:
    """What the container itself says."""
    return container.value.at("securityContext", *path)


def effective_value(container: PodContainer, *path: str | int) -> Value:
    """What holds for the container; where it is set nowhere, the pod's place for it."""
    said = own_value(container, *path)
    return said if said.is_there() else container.pod.spec.at("securityContext", *path)


def _check_privileged(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    privileged = own_value(place, "privileged")
    if privileged.flag() is True:
        fix = "set it to false; GPUs and RDMA devices come as resources, such as nvidia.com/gpu"
        patch = privileged.set_to(value=False)
        yield privileged.finding("hands the node over to the container", True, fix, patch)


PRIVILEGED: Final = Rule(
    id="privileged",
    title="Containers must not be privileged",
    severity=Severity.CRITICAL,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.2", "owasp-k8s/K01"),
    why=(
        "A privileged container is root on its node: it can read the secrets of every pod there "
        "and go on from there to the whole cluster."
    ),
    fix="Set `privileged` to false, and request devices as resources.",
    places=pods.containers,
    check=_check_privileged,
    remediates=True,
)


def _check_escalation(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    allowed = own_value(place, "allowPrivilegeEscalation")
    if allowed.flag() is False:
        return
    what = "does not keep programs from gaining rights"
    fix = "set securityContext.allowPrivilegeEscalation of the container to false"
    # The API server refuses privileged, and this capability spelled like this, beside a false one.
    added = own_value(place, "capabilities", "add").texts()
    needs_it = own_value(place, "privileged").raw is True or "CAP_SYS_ADMIN" in added
    patch = () if needs_it else allowed.set_to(value=False)
    yield where_to_fix(allowed.finding(what, allowed.flag(), fix, patch))


PRIVILEGE_ESCALATION: Final = Rule(
    id="privilege-escalation",
    title="Containers must not allow privilege escalation",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.6", "owasp-k8s/K01"),
    why=(
        "A program with the setuid bit makes its user root; training code, and the packages it "
        "installs, do not need that. Kubernetes allows it if the field is missing."
    ),
    fix="Set the container's `allowPrivilegeEscalation` to false.",
    places=pods.linux_containers,
    check=_check_escalation,
    remediates=True,
)


def _check_proc_mount(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    mount = own_value(place, "procMount")
    if mount.text() not in ("", "Default"):
        patch = mount.set_to("Default")
        yield mount.finding("shows the container all of /proc", mount.text(), "leave it out", patch)


PROC_MOUNT: Final = Rule(
    id="proc-mount",
    title="Containers must not unmask /proc",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "Through an unmasked /proc a container can read and change settings of its node's kernel. "
        "A namespace at the baseline level rejects such pods."
    ),
    fix="Remove `procMount`.",
    places=pods.containers,
    check=_check_proc_mount,
    remediates=True,
)


_PROFILES: Final = ("RuntimeDefault", "Localhost")
"""Types of profiles, of AppArmor and of seccomp, that both levels of the Pod Security Standards allow."""
_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Before the name of a container: where the profile stood until Kubernetes 1.30, and still may."""
_UNCONFINED: Final = "unconfined"
_LOCAL: Final = "localhostProfile"
_CONFINED: Final = re.compile(
    r"RuntimeDefault|Localhost|runtime/default|localhost/(?!unconfined\Z).+"
)
"""What a type or an annotation says that keeps a profile of AppArmor."""


def _annotations(subject: Subject, *beginnings: str) -> Iterator[Value]:
    """Annotations of its pods whose keys begin so."""
    for pod in pods.pods_of(subject):
        for key, profile in pod.template.at("metadata", "annotations").fields():
            if key.startswith(beginnings):
                yield profile


def _places_of_app_armor(subject: Subject) -> Iterator[Value]:
    for profile in present(each["appArmorProfile"] for each in security_contexts(subject)):
        yield from present((profile["type"], profile[_LOCAL]))
    yield from _annotations(subject, _ANNOTATION)


def _check_app_armor(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    field, said = str(place.path[-1]), place.text()
    what = "takes off the node's AppArmor profile"
    if field == _LOCAL and said == _UNCONFINED:
        yield place.finding(what, said, "name a profile that confines the container")
    elif said and field != _LOCAL and not _CONFINED.fullmatch(said):
        usual = "runtime/default" if field.startswith(_ANNOTATION) else _PROFILES[0]
        yield place.finding(what, said, f"set it to {usual}", place.set_to(usual))


APP_ARMOR: Final = Rule(
    id="app-armor",
    title="AppArmor profiles must not be disabled",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "The profile keeps a container from mounting, tracing and writing where only its node may. "
        "A namespace at the baseline level rejects pods that disable it."
    ),
    fix="Remove the field, or set `appArmorProfile.type` to `RuntimeDefault`.",
    places=_places_of_app_armor,
    check=_check_app_armor,
    remediates=True,
)


_SELINUX_FIELDS: Final = ("type", "user", "role")
_SELINUX_TYPES: Final = ("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
"""Of the level baseline of Kubernetes 1.31 and later; the last one is not in an earlier one's."""


def _places_of_selinux(subject: Subject) -> Iterator[Value]:
    for options in present(each["seLinuxOptions"] for each in security_contexts(subject)):
        yield from present(options[each] for each in _SELINUX_FIELDS)


def _check_selinux(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    said, field = place.text(), str(place.path[-1])
    if said and not (field == "type" and said in _SELINUX_TYPES):
        others = f", or use {' or '.join(_SELINUX_TYPES)}" if field == "type" else ""
        what = f"is another SELinux {field} than that of containers"
        yield place.finding(what, said, f"leave it out{others}", place.set_to(REMOVED))


SELINUX_OPTIONS: Final = Rule(
    id="selinux-options",
    title="Containers must keep their default SELinux label",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "With a type such as `spc_t`, or a user or role of its own, SELinux no longer separates "
        "the container from its node. A namespace at the baseline level rejects such pods."
    ),
    fix="Remove `type`, `user` and `role`; `level` may be set.",
    places=_places_of_selinux,
    check=_check_selinux,
    remediates=True,
)


_OLD_SECCOMP: Final = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
"""Annotations where the profile of a pod, and of a container, stood before Kubernetes 1.27, and which stand for nothing since."""


def _places_of_seccomp(subject: Subject) -> Iterator[Value]:
    yield from present(each.at("seccompProfile", "type") for each in security_contexts(subject))
    yield from _annotations(subject, *_OLD_SECCOMP)


def _check_unconfined(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    said = place.text()
    if not str(place.path[-1]).startswith(_OLD_SECCOMP):
        if said not in _PROFILES:
            fix, patch = "set it to RuntimeDefault", place.set_to("RuntimeDefault")
            yield place.finding("allows every system call", said or None, fix, patch)
    elif said == _UNCONFINED:
        fix = "remove it, and set seccompProfile.type to RuntimeDefault"
        what = "allows every system call before Kubernetes 1.27, and has no effect since"
        yield place.finding(what, said, fix, place.set_to(REMOVED))


SECCOMP_UNCONFINED: Final = Rule(
    id="seccomp-unconfined",
    title="Seccomp profiles must not be disabled",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.7.2", "owasp-k8s/K01"),
    why=(
        "An unconfined container can use system calls that no training needs and that most "
        "container escapes use. A namespace at the baseline level rejects such pods."
    ),
    fix="Set `seccompProfile.type` to `RuntimeDefault`, or name a profile of the node with `Localhost`.",
    places=_places_of_seccomp,
    check=_check_unconfined,
    remediates=True,
)


_ADMINISTRATORS: Final = ("containeradministrator", "system", "administrator")
"""Users of Windows whom nothing stops in a container, after the name of their domain."""
_USERS: Final[tuple[Path, ...]] = (
    *(("runAsUser",), ("runAsGroup",), ("runAsNonRoot",), ("windowsOptions", "runAsUserName")),
)
_ROOT: Final = ("is root", "name another user, such as 1000")
_GROUP_OF_ROOT: Final = ("is the group of root", "name another group, such as 1000")


def _places_of_users(subject: Subject) -> Iterator[tuple[PodContainer, Path] | Value]:
    """Fields that hold for a container, and groups that a pod gives to all its processes."""
    yield from itertools.product(pods.containers(subject), _USERS)
    for pod in pods.pods_of(subject):
        context = pod.spec["securityContext"]
        yield from present((context["fsGroup"], *context["supplementalGroups"].items()))


def _check_user(
    place: tuple[PodContainer, Path] | Value, _context: Context[Parameters]
) -> Iterator[Finding]:
    value = place if isinstance(place, Value) else effective_value(place[0], *place[1])
    field = value.path[-1]
    if field == "runAsNonRoot" and value.flag() is not True:
        what = "allows root" if value.is_there() else "does not forbid root"
        fix = (
            "set securityContext.runAsNonRoot to true, and runAsUser where the image's own user "
            "is root or a name"
        )
        yield where_to_fix(value.finding(what, value.flag(), fix))
    elif field == "runAsUserName" and value.text().rpartition("\\")[2].lower() in _ADMINISTRATORS:
        what, fix = "is an administrator of Windows", "write ContainerUser"
        yield where_to_fix(value.finding(what, value.text(), fix))
    elif value.number() == 0:
        what, fix = _ROOT if field == "runAsUser" else _GROUP_OF_ROOT
        yield where_to_fix(value.finding(what, 0, fix))


RUN_AS_NON_ROOT: Final = Rule(
    id="run-as-non-root",
    title="Containers must not run as root",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.7", "owasp-k8s/K01"),
    why=(
        "Root in a container is root on the node once it escapes, and owns what it writes into "
        "shared volumes. MPI over SSH does not need root: the catalog's runtimes run sshd as user "
        "1000."
    ),
    fix="Set `runAsNonRoot` to true for the pod or the container, and a `runAsUser` other than 0.",
    places=_places_of_users,
    check=_check_user,
)


def _check_seccomp(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    profile = effective_value(place, "seccompProfile", "type")
    if not profile.is_there():
        fix = "set securityContext.seccompProfile.type to RuntimeDefault"
        yield where_to_fix(profile.finding("names no seccomp profile", None, fix))


SECCOMP: Final = Rule(
    id="seccomp",
    title="Containers must have a seccomp profile",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.7.2", "owasp-k8s/K01"),
    why=(
        "Most container escapes use a system call that no training needs. Without a profile "
        "Kubernetes allows all of them."
    ),
    fix="Set `seccompProfile.type` of the pod or the container to `RuntimeDefault`.",
    places=pods.linux_containers,
    check=_check_seccomp,
)


def _check_read_only(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    read_only = own_value(place, "readOnlyRootFilesystem")
    if read_only.flag() is not True:
        fix = (
            "set securityContext.readOnlyRootFilesystem of the container to true, and mount "
            "emptyDirs where it writes, such as /tmp"
        )
        what = "lets programs change the image's files"
        yield where_to_fix(read_only.finding(what, read_only.flag(), fix))


READ_ONLY_ROOT: Final = Rule(
    id="read-only-root",
    title="Containers must not write to their image's file system",
    severity=Severity.LOW,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security",),
    why=(
        "What a run writes outside its volumes fills the node's disk and is lost at a restart, and "
        "an attacker can place programs there."
    ),
    fix="Set `readOnlyRootFilesystem` to true, and mount an emptyDir where the program writes.",
    places=pods.linux_containers,
    check=_check_read_only,
)
