"""Whether a Workload that Kueue could not assign flavors to can ever have its quota. Pure.

Called by `kueue_workload`. Kueue 0.19 writes one clause for each pod set, and in it one reason for
each flavor and resource (pkg/scheduler/flavorassigner); its machine-readable reason ExceedsMaxQuota
stands behind a feature gate that is off. What is not known for sure may fit.
"""

import re
from typing import Final

from trainer_infra.json_values import JSONObject

_CLAUSE: Final = re.compile(r"(?:^|; )couldn't assign flavors to pod set [^:]*: ")
_MORE_THAN_ALL: Final = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>\S+), previously considered "
    r"podsets requests \([^)]*\) \+ current podset request \([^)]*\) > maximum capacity \([^)]*\)"
)
_NO_MATCH: Final = re.compile(
    r"untolerated taint .+? in flavor (?P<taint>[^\s,]+)"
    r"|flavor (?P<label>\S+) doesn't match node affinity"
)
_USED: Final = re.compile(
    r"insufficient unused quota for \S+ in flavor (?P<flavor>\S+), \S+ more needed"
)
_NO_RESOURCE: Final = re.compile(r"resource \S+ unavailable in ClusterQueue")
_KNOWN: Final = (_MORE_THAN_ALL, _NO_MATCH, _USED, _NO_RESOURCE)


def never_fits(message: str, cluster_queue: JSONObject | None) -> bool:
    """Whether no flavor can ever hold one of the pod sets, by the message of QuotaReserved.

    Args:
        message: of the condition.
        cluster_queue: the ClusterQueue where it can be read: a message need not name every flavor.
    """
    clauses = _CLAUSE.split(message)
    return not clauses[0] and any(_is_hopeless(each, cluster_queue) for each in clauses[1:])


def _is_hopeless(clause: str, cluster_queue: JSONObject | None) -> bool:
    rest = clause
    for each in _KNOWN:
        rest = each.sub("", rest)
    if rest.strip(" ,;"):
        return False
    if _NO_RESOURCE.search(clause):
        return True
    more = list(_MORE_THAN_ALL.finditer(clause))
    none = {each["flavor"] for each in more}
    none |= {each["taint"] or each["label"] for each in _NO_MATCH.finditer(clause)}
    used = {each["flavor"] for each in _USED.finditer(clause)}
    others = _flavors(cluster_queue, {each["resource"] for each in more})
    return bool(none) and not (used | others) - none


def _flavors(cluster_queue: JSONObject | None, resources: set[str]) -> set[str]:
    """Every flavor that the ClusterQueue has for one of the resources."""
    groups = ((cluster_queue or {}).get("spec") or {}).get("resourceGroups") or ()
    return {
        flavor["name"]
        for group in groups
        if resources & set(group["coveredResources"])
        for flavor in group["flavors"]
    }
