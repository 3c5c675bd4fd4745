"""quantities: a container asks for amounts that there can be, of resources that there are.

Source: Kubernetes' validation of pods (`validateResourceRequirements`,
`validateContainerResourceName`, `validatePodResourceConsistency`). Devices are those of
`gpu-limits`. Kubernetes takes an amount of memory of less than a byte, such as `512m`; no process
runs in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.admission import field
from trainer_infra.rules.name_syntax import DNS_LABEL, QUALIFIED_NAME
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.words import listed

_COMPUTE: Final = ("cpu", "memory")
_STANDARD: Final = (*_COMPUTE, "ephemeral-storage")
_PAGES: Final = "hugepages-"
_NATIVE: Final = "kubernetes.io/"
_QUOTA: Final = "requests."
_PARTS: Final = ("limits", "requests")
_LISTS: Final = ("initContainers", "containers")
_SMALLEST: Final = 1 << 20
"""Bytes of memory below which an amount is a slip."""
_MILLI: Final = "m"


@dataclass(frozen=True, slots=True)
class ResourceHolder:
    """What has `resources` of its own."""

    resources: Value
    """Its resources."""
    pod: Pod
    """The pod that it is in or is."""
    is_pod: bool
    """Whether it is the pod."""


def _places(subject: Subject) -> Iterator[ResourceHolder]:
    for container in pods.containers(subject):
        if container.value["resources"].raw:
            yield ResourceHolder(container.value["resources"], container.pod, is_pod=False)
    for pod in pods.pods_of(subject):
        if pod.spec["resources"].raw:
            yield ResourceHolder(pod.spec["resources"], pod, is_pod=True)


def _check(place: ResourceHolder, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_holder(place), context)


def _of_holder(place: ResourceHolder) -> Iterator[Finding]:
    for part in _PARTS:
        for name, amount in place.resources[part].fields():
            yield from _of_name(amount, name, is_pod=place.is_pod)
            yield from field.found_in(amount, lambda each, name=name: _amount(each, name))  # type: ignore[misc]
    yield from field.found_in(place.resources, _request_and_limit)
    yield from field.found_in(place.resources, _pages_beside)
    yield from _claims(place)
    if place.is_pod:
        yield from _of_pod(place)


def _of_name(amount: Value, name: str, *, is_pod: bool) -> Iterator[Finding]:
    if not QUALIFIED_NAME.fits(name):
        yield amount.finding(f"is of a resource whose name must be {QUALIFIED_NAME.words}", name)
    elif is_pod and name not in _COMPUTE and not name.startswith(_PAGES):
        known = listed((*_COMPUTE, f"{_PAGES}SIZE"), "or")
        yield amount.finding(f"is of a resource of containers: a pod has {known}", name)
    elif "/" not in name and name not in _STANDARD and not name.startswith(_PAGES):
        known = listed((*_STANDARD, f"{_PAGES}SIZE"), "or")
        fix = f"write {known}, or a device with its domain, such as nvidia.com/gpu"
        yield amount.finding("is of a resource that there is not", name, fix)
    elif "/" in name and _NATIVE not in name and name.startswith(_QUOTA):
        yield amount.finding(f"is of a resource whose name begins with {_QUOTA}", name)


def _amount(place: Value, name: str) -> Iterator[Finding]:
    yield from field.amount(place)
    amount = place.quantity()
    if amount is None or amount < 0:
        return
    if name.startswith(_PAGES):
        yield from _whole_pages(place, amount, name.removeprefix(_PAGES))
    elif name in ("memory", "ephemeral-storage"):
        yield from _absurd(place, amount, name)


def _absurd(place: Value, amount: Decimal, name: str) -> Iterator[Finding]:
    """Amounts that Kubernetes takes, and no process can live with."""
    least = _SMALLEST if name == "memory" else 1
    if not 0 < amount < least:
        return
    said = str(place.raw)
    meant = f"{said.removesuffix(_MILLI)}Mi" if said.endswith(_MILLI) else ""
    fix = f"write {meant}: m is a thousandth" if meant else "write it with a unit, such as Mi or Gi"
    what = "is less than a byte" if amount < 1 else "is less than 1Mi, in which nothing runs"
    yield place.finding(what, place.raw, fix)


def _whole_pages(place: Value, amount: Decimal, size: str) -> Iterator[Finding]:
    page = Value(size, place.root, place.path).quantity()
    if page is None or page <= 0:
        yield place.finding("is of pages whose size is no quantity, such as 2Mi", size)
    elif amount % page:
        yield place.finding(f"must be a multiple of {size}", place.raw)


def _request_and_limit(resources: Value) -> Iterator[Finding]:
    limits = resources["limits"]
    for name, request in resources["requests"].fields():
        is_pages = name.startswith(_PAGES)
        if not is_pages and "/" in name and _NATIVE not in name:
            continue
        limit = limits[name]
        wanted, most = request.quantity(), limit.quantity()
        if is_pages and not limit.is_there():
            yield request.finding("has no limit of the same amount", request.raw)
        elif wanted is None or most is None:
            continue
        elif is_pages and wanted != most:
            yield request.finding(f"must equal its limit, {limit.raw}", request.raw)
        elif wanted > most:
            yield request.finding(f"is more than its limit, {limit.raw}", request.raw)


def _pages_beside(resources: Value) -> Iterator[Finding]:
    """Huge pages are asked for beside cpu or memory."""
    # One that is not known may have them.
    parts = [resources[part] for part in _PARTS if resources[part].is_there()]
    asked = {name: each for part in parts for name, each in part.fields()}
    pages = [each for name, each in asked.items() if name.startswith(_PAGES)]
    if pages and not any(each in asked for each in _COMPUTE):
        yield pages[0].finding("needs cpu or memory beside it", pages[0].raw)


def _claims(place: ResourceHolder) -> Iterator[Finding]:
    claims = place.resources["claims"]
    if place.is_pod:
        if claims.is_there():
            yield claims.finding("must stand at a container, not at the pod")
        return
    yield from field.found_in(claims, _CLAIMS)
    if not field.all_items(claims):
        return
    known = {each["name"].text() for each in field.all_items(place.pod.spec["resourceClaims"])}
    for each in claims.items():
        name = each["name"]
        if name.text() and name.text() not in known:
            yield name.finding("is none of the pod's resourceClaims", name.text())


_CLAIMS: Final = field.every(
    field.items(
        field.every(field.required("name"), field.fields({"request": field.text(DNS_LABEL)}))
    ),
    field.unique("name", "request"),
)


def _of_pod(place: ResourceHolder) -> Iterator[Finding]:
    """What its containers ask for is in what the pod asks for as a whole."""
    requests, limits = place.resources["requests"], place.resources["limits"]
    for name, amount in requests.fields():
        most = amount.quantity()
        each_asks = [
            sum((_asked(one, "requests", name) for one in place.pod.spec[key].items()), Decimal(0))
            for key in _LISTS[1:]
        ]
        alone = [_asked(one, "requests", name) for one in place.pod.spec[_LISTS[0]].items()]
        if most is not None and max((*each_asks, *alone)) > most:
            yield amount.finding("is less than what its containers request", amount.raw)
    for name, amount in limits.fields():
        most = amount.quantity()
        for container in place.pod.spec[_LISTS[1]].items():
            limit = container.at("resources", "limits", name)
            if most is not None and _asked(container, "limits", name) > most:
                yield limit.finding(f"is more than the limit of its pod, {amount.raw}", limit.raw)


def _asked(container: Value, part: str, name: str) -> Decimal:
    return container.at("resources", part, name).quantity() or Decimal(0)


RULE: Final = Rule(
    id="quantities",
    title="Containers ask for amounts that there can be, of resources that there are",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "resources"),
    why=(
        "The API server refuses each of the pods, and the job waits for ever; with a thousandth of a "
        "byte of memory it takes them, and none of them starts."
    ),
    fix="Write requests of at most the limits, memory in Mi or Gi, and devices with their domain.",
    places=_places,
    check=_check,
)
