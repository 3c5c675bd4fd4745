"""A folder with a kustomization -> what kustomize prints, or the whole of what it says is wrong.

A kustomization of our own is put on top, in a folder of ours: it has kustomize keep the order of the
files, and say of each object, in annotations, what it is from. Sources: kustomize's `buildMetadata`, with
`originAnnotations` (the file or the generator that an object is from) and `transformerAnnotations` (the
kustomizations whose transformers it went through, the innermost first, whether they changed it or not).
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.review import subprocess_tool
from trainer_infra.review.documents import value_at
from trainer_infra.review.subprocess_tool import ToolFailure

_NAME: Final = "kustomization.yaml"
_ON_TOP: Final = {
    "buildMetadata": ["originAnnotations", "transformerAnnotations"],
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
_ALLOWED: Final = "GIT_ALLOW_PROTOCOL"
_FETCHES: Final = {_ALLOWED: "https:ssh", "GIT_TERMINAL_PROMPT": "0"}
"""What kustomize may fetch by, and the bases that it fetches in turn: the author of a pull request writes
the address. git reads it (`git help git`); a user who sets it allows others."""
_QUOTED: Final = {
    r" with config: `.*?`": "",
    r":? node contents:.*": "",
    r"(?<=patch from \[patch: ).*(?=\])": "…",
    r"(?<=out of bounds for value ).*": "…",
    r"(?<=file sources: \[).*?\]: source .*(?= key name or file path contains)": "…]: one",
    r"(?<=literal sources \[).*?\]: invalid literal source .*?(?=, expected)": "…]: invalid one",
}
"""What it repeats of files: a secret may stand there."""
_ORIGIN: Final = "config.kubernetes.io/origin"
_TRANSFORMATIONS: Final = "alpha.config.kubernetes.io/transformations"


@dataclass(frozen=True, slots=True)
class BuiltObject:
    """An object that kustomize built; paths are relative to the folder that was built."""

    value: JSONObject
    """The object, without what kustomize says of it."""
    file: str | None
    """The file that it is from; None where it is not of this repository."""
    is_from_patch: bool
    """Whether the file has the patch that replaced the object's annotations: kustomize takes the object
    for new then, and says nothing of what it was before."""
    layers: tuple[str, ...]
    """Files of the kustomizations that it went through, the innermost first."""


def fetched_schemes() -> tuple[str, ...]:
    """The schemes of addresses that a check fetches."""
    return tuple(os.environ.get(_ALLOWED, _FETCHES[_ALLOWED]).split(":"))


def built_text(folder: Path, *, has_charts: bool = False) -> tuple[str, str]:
    """The folder that origins are relative to, and what kustomize prints; charts need helm.

    Raises:
        NotAvailable: There is no kustomize, or it cannot build the folder; what it said.
    """
    with tempfile.TemporaryDirectory(prefix="trainer-infra-") as name:
        top = os.path.realpath(name)
        below = os.path.relpath(os.path.realpath(folder), top)
        on_top = {**_ON_TOP, "resources": [below]}
        Path(top, _NAME).write_text(json.dumps(on_top), encoding="utf-8")
        return top, _built(folder, top, below, has_charts=has_charts)


def built_object(value: JSONObject) -> BuiltObject:
    """The object, and what kustomize says of it."""
    annotations = value_at(value, ("metadata", "annotations"))
    said = annotations if isinstance(annotations, Mapping) else {}
    origin = _value(said.get(_ORIGIN))
    ours = next(_files([origin]), None) if isinstance(origin, Mapping) else None
    steps = _value(said.get(_TRANSFORMATIONS))
    layers = dict.fromkeys(_files(steps if isinstance(steps, list) else []))
    maker = value_at(origin, ("configuredBy", "kind"))
    is_from_patch = isinstance(maker, str) and maker.endswith("Transformer")
    return BuiltObject(_without(value, said), ours, is_from_patch, tuple(layers))


def _built(folder: Path, top: str, below: str, *, has_charts: bool) -> str:
    alone, kubectl = subprocess_tool.find_tool("kustomize"), subprocess_tool.find_tool("kubectl")
    if alone is None and kubectl is None:
        raise NotAvailable(
            "`kustomize` or `kubectl` is needed to build it, and neither is on PATH; install one, "
            f"or pipe what it builds: `kustomize build {folder} | trainer-infra check -`"
        )
    command = [alone, "build", top] if alone else [str(kubectl), "kustomize", top]
    command += ["--enable-helm"] if has_charts else []
    try:
        return subprocess_tool.tool_output(command, variables=_FETCHES).decode("utf-8")
    except ToolFailure as error:
        words = failure_words(error.said, folder, top, below)
        raise NotAvailable(f"cannot be built: {words}") from None


def failure_words(said: str, folder: Path, top: str, below: str) -> str:
    """What kustomize says, without places that the user does not know and without what it quotes.

    `top` is our own folder, and `below` the user's as ours refers to it.
    """
    words = subprocess_tool.without_quotes(subprocess_tool.whole_words(said), _QUOTED)
    real = os.path.realpath(folder)
    for each in _OURS:
        words = words.removeprefix(each.format(below=below, real=real))
    for place, shown in ((top, str(folder)), (real, str(folder)), (f"{Path.cwd()}{os.sep}", "")):
        words = words.replace(place, shown)
    return words


def _files(places: Any) -> Iterator[str]:
    """Files of this repository among those that kustomize names."""
    for each in places:
        inside = each.get("configuredIn") or each.get("path")
        if isinstance(inside, str) and not each.get("repo"):
            yield inside


@lru_cache(maxsize=1 << 10)
def _value(said: str | None) -> Any:
    # Many objects went through the same layers.
    return yaml.load(said, Loader=yaml.CSafeLoader) if said else None


def _without(value: JSONObject, said: Mapping[str, Any]) -> JSONObject:
    if _ORIGIN not in said and _TRANSFORMATIONS not in said:
        return value
    others = {key: each for key, each in said.items() if key not in {_ORIGIN, _TRANSFORMATIONS}}
    rest = {key: each for key, each in value["metadata"].items() if key != "annotations"}
    return {**value, "metadata": {**rest, **({"annotations": others} if others else {})}}
