"""The environment of a container, as Kubernetes makes it, over an allow-list of this machine's own.

Pure but for `inherited_environment`, which reads this process's environment. Order: allow-list,
envFrom, env; `$(VAR)` sees what was defined before it.
"""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path, PurePosixPath
from typing import Final

from trainer_infra.api import quantity
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.local import network as loopback
from trainer_infra.local import sources
from trainer_infra.local.capacity import Machine
from trainer_infra.local.network import Network
from trainer_infra.local.sources import Sources

ALLOWED: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CUDA_VISIBLE_DEVICES",
        "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
    }
)  # fmt: skip
"""What a pod has of this machine's own environment, with LC_*: nothing else, no PULUMI_*."""

_LOOPBACK_INTERFACE: Final = "lo" if sys.platform == "linux" else "lo0"

INSTALLERS: Final = ("PIP_", "UV_", "XDG_")
"""Prefixes that installing packages may see in addition, with the place of uv's cache; pods do not."""


@dataclass(frozen=True, slots=True)
class Mounts:
    """The mounts of one container.

    Mounting a path needs privileges, so a mountPath is a folder somewhere else, and every occurrence of
    it at a path boundary in command, args and env values is rewritten to that folder.
    """

    folders: Mapping[str, Path]
    """mountPath without a trailing slash, to the folder that stands for it."""

    def local(self, text: str) -> str:
        """The text with every mountPath replaced, the longest first, each place once.

        A mountPath begins at the start, after `://`, or after what cannot be part of a path.
        """
        if not self.folders:
            return text
        paths = "|".join(re.escape(path) for path in sorted(self.folders, key=len, reverse=True))
        pattern = rf"(?:(?<![\w./~-])|(?<=://))(?:{paths})(?![\w.-])"
        return re.sub(pattern, lambda match: str(self.folders[match[0]]), text)

    def folder(self, path: str) -> Path | None:
        """The folder of an absolute path at or below a mount; None when it is below none."""
        wanted = PurePosixPath(path)
        for mount in sorted(self.folders, key=len, reverse=True):
            if wanted.is_relative_to(mount):
                return self.folders[mount] / wanted.relative_to(mount)
        return None


@dataclass(frozen=True, slots=True)
class PodContext:
    """Where a pod runs: what its env and texts are made of."""

    pod: JSONObject
    """Its manifest."""
    sources: Sources
    """ConfigMaps and Secrets."""
    network: Network
    """Of this attempt."""
    machine: Mapping[str, str]
    """The allow-listed environment with PATH of the job's Python, and the progress variables."""


def inherited_environment(*prefixes: str) -> dict[str, str]:
    """This process's own environment, as far as it is allow-listed."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in ALLOWED or name.startswith(("LC_", *prefixes))
    }


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables that a container defines, before anything is made local."""

    values: Mapping[str, str]
    """Name to value, `$(VAR)` expanded."""
    opaque: frozenset[str]
    """Names whose value is a secret's: passed on as it is."""


def container_variables(container: JSONObject, place: PodContext) -> Variables:
    """What a container's envFrom and env define; raises as `volumes.make_volumes` does."""
    found: list[Problem] = []
    own = _from_objects(container, place, found)
    for index, entry in enumerate(container.get("env") or ()):
        value = _value(container, entry, index, place, own)
        if isinstance(value, Problem):
            found.append(value)
        elif value is not None:
            own[entry["name"]] = value
    if found:
        raise InvalidInput(found)
    return Variables(own, _from_secrets(container, place.sources))


def container_environment(own: Variables, place: PodContext, mounts: Mounts) -> dict[str, str]:
    """The whole environment of a container: this machine's, defaults, then its own."""
    # What a process on one machine needs and a pod's image or network would give it.
    return {
        **place.machine,
        "PYTHONUNBUFFERED": "1",
        "GLOO_SOCKET_IFNAME": _LOOPBACK_INTERFACE,
        "TP_SOCKET_IFNAME": _LOOPBACK_INTERFACE,
        "PET_LOCAL_ADDR": loopback.LOOPBACK,
        "HOSTNAME": str(place.pod["spec"].get("hostname") or place.pod["metadata"]["name"]),
    } | {
        name: value if name in own.opaque else file_text(value, place, mounts)
        for name, value in own.values.items()
    }


