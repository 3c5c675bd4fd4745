"""Forms of what containers and pods ask for: amounts that there can be, of resources that there are.

Source: Kubernetes' validation of pods (`validateResourceRequirements`, `validateContainerResourceName`,
`validatePodResourceConsistency`). Devices are those of `gpu-limits`. Kubernetes takes an amount of memory of
less than a byte, such as `512m`; no process runs in it.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any, Final

from trainer_infra.api.shape import form
from trainer_infra.api.shape.form import (
    AMOUNT,
    JSON,
    amount_of,
    asked,
    every,
    fields,
    items,
    needs,
    part_of,
    text,
    unique,
    values,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.syntax import DNS_LABEL, QUALIFIED_NAME
from trainer_infra.api.shape.walk import Schema
from trainer_infra.words import listed

_COMPUTE: Final = ("cpu", "memory")
_STANDARD: Final = (*_COMPUTE, "ephemeral-storage")
_PAGES: Final = "hugepages-"
_NATIVE: Final = "kubernetes.io/"
_QUOTA: Final = "requests."
_PARTS: Final = ("limits", "requests")
_SMALLEST: Final = 1 << 20
"""Bytes of memory below which an amount is a slip."""
_MILLI: Final = "m"


def _names(resources: Iterable[str], *, is_pod: bool) -> Broken:
    for name in resources:
        what = fix = ""
        if not QUALIFIED_NAME.fits(name):
            what = f"names a resource, and resource names must be {QUALIFIED_NAME.words}"
        elif is_pod and name not in _COMPUTE and not name.startswith(_PAGES):
            known = listed((*_COMPUTE, f"{_PAGES}SIZE"), "or")
            what = f"names a resource that only containers have: a pod has {known}"
        elif "/" not in name and name not in _STANDARD and not name.startswith(_PAGES):
            what = "names an unknown resource"
            known = listed((*_STANDARD, f"{_PAGES}SIZE"), "or")
            fix = f"write {known}, or a device with its domain, such as nvidia.com/gpu"
        elif "/" in name and _NATIVE not in name and name.startswith(_QUOTA):
            what = f"is of a resource whose name begins with {_QUOTA}"
        if what:
            yield BrokenRule((name,), name, what, fix)


def _absurd(said: Any, *, least: int) -> Broken:
    """Amounts that Kubernetes takes, and no process can live with."""
    amount = amount_of(said)
    if amount is None or not 0 < amount < least:
        return
    text = str(said)
    meant = f"{text.removesuffix(_MILLI)}Mi" if text.endswith(_MILLI) else ""
    fix = f"write {meant}: m is a thousandth" if meant else "write it with a unit, such as Mi or Gi"
    what = "is less than a byte" if amount < 1 else "is less than 1Mi, in which nothing runs"
    yield BrokenRule((), said, what, fix)


def _whole_pages(resources: JSON) -> Broken:
    for name in resources:
        if not name.startswith(_PAGES):
            continue
        said, size = resources.get(name), name.removeprefix(_PAGES)
        amount, page = amount_of(said), amount_of(size)
        if amount is None or amount < 0:
            continue
        if page is None or page <= 0:
            yield BrokenRule((name,), size, "names a page size that is not a quantity such as 2Mi")
        elif amount % page:
            yield BrokenRule((name,), said, f"must be a multiple of {size}")


def _request_and_limit(resources: JSON) -> Broken:
    limits = resources.get("limits") or {}
    for name in resources.get("requests") or ():
        is_pages = name.startswith(_PAGES)
        if not is_pages and "/" in name and _NATIVE not in name:
            continue
        request, limit = resources["requests"].get(name), limits.get(name)
        wanted, most = amount_of(request), amount_of(limit)
        path = ("requests", name)
        if is_pages and limit is None:
            yield BrokenRule(path, request, "has no limit of the same amount")
        elif wanted is None or most is None:
            continue
        elif is_pages and wanted != most:
            yield BrokenRule(path, request, f"must equal its limit, {limit}")
        elif wanted > most:
            yield BrokenRule(path, request, f"is more than its limit, {limit}")


def _pages_beside(resources: JSON) -> Broken:
    """Huge pages are asked for beside cpu or memory."""
    asks = {name: part for part in _PARTS for name in resources.get(part) or ()}
    pages = [name for name in asks if name.startswith(_PAGES)]
    if pages and not any(each in asks for each in _COMPUTE):
        path = (asks[pages[0]], pages[0])
        yield BrokenRule(path, resources[path[0]].get(path[1]), "needs cpu or memory beside it")


def _resources(*, is_pod: bool) -> Schema:
    amounts = every(
        asked(partial(_names, is_pod=is_pod), _whole_pages),
        values(AMOUNT),
        fields(
            **{
                "memory": every(AMOUNT, asked(partial(_absurd, least=_SMALLEST))),
                "ephemeral-storage": every(AMOUNT, asked(partial(_absurd, least=1))),
            }
        ),
    )
    return every(fields(**dict.fromkeys(_PARTS, amounts)), asked(_request_and_limit, _pages_beside))


_CLAIM: Final = needs("name", request=text(DNS_LABEL))
OF_CONTAINER: Final = every(
    _resources(is_pod=False), fields(claims=every(items(_CLAIM), unique("name", "request")))
)
"""The `resources` of a container."""
OF_POD: Final = every(
    _resources(is_pod=True),
    fields(claims=form.forbidden("must stand at a container, not at the pod")),
)
"""The `resources` of a pod."""


def claims_are_the_pods(pod: JSON, container: JSON) -> Broken:
    """Claims that a container uses are among those of its pod."""
    claims = part_of(container, "resources").get("claims") or ()
    known = {each.get("name") for each in pod.get("resourceClaims") or ()} if claims else set()
    for index, claim in enumerate(claims):
        name = claim.get("name")
        if name and name not in known:
            path = ("resources", "claims", index, "name")
            yield BrokenRule(path, name, "is not one of the pod's resourceClaims")


def containers_fit(pod: JSON) -> Broken:
    """What its containers ask for is in what the pod asks for as a whole."""
    resources = pod.get("resources") or {}
    for name in resources.get("requests") or ():
        said = resources["requests"].get(name)
        together = sum(_asked_by(pod, "containers", "requests", name), Decimal(0))
        alone = max(_asked_by(pod, "initContainers", "requests", name), default=Decimal(0))
        most = amount_of(said)
        if most is not None and max(together, alone) > most:
            path = ("resources", "requests", name)
            yield BrokenRule(path, said, "is less than what its containers request")
    for name in resources.get("limits") or ():
        said = resources["limits"].get(name)
        most = amount_of(said)
        for index, limit in enumerate(_asked_by(pod, "containers", "limits", name)):
            if most is not None and limit > most:
                where = ("containers", index, "resources", "limits", name)
                written = pod["containers"][index]["resources"]["limits"].get(name)
                what = f"is more than the limit of its pod, {said}"
                yield BrokenRule(where, written, what)


def _asked_by(pod: JSON, key: str, part: str, name: str) -> Iterator[Decimal]:
    for container in pod.get(key) or ():
        amounts = part_of(container, "resources").get(part) or {}
        yield amount_of(amounts.get(name)) or Decimal(0)
