"""Judges custom resources by the schemas of the pinned CRDs, without a server: strictly, as one would.

CEL rules and webhooks are left to tests/apiserver and tests/e2e.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import jsonschema

from from_source.cluster import crds
from tests.apiserver.kueue_crds import VOLCANO_QUEUE
from tests.apiserver.pool_crds import FILES
from tests.platform.release_definitions import release_definitions
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.releases import RELEASES

Kind = tuple[str, str]
"""apiVersion and kind."""


@cache
def validators() -> dict[Kind, jsonschema.Draft7Validator]:
    """By kind, of everything that a component installs or a pool's backend serves."""
    return {
        (f"{definition['spec']['group']}/{version['name']}", definition["spec"]["names"]["kind"]): (
            jsonschema.Draft7Validator(strict(version["schema"]["openAPIV3Schema"]))
        )
        for definition in _definitions()
        for version in definition["spec"]["versions"]
    }


def problems(value: JSONObject) -> Sequence[str]:
    """What an API server would refuse in an object: its place and a sentence; of a known kind only."""
    found = validators()[value["apiVersion"], value["kind"]].iter_errors(value)
    return [f"{each.json_path}: {each.message}" for each in found]


def is_known(value: JSONObject) -> bool:
    """Whether an object is of a kind whose CRD is pinned."""
    return (value["apiVersion"], value["kind"]) in validators()


def _definitions() -> Iterator[JSONObject]:
    for project in dict.fromkeys(each.project for each in RELEASES):
        yield from release_definitions(project)
    for file in (VOLCANO_QUEUE, *(each for files in FILES.values() for each in files)):
        yield crds.published(file)


def strict(schema: JSONObject) -> dict[str, Any]:
    """A structural schema as JSON Schema, which refuses fields that it does not have.

    The outermost fields are the server's: `metadata` has a schema of its own there.
    """
    made = _strict(schema)
    made["properties"] |= {key: {} for key in ("apiVersion", "kind", "metadata")}
    return made


def _strict(schema: JSONObject) -> dict[str, Any]:
    made = {key: each for key, each in schema.items() if not key.startswith("x-kubernetes-")}
    if schema.get("x-kubernetes-int-or-string"):
        made |= {"type": ["integer", "string"]}
        made.pop("anyOf", None)
    if "(?i)" in schema.get("pattern", ""):
        # Go takes a flag anywhere, Python at the start.
        made["pattern"] = "(?i)" + schema["pattern"].replace("(?i)", "")
    if "type" in made and schema.get("nullable"):
        made["type"] = [made["type"], "null"]
    if "items" in schema:
        made["items"] = _strict(schema["items"])
    if isinstance(more := schema.get("additionalProperties"), dict):
        made["additionalProperties"] = _strict(more)
    if "properties" in schema:
        made["properties"] = {name: _strict(each) for name, each in schema["properties"].items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            made.setdefault("additionalProperties", False)
    return made