def expand_word(value: str, own: Variables, place: PodContext, mounts: Mounts) -> str:
    """A command or argument with `$(VAR)`, endpoint names and mount paths replaced."""
    return file_text(sources.expand_references(value, own.values), place, mounts)


def file_text(value: str, place: PodContext, mounts: Mounts) -> str:
    """A text with endpoint names as loopback addresses and mount paths as folders."""
    return mounts.local(loopback.local_text(value, place.network))


def _from_objects(container: JSONObject, place: PodContext, found: list[Problem]) -> dict[str, str]:
    own: dict[str, str] = {}
    for index, entry in enumerate(container.get("envFrom") or ()):
        kind = "configMapRef" if "configMapRef" in entry else "secretRef"
        reference = entry[kind]
        data = _data(kind, reference["name"], place.sources)
        if data is None and not reference.get("optional"):
            path = f"containers[{container['name']}].envFrom[{index}].{kind}.name"
            found.append(Problem(path, "is not among the job's objects", got=reference["name"]))
        for key, value in (data or {}).items():
            own[f"{entry.get('prefix') or ''}{key}"] = value.decode()
    return own


def _from_secrets(container: JSONObject, sources: Sources) -> frozenset[str]:
    by_key = {
        entry["name"]
        for entry in container.get("env") or ()
        if "secretKeyRef" in (entry.get("valueFrom") or {})
    }
    whole = [entry for entry in container.get("envFrom") or () if "secretRef" in entry]
    by_object = {
        f"{entry.get('prefix') or ''}{key}"
        for entry in whole
        for key in sources.secrets.get(entry["secretRef"]["name"], {})
    }
    plain = {entry["name"] for entry in container.get("env") or ()} - by_key
    return frozenset(by_key | (by_object - plain))


def _value(
    container: JSONObject, entry: JSONObject, index: int, place: PodContext, own: Mapping[str, str]
) -> str | Problem | None:
    """The value of one env entry; None when an optional key is not there."""
    source = entry.get("valueFrom")
    if not source:
        plain = sources.expand_references(entry.get("value") or "", own)
        return loopback.local_variable(entry["name"], plain, place.network)
    if "fieldRef" in source:
        return sources.downward_field(place.pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return resource_amount(container, source["resourceFieldRef"])
    kind = "configMapKeyRef" if "configMapKeyRef" in source else "secretKeyRef"
    reference = source[kind]
    value = (_data(kind, reference["name"], place.sources) or {}).get(reference["key"])
    if value is not None:
        return value.decode()
    if reference.get("optional"):
        return None
    path = f"containers[{container['name']}].env[{index}].valueFrom.{kind}"
    got = f"{reference['name']}/{reference['key']}"
    return Problem(path, "is not among the job's objects", got=got)


def _data(kind: str, name: str, sources: Sources) -> Mapping[str, bytes] | None:
    every = sources.config_maps if kind.startswith("configMap") else sources.secrets
    return every.get(name)


def resource_amount(container: JSONObject, reference: JSONObject) -> str:
    """A resourceFieldRef: the container's own limit or request, else all that this machine has.

    Rounded up to whole divisors as the kubelet does.
    """
    group, _, name = str(reference["resource"]).partition(".")
    resources = container.get("resources") or {}
    amount = (resources.get(group) or {}).get(name)
    if amount is None:
        machine = Machine.here()
        amount = {"cpu": machine.processors, "memory": machine.memory}.get(name, 0)
    given = quantity.parse_quantity(amount)
    divisor = quantity.parse_quantity(reference.get("divisor") or "1") or Decimal(1)
    return str(int((given / divisor).to_integral_value(ROUND_CEILING)))
