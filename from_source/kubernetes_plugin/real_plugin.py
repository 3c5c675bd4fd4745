"""Where Pulumi's own Kubernetes plugin is on this machine.

The engine takes a plugin on PATH before one of its cache, so the stand-in asks here first and steps
aside for either.
"""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

PLUGIN: Final = "pulumi-resource-kubernetes"
_VERSION: Final = re.compile(r"resource-kubernetes-v(\d+)\.(\d+)\.(\d+)$")


def real_plugin(environment: Mapping[str, str]) -> Path | None:
    """The real plugin: the first on PATH that is no stand-in, else the newest of the cache."""
    for folder in environment.get("PATH", "").split(os.pathsep):
        found = shutil.which(PLUGIN, path=folder) if folder else None
        if found and not _is_stand_in(Path(found)):
            return Path(found)
    home = Path(environment.get("PULUMI_HOME") or Path.home() / ".pulumi")
    versions = {
        tuple(map(int, match.groups())): each / PLUGIN
        for each in home.glob("plugins/resource-kubernetes-v*")
        if (match := _VERSION.search(each.name)) and (each / PLUGIN).is_file()
    }
    return versions[max(versions)] if versions else None


def _is_stand_in(found: Path) -> bool:
    """Whether a program is a launcher of ours, this checkout's or another's: they name this folder."""
    with found.open("rb") as file:
        return b"from_source.kubernetes_plugin" in file.read(4096)
