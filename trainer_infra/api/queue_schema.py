"""What is wrong with an object of Kueue, judged by the CRD of its kind and version.

The schemas are data under schemas/, made by tools/schemas.py from the CRDs of Kueue v0.19.0, and
read once an object of Kueue is there; those of a Workload, which holds pods, stand alone.
queue_schema_rules.py knows the CEL rules, queue_forms.py what only Kueue's webhook demands of a
text. Kueue writes the status: what is in it is not judged.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path as File
from typing import Any, Final

from trainer_infra.api import schema
from trainer_infra.api.finding import FieldFinding
from trainer_infra.api.queue_forms import FORM_RULES, FORMS, with_form
from trainer_infra.api.queue_schema_rules import RULES
from trainer_infra.api.schema_walk import Schema, Walk
from trainer_infra.names import KUEUE_GROUP, KUEUE_VERSIONS, WORKLOAD

_FOLDER: Final = File(__file__).parent / "schemas"
_RULES: Final = {**RULES, **FORM_RULES}


def queue_findings(value: Mapping[str, Any], kind: str) -> tuple[FieldFinding, ...]:
    """Everything wrong with an object of Kueue, in the order in which its fields are written.

    Args:
        value: the JSON object; not changed.
        kind: one of names.KUEUE_KINDS.
    """
    written = value.get("apiVersion")
    if written is not None and written not in KUEUE_VERSIONS:
        what = f"is no version of {KUEUE_GROUP} that Kueue v0.19 serves"
        fix = f"write {KUEUE_VERSIONS[0]}, whose fields may have other names"
        return (FieldFinding(("apiVersion",), what, written, fix),)
    version = str(written or KUEUE_VERSIONS[0]).rpartition("/")[2]
    kinds, shared = _published("kueue_workload.json" if kind == WORKLOAD else "kueue.json")
    return schema.in_order(Walk(shared, _RULES), value, kinds[f"{version}/{kind}"])


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
    published = with_form(found, FORMS.get(kind, {}), shared)
    head = schema.head(kind, f"{KUEUE_GROUP}/{version}")
    return published | {
        "required": ["metadata", *published.get("required", ())],
        "properties": published["properties"] | head | {"status": schema.STATUS},
    }
