"""A folder with a kustomization -> what kustomize prints, or the whole of what it says is wrong.

A kustomization of our own is put on top, in a folder of ours: it has kustomize say of each object
what file it is from, and keep the order of the files.
"""

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.review import origin_annotations, subprocess_tool
from trainer_infra.review.subprocess_tool import ToolFailure

_NAME: Final = "kustomization.yaml"
_ON_TOP: Final = {
    "buildMetadata": list(origin_annotations.BUILD_METADATA),
    "sortOptions": {"order": "fifo"},
}
_OURS: Final = (
    "Error: ",
    "accumulating resources: ",
    "accumulation err='accumulating resources from '{below}': '{real}' must resolve to a file': ",
    "recursed accumulation of path '{real}': ",
    "couldn't make target for path '{real}': ",
)
"""How it begins, one behind the other, to speak of what our own kustomization refers to."""
_QUOTED: Final = {
    r" with config: `.*?`": "",
    r":? node contents:.*": "",
    r"(?<=patch from \[patch: ).*(?=\])": "…",
    r"(?<=literal sources \[).*?\]: invalid literal source .*?(?=, expected)": "…]: invalid one",
}
"""What it repeats of files: a secret may stand there."""


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
    except ToolFailure as error:
        words = failure_words(error.said, folder, top, below)
        raise NotAvailable(f"cannot be built: {words}") from None


def failure_words(said: str, folder: Path, top: str, below: str) -> str:
    """What kustomize says, without places that the user does not know and without what it quotes.

    Args:
        said: all that it wrote to stderr.
        folder: as the user named it.
        top: our own folder.
        below: the user's folder as ours refers to it.
    """
    words = subprocess_tool.whole_words(said)
    for quoted, instead in _QUOTED.items():
        words = re.sub(quoted, instead, words)
    real = os.path.realpath(folder)
    for each in _OURS:
        words = words.removeprefix(each.format(below=below, real=real))
    for place, shown in ((top, str(folder)), (real, str(folder)), (f"{Path.cwd()}{os.sep}", "")):
        words = words.replace(place, shown)
    return words
