"""A folder with a kustomization -> what kustomize prints, or the whole of what it says is wrong.

Called by `kustomize`. A kustomization of our own is put on top, in a folder of ours: it has kustomize
say of each object what file it is from, and keep the order of the files.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.review import origin_annotations, subprocess_tool

_NAME: Final = "kustomization.yaml"
_ON_TOP: Final = {
    "buildMetadata": list(origin_annotations.BUILD_METADATA),
    "sortOptions": {"order": "fifo"},
}


def built_text(folder: Path) -> tuple[str, str]:
    """The folder that origins are relative to, and what kustomize prints.

    Raises:
        NotAvailable: There is no kustomize, or it cannot build the folder; what it said.
    """
    with tempfile.TemporaryDirectory(prefix="trainer-infra-") as name:
        top = os.path.realpath(name)
        below = os.path.relpath(os.path.realpath(folder), top)
        on_top = {**_ON_TOP, "resources": [below]}
        Path(top, _NAME).write_text(json.dumps(on_top), encoding="utf-8")
        return top, _built(folder, top, below)


def _built(folder: Path, top: str, below: str) -> str:
    alone, kubectl = subprocess_tool.find_tool("kustomize"), subprocess_tool.find_tool("kubectl")
    if alone is None and kubectl is None:
        raise NotAvailable(
            "`kustomize` or `kubectl` is needed to build it, and neither is on PATH; install one, "
            f"or pipe what it builds: `kustomize build {folder} | trainer-infra check -`"
        )
    command = [alone, "build", top] if alone else [str(kubectl), "kustomize", top]
    try:
        return subprocess_tool.tool_output(command).decode("utf-8")
    except NotAvailable as error:
        raise NotAvailable(f"cannot be built: {_words(str(error), folder, top, below)}") from None


def _words(said: str, folder: Path, top: str, below: str) -> str:
    """The innermost of kustomize's sentences, without places that the user does not know."""
    words = said.rpartition("accumulating resources: ")[2]
    for place in (below, top, os.path.realpath(folder)):
        words = words.replace(place, str(folder))
    return words.replace(f"{Path.cwd()}{os.sep}", "")
