"""What is wrong with an object of Kueue, judged by the CRD of its kind and version.

The schemas are data under schemas/, made by tools/schemas.py from the CRDs of Kueue v0.19.0, and
read once an object of Kueue is there; those of a Workload, which holds pods, stand alone.
queue_schema_rules.py knows the CEL rules. The forms here are what only Kueue's webhook demands: facts of Kueue v0.19,
pkg/webhooks; selectors as apimachinery's `ValidateLabelSelector`. What one field says of another is policy's
(rules/scheduling). Kueue writes the status: what is in it is not judged.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path as File
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.shape import form, schema
from trainer_infra.api.shape.form import JSON, asked, fields, items
from trainer_infra.api.shape.object_meta import LABEL_KEY, LABEL_KEY_OR_EMPTY, LABEL_VALUE, LABELS
from trainer_infra.api.shape.queue_schema_rules import RULES
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule, repeats
from trainer_infra.api.shape.selector_forms import SELECTOR
from trainer_infra.api.shape.walk import Schema, Walk
from trainer_infra.names import (
    CLUSTER_QUEUE,
    COHORT,
    KUEUE_GROUP,
    KUEUE_VERSIONS,
    RESOURCE_FLAVOR,
    WORKLOAD,
)

_FOLDER: Final = File(__file__).parents[1] / "schemas"
_LEAST_WEIGHT: Final = Decimal("1e-9")


def queue_findings(value: Mapping[str, Any], kind: str) -> tuple[FieldFinding, ...]:
    """Everything wrong with an object of one of `names.KUEUE_KINDS`, in the order in which its fields are written."""
    written = value.get("apiVersion")
    if written is not None and written not in KUEUE_VERSIONS:
        what = f"is not a version of {KUEUE_GROUP} that Kueue v0.19 serves"
        fix = f"write {KUEUE_VERSIONS[0]}, whose fields may have other names"
        return (FieldFinding(("apiVersion",), what, written, fix),)
    version = str(written or KUEUE_VERSIONS[0]).rpartition("/")[2]
    kinds, shared = _published("kueue_workload.json" if kind == WORKLOAD else "kueue.json")
    return schema.in_order(Walk(shared, RULES), value, kinds[f"{version}/{kind}"])


@cache
def _published(file: str) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas by version and kind, and the subschemas that they share by name; read only."""
    data = json.loads((_FOLDER / file).read_text(encoding="utf-8"))
    shared: dict[str, Schema] = data["shared"]
    kinds = {place: _whole(place, found, shared) for place, found in data["kinds"].items()}
    return kinds, shared


def _whole(place: str, found: Schema, shared: dict[str, Schema]) -> Schema:
    """A kind's schema with what a CRD leaves to the API server and to Kueue's webhook."""
    version, _, kind = place.partition("/")
    published = form.with_form(found, _FORMS.get(kind, {}), shared)
    head = schema.head(kind, f"{KUEUE_GROUP}/{version}")
    return published | {
        "required": ["metadata", *published.get("required", ())],
        "properties": published["properties"] | head | {"status": schema.STATUS},
    }


def _distinct_taints(taints: list[JSON]) -> Broken:
    seen = [(each.get("key"), each.get("effect")) for each in taints]
    for index, first in repeats(None if None in each else each for each in seen):
        got, what = "{}:{}".format(*seen[index]), f"has the key and the effect of item {first}"
        yield BrokenRule((index,), got, what, "remove one of them")


def _weighs(sharing: JSON) -> Broken:
    weight = sharing.get("weight")
    found = form.amount_of(weight)
    if found is not None and (found < 0 or 0 < found <= _LEAST_WEIGHT):
        yield BrokenRule(("weight",), weight, "must be 0, or more than 1n")


def _counts_no_pods(requests: JSON) -> Broken:
    if "pods" in requests:
        what = "is a resource that Kueue counts itself"
        yield BrokenRule(("pods",), requests["pods"], what, "remove it")


def _one_count_varies(pod_sets: list[JSON]) -> Broken:
    varying = [index for index, each in enumerate(pod_sets) if each.get("minCount") is not None]
    for index in varying[1:]:
        what = f"is set in podSets[{varying[0]}] too, and Kueue takes it in one"
        yield BrokenRule((index, "minCount"), pod_sets[index]["minCount"], what)


_CONTAINERS: Final[Schema] = items(fields(resources=fields(requests=asked(_counts_no_pods))))
_POD_SET: Final = fields(
    template=fields(spec=fields(initContainers=_CONTAINERS, containers=_CONTAINERS))
)
_QUOTAS: Final = {
    "fairSharing": asked(_weighs),
    "resourceGroups": {"items": fields(coveredResources=items(LABEL_KEY))},
}
_FORMS: Final[Mapping[str, Schema]] = {
    WORKLOAD: fields(spec=fields(podSets=items(_POD_SET) | asked(_one_count_varies))),
    CLUSTER_QUEUE: fields(spec=fields(**_QUOTAS, namespaceSelector=SELECTOR)),
    COHORT: fields(spec=fields(**_QUOTAS)),
    RESOURCE_FLAVOR: fields(
        spec=fields(
            nodeLabels=LABELS,
            nodeTaints=items(fields(key=LABEL_KEY, value=LABEL_VALUE)) | asked(_distinct_taints),
            tolerations=items(fields(key=LABEL_KEY_OR_EMPTY)),
        )
    ),
}
"""By kind, what goes into its schema."""
