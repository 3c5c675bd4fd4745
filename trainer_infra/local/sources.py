"""What env variables and volumes take their values from: ConfigMaps, Secrets, and fields of their pod. Pure."""

import base64
import json
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local.network import LOOPBACK

_REFERENCE: Final = re.compile(r"\$(?:(\$)|\(([^)]*)\))")
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
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


def downward_field(pod: JSONObject, path: str) -> str:
    """The value of a fieldPath, as the downward API has it; a label or annotation that is not there is empty.

    Raises:
        InvalidInput: There is no such field.
    """
    metadata = pod["metadata"]
    keyed = _KEYED.fullmatch(path)
    if keyed:
        return str((metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    if path in {"metadata.labels", "metadata.annotations"}:
        return _lines(metadata.get(path.partition(".")[2]) or {})
    values = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata["namespace"],
        "metadata.uid": metadata.get("uid", ""),
        "spec.nodeName": platform.node(),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", "default"),
        "status.hostIP": LOOPBACK,
        "status.hostIPs": LOOPBACK,
        "status.podIP": LOOPBACK,
        "status.podIPs": LOOPBACK,
    }
    if path not in values:
        raise InvalidInput([Problem("fieldRef.fieldPath", "is not a field of a pod", got=path)])
    return str(values[path])


def _lines(entries: Mapping[str, str]) -> str:
    """`key="value"` lines, sorted and escaped as the kubelet writes them."""
    return "\n".join(
        f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(entries.items())
    )


def expand_references(text: str, variables: Mapping[str, str]) -> str:
    """The text with each `$(VAR)` replaced, as Kubernetes does; an unknown one stays, and `$$` is a plain `$`."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] else variables.get(match[2], match[0])

    return _REFERENCE.sub(value, text)
