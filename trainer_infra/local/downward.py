"""Fields of a pod that its own env and volumes may read: the downward API. Pure."""

import json
import platform
import re
from collections.abc import Mapping
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local.network import LOOPBACK

_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


def downward_field(pod: JSONObject, path: str) -> str:
    """The value of a fieldPath; a label or annotation that is not there is empty.

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
