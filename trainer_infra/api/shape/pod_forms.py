"""Forms of a pod template: what Kubernetes' validation of pods demands beyond the types of the fields.

Source: Kubernetes' validation of pods (`ValidatePodSpec` and what that calls), of metadata
(`ValidateLabels`, `ValidateAnnotations`) and of the annotations of pods
(`ValidatePodSpecificAnnotations`), of v1.34.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from trainer_infra.api.finding import Path
from trainer_infra.api.shape import container_forms, resource_forms, syntax
from trainer_infra.api.shape.form import (
    JSON,
    asked,
    choice,
    every,
    fields,
    items,
    longest,
    needs,
    number,
    one_of,
    part_of,
    prefixed,
    required,
    text,
    unique,
)
from trainer_infra.api.shape.reading import UnseenValue
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.selector_forms import AFFINITY, LABELS, SPREAD, TOLERATIONS
from trainer_infra.api.shape.volume_forms import VOLUMES
from trainer_infra.api.shape.walk import REMOVE, Schema

_INIT: Final = "initContainers"
_MAIN: Final = "containers"
_DEBUGGING: Final = "ephemeralContainers"
_LISTS: Final = (_INIT, _MAIN, _DEBUGGING)
_LARGEST_ANNOTATIONS: Final = 256 * 1024
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COST_SYNTAX: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP: Final = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
_LOCAL: Final = "localhost/"
_LARGEST: Final = 2**31 - 1
_NO_POLICY: Final = "None"
_DNS: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", _NO_POLICY)
_SERVERS: Final = 3
_SEARCHES: Final = 32
_SEARCHED: Final = 2048
"""Characters of all search domains."""
_SEARCH: Final = syntax.Syntax(
    syntax.SEARCH_DOMAIN.words,
    lambda text: text == "." or syntax.SEARCH_DOMAIN.fits(text.removesuffix(".")),
)
_TCP: Final = "TCP"
_NEVER: Final = "Never"
_GRACE: Final = 30
"""Seconds that a pod has to end where it says nothing."""
_NET: Final = "net."
_IPC: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")
_OF_BLOCKS: Final = ("persistentVolumeClaim", "ephemeral")


def _annotations(annotations: JSON) -> Broken:
    size = 0
    for key, value in annotations.items():
        size += len(key) + len(value if isinstance(value, str) else "")
        if not syntax.ANNOTATION_KEY.fits(key):
            yield BrokenRule((key,), key, f"has a key that must be {syntax.ANNOTATION_KEY.words}")
    if size > _LARGEST_ANNOTATIONS:
        what = f"must have at most {_LARGEST_ANNOTATIONS} characters in all, has {size}"
        yield BrokenRule(what=what)


METADATA: Final = fields(labels=LABELS, annotations=asked(_annotations))
"""The metadata of an object or a pod."""


def _pod_annotations(template: JSON) -> Broken:
    for key, value in part_of(template, "metadata", "annotations").items():
        path = ("metadata", "annotations", key)
        if key == _COST:
            if not _COST_SYNTAX.fullmatch(value) or not -(2**31) <= int(value) < 2**31:
                yield BrokenRule(path, value, "must be a whole number of 32 bits")
        elif key.startswith(_APP_ARMOR):
            pod = template.get("spec") or {}
            if key.removeprefix(_APP_ARMOR) not in {
                each.get("name") for _, each in _containers(pod, *_LISTS)
            }:
                yield BrokenRule(path, key, "names no container of the pod")
        elif key.startswith(_SECCOMP) and not (value in _PROFILES or value.startswith(_LOCAL)):
            yield BrokenRule(path, value, "is not a seccomp profile", "use seccompProfile")


def _containers(pod: JSON, *lists: str) -> Iterator[tuple[Path, JSON]]:
    """The containers of some lists of a pod, each with its place."""
    for key in lists:
        for index, each in enumerate(pod.get(key) or ()):
            yield (key, index), each


def _each(judge: Callable[[JSON, JSON], Broken], pod: JSON) -> Broken:
    """What is wrong with each container beside its pod; one that is not known hides no other."""
    for path, container in _containers(pod, *_LISTS):
        try:
            yield from prefixed(path, judge(pod, container))
        except UnseenValue as error:
            yield error


def _unique_names(pod: JSON) -> Broken:
    seen = set()
    for path, container in _containers(pod, _MAIN, _INIT):
        name = container.get("name")
        if name in seen:
            yield BrokenRule(
                (*path, "name"),
                name,
                "is the name of two containers; container names must be unique",
            )
        elif name:
            seen.add(name)


def _never_resized(pod: JSON) -> Broken:
    if pod.get("restartPolicy") != _NEVER:
        return
    for path, container in _containers(pod, _MAIN, _INIT):
        for index, each in enumerate(container.get("resizePolicy") or ()):
            if each.get("restartPolicy") == container_forms.RESTARTED:
                where = (*path, "resizePolicy", index, "restartPolicy")
                left = container_forms.LEFT_ALONE
                what = f"must be {left} where the pod's restartPolicy is {_NEVER}"
                yield BrokenRule(where, container_forms.RESTARTED, what)


def _ports(pod: JSON) -> Iterator[tuple[Path, JSON]]:
    for path, container in _containers(pod, _MAIN):
        for index, port in enumerate(container.get("ports") or ()):
            yield (*path, "ports", index, "hostPort"), port


def _ports_of_node(pod: JSON) -> Broken:
    """A port of the node is taken by one container."""
    taken = set()
    for path, port in _ports(pod):
        host = port.get("hostPort")
        said = (port.get("protocol") or _TCP, port.get("hostIP") or "", host)
        if host and said in taken:
            yield BrokenRule(path, host, "is taken by another port of the pod")
        taken.add(said)


def _ports_of_host_network(pod: JSON) -> Broken:
    for path, port in _ports(pod) if pod.get("hostNetwork") else ():
        host, own = port.get("hostPort"), port.get("containerPort")
        if host and own and host != own:
            what = "must be the containerPort where the pod has the node's network"
            yield BrokenRule(path, host, what, "leave it out")


def _sleeps(pod: JSON, container: JSON) -> Broken:
    said = pod.get("terminationGracePeriodSeconds") if container.get("lifecycle") else None
    grace = _GRACE if said is None else said
    for moment in container_forms.MOMENTS:
        seconds = part_of(container, "lifecycle", moment, "sleep").get("seconds") or 0
        if not 0 <= seconds <= max(grace, 0):
            what = f"must be from 0 to the {grace} s that the pod has to end"
            yield BrokenRule(("lifecycle", moment, "sleep", "seconds"), seconds, what)


def _shares(pod: JSON) -> Broken:
    if pod.get("shareProcessNamespace") and pod.get("hostPID"):
        what = "must not be true beside hostPID"
        yield BrokenRule(("shareProcessNamespace",), None, what, "remove one of the two")


def _own_users(pod: JSON) -> Broken:
    """A pod with users of its own has nothing else of its node."""
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get("hostUsers") is False and pod.get(key):
            what = "must not be true beside hostUsers: false"
            yield BrokenRule((key,), None, what, "remove one of the two")


_OF_LINUX: Final = (
    *("allowPrivilegeEscalation", "appArmorProfile", "capabilities", "fsGroup", "privileged"),
    *("fsGroupChangePolicy", "procMount", "readOnlyRootFilesystem", "runAsGroup", "runAsUser"),
    *("seLinuxChangePolicy", "seLinuxOptions", "seccompProfile", "supplementalGroups", "sysctls"),
    "supplementalGroupsPolicy",
)
_OF_SYSTEM: Final = {"windows": _OF_LINUX, "linux": ("windowsOptions",)}
"""By what a pod says of its system, fields of security contexts that belong to another."""


def _of_system(pod: JSON) -> Broken:
    system = part_of(pod, "os").get("name")
    contexts: list[tuple[Path, JSON]] = [((), pod)]
    for key in (_INIT, _MAIN):
        contexts += (((key, index), each) for index, each in enumerate(pod.get(key) or ()))
    for place, each in contexts:
        written = part_of(each, "securityContext")
        for field in _OF_SYSTEM.get(system, ()):
            if written.get(field) is not None:
                what = f"must not be written in a pod of {system}"
                yield BrokenRule((*place, "securityContext", field), None, what, REMOVE)


def _own_kernel(pod: JSON) -> Broken:
    """Parameters of a kernel's namespace are not set where the pod has the node's."""
    for index, each in enumerate(part_of(pod, "securityContext").get("sysctls") or ()):
        name = each.get("name") or ""
        for place, prefixes in (("hostNetwork", (_NET,)), ("hostIPC", _IPC)):
            if name.replace("/", ".").startswith(prefixes) and pod.get(place):
                path = ("securityContext", "sysctls", index, "name")
                yield BrokenRule(path, name, f"must not be set beside {place}")


def mounts(pod: JSON, claims: Iterable[JSON] = (), *others: str) -> Broken:
    """What a pod's containers mount is a volume of the pod, of its controller's claims, or there anyhow."""
    known = {*others, *(part_of(each, "metadata").get("name") for each in claims)}
    yield from _each(partial(_mounts, known), pod)


def _mounts(known: set[Any], pod: JSON, container: JSON) -> Broken:
    asked_for = [
        (key, index, each.get("name"))
        for key in ("volumeMounts", "volumeDevices")
        for index, each in enumerate(container.get(key) or ())
    ]
    volumes = {each.get("name"): each for each in (pod.get("volumes") or ()) if asked_for}
    for key, index, name in asked_for:
        volume = volumes.get(name)
        path = (key, index, "name")
        if name and volume is None and name not in known:
            fix = "add a volume of that name to the pod, or remove the mount"
            yield BrokenRule(path, name, "is not a volume of the pod", fix)
        of_blocks = volume is None or any(volume.get(each) is not None for each in _OF_BLOCKS)
        if key == "volumeDevices" and not of_blocks:
            yield BrokenRule(path, name, "must be a claim to be a device")


def _length(searches: list[str]) -> Broken:
    count = len(" ".join(searches))
    if count > _SEARCHED:
        yield BrokenRule(what=f"must have at most {_SEARCHED} characters, has {count}")


def _own_servers(pod: JSON) -> Broken:
    """Without a policy the pod says its name servers itself."""
    is_alone = pod.get("dnsPolicy") == _NO_POLICY
    if is_alone and not part_of(pod, "dnsConfig").get("nameservers"):
        what = f"is required where dnsPolicy is {_NO_POLICY}"
        yield BrokenRule(("dnsConfig", "nameservers"), None, what)


_DEMANDED: Final = text(syntax.DNS_SUBDOMAIN, is_optional=False)
_QUALIFIED: Final = text(syntax.QUALIFIED_NAME, is_optional=False)
_CLAIM: Final = every(
    required("name"),
    one_of("resourceClaimName", "resourceClaimTemplateName"),
    fields(
        name=text(syntax.DNS_LABEL),
        resourceClaimName=_DEMANDED,
        resourceClaimTemplateName=_DEMANDED,
    ),
)
_FIELDS: Final = fields(
    **dict.fromkeys(("hostname", "subdomain"), text(syntax.DNS_LABEL)),
    **dict.fromkeys(
        ("serviceAccountName", "nodeName", "priorityClassName"), text(syntax.DNS_SUBDOMAIN)
    ),
    runtimeClassName=_DEMANDED,
    activeDeadlineSeconds=number(1, _LARGEST),
    preemptionPolicy=choice(_NEVER, "PreemptLowerPriority", is_optional=False),
    os=needs("name", name=choice("linux", "windows")),
    readinessGates=items(needs("conditionType", conditionType=_QUALIFIED)),
    schedulingGates=every(items(needs("name", name=_QUALIFIED)), unique("name")),
    hostAliases=items(needs("ip", ip=text(syntax.IP_ADDRESS), hostnames=items(_DEMANDED))),
    resourceClaims=every(items(_CLAIM), unique("name")),
    dnsPolicy=choice(*_DNS),
    dnsConfig=fields(
        nameservers=every(longest(_SERVERS), items(text(syntax.IP_ADDRESS, is_optional=False))),
        searches=every(longest(_SEARCHES), items(text(_SEARCH, is_optional=False)), asked(_length)),
        options=items(required("name")),
    ),
)


def _some(containers: list[JSON]) -> Broken:
    if not containers:
        yield BrokenRule(what="must have a container")


def _is_moved(containers: list[JSON], *, why: str) -> Broken:
    if containers:
        yield BrokenRule((), None, why, "remove them, or make them containers")


def _in_each(form: Schema, *lists: str) -> Schema:
    """A form of the containers of some lists of a pod; of all of them where none is named."""
    return fields(**dict.fromkeys(lists or _LISTS, items(form)))


_NAMES: Final = every(
    _in_each(container_forms.NAMED, _INIT, _MAIN),
    fields(containers=asked(_some)),
    asked(_unique_names, _never_resized),
)
_TEMPLATED: Final = partial(_is_moved, why="have no place in a template")
_ADDED: Final = partial(_is_moved, why="are added to a pod that runs")


def pod_forms(*, is_alone: bool = False) -> Mapping[str, Schema]:
    """By rule, the forms of a pod template, or of a pod alone, but for what it says of its restarts and mounts."""
    debugs = fields(ephemeralContainers=asked(_ADDED if is_alone else _TEMPLATED))
    of_spec = {
        "containers": every(_NAMES, debugs),
        "container-ports": every(
            _in_each(container_forms.PORTS, _INIT, _MAIN),
            asked(_ports_of_node, _ports_of_host_network),
        ),
        "env-sources": _in_each(container_forms.ENV),
        "volume-sources": VOLUMES,
        "volume-mounts": _in_each(container_forms.MOUNTS),
        "quantities": every(
            _in_each(fields(resources=resource_forms.OF_CONTAINER)),
            fields(resources=resource_forms.OF_POD),
            asked(partial(_each, resource_forms.claims_are_the_pods)),
            asked(resource_forms.containers_fit),
        ),
        "probes": every(
            _in_each(container_forms.PROBES_OF_INIT, _INIT),
            _in_each(container_forms.PROBES, _MAIN, _DEBUGGING),
            asked(partial(_each, _sleeps)),
        ),
        "security-values": every(
            _in_each(container_forms.SECURED),
            fields(securityContext=container_forms.SECURITY),
            asked(_shares, _own_users, _own_kernel, _of_system),
        ),
        "pod-fields": every(_FIELDS, asked(_own_servers)),
        "affinity": AFFINITY,
        "tolerations": TOLERATIONS,
        "topology-spread": SPREAD,
    }
    of_metadata = every(fields(metadata=METADATA), asked(_pod_annotations))
    return {"label-syntax": of_metadata} | {key: fields(spec=each) for key, each in of_spec.items()}
