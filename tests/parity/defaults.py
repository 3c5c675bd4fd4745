"""What an API server fills in before Kubeflow Trainer sees an object.

The `default` keywords of the published CRDs (trainer_infra/api/schemas/published.json), applied as
the API server does: where the field is absent and the object around it is there. Both sides of the
comparison get the same defaulted objects.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from trainer_infra.api.shape import schema

JSON = dict[str, Any]


@cache
def _published() -> JSON:
    path = Path(schema.__file__).parents[1] / "schemas" / "published.json"
    data: JSON = json.loads(path.read_text(encoding="utf-8"))
    return data


def applied(value: JSON) -> JSON:
    """A copy of a TrainJob or runtime with its kind's defaults."""
    data = _published()
    defaulted: JSON = _with(value, data["kinds"][value["kind"]])
    return defaulted


def _with(value: Any, of: JSON) -> Any:
    of = _published()["shared"][of["$ref"]] if "$ref" in of else of
    if isinstance(value, list):
        return [_with(each, of["items"]) for each in value]
    if not isinstance(value, dict):
        return value
    fields: JSON = of.get("properties", {})
    others = of.get("additionalProperties")
    result = {
        name: _with(each, fields.get(name, others if isinstance(others, dict) else {}))
        for name, each in value.items()
    }
    for name, field in fields.items():
        if "default" in field and name not in result:
            result[name] = field["default"]
    return result
