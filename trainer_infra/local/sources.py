"""What env variables and volumes take their values from: ConfigMaps and Secrets. Pure."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trainer_infra.json_values import JSONObject

Data = Mapping[str, Mapping[str, bytes]]


@dataclass(frozen=True, slots=True)
class Sources:
    """The ConfigMaps and Secrets of a run: object name to key to value."""

    config_maps: Data
    """Of each ConfigMap."""
    secrets: Data
    """Of each Secret, decoded."""


def object_sources(
    objects: Iterable[JSONObject], own_secret: str, secret_data: Mapping[str, str]
) -> Sources:
    """The values of these objects; the job's own Secret has `secret_data`, not what is shown."""
    every = tuple(objects)
    own = {key: value.encode() for key, value in secret_data.items()}
    return Sources(
        {_name(each): _config_map(each) for each in every if each["kind"] == "ConfigMap"},
        {_name(each): _secret(each) for each in every if each["kind"] == "Secret"}
        | {own_secret: own},
    )


def _name(value: JSONObject) -> str:
    return str(value["metadata"]["name"])


def _config_map(value: JSONObject) -> dict[str, bytes]:
    texts = {key: text.encode() for key, text in (value.get("data") or {}).items()}
    return texts | _decoded(value.get("binaryData") or {})


def _secret(value: JSONObject) -> dict[str, bytes]:
    texts = {key: text.encode() for key, text in (value.get("stringData") or {}).items()}
    return _decoded(value.get("data") or {}) | texts


def _decoded(value: Mapping[str, str]) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in value.items()}
