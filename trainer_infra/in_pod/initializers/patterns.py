"""Which files of a listing are wanted.

The default patterns of a model leave out the formats that a repository has besides safetensors. A model
needs weights: patterns that leave out what is there twice must not leave out all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TypeVar

from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.units import files_text

File = TypeVar("File")
FORMATS = (".bin", ".pt", ".pth", ".h5", ".msgpack")
"""Endings of `MODEL_DEFAULT`, those first that most programs load."""
LOADED = (".safetensors", ".gguf")
"""Endings of weights beside which the other formats are copies."""
OTHERS = (
    *(".ckpt", ".joblib", ".keras", ".nemo", ".npz", ".onnx", ".ot", ".pb"),
    *(".pdparams", ".pkl", ".tflite", ".ubj"),
)
"""Endings of what is weights, too, and is not a format of every program."""
OF_TRAINING = re.compile(r"(training_args|optimizer|scheduler|scaler|rng_state)\b.*|rng_state_.*")
"""Names of what a trainer keeps in such formats beside the weights."""
CONFIGURATIONS = {"config.json", "adapter_config.json"}
"""Names of what a folder has whose weights a program loads."""
OF_LIBRARIES = re.compile(r"(.*_)?config[.]json|tokenizer.*")
"""Names of what Hugging Face's libraries keep with a model."""
MODEL_DEFAULT = ("*.msgpack", "*.h5", "*.bin", "*.pt", "*.pth")
"""What is left out of a model where the variable is unset (reference behaviour 7.1, and Q19)."""


@dataclass(frozen=True)
class Patterns:
    """Shell patterns, in which `*` also matches slashes, as in `huggingface_hub`; `dir/` is all below it."""

    ignored: tuple[str, ...] = ()
    allowed: tuple[str, ...] | None = None
    """None if all are."""
    of_model: bool = False
    also: frozenset[str] = frozenset()
    """Names that are wanted whatever is ignored."""

    def admits(self, *names: str) -> bool:
        """Whether a file is wanted that has these names: its path below the URI, and what else it is known by.

        Patterns of the reference are for the whole key of an object.
        """
        if not self.also.isdisjoint(names):
            return True
        if self.allowed is not None and not _is_matched(names, self.allowed):
            return False
        return not _is_matched(names, self.ignored)

    @property
    def shown(self) -> str:
        """As messages show them."""
        allowed = [] if self.allowed is None else [f"ALLOW_PATTERNS={','.join(self.allowed)}"]
        ignored = [f"IGNORE_PATTERNS={','.join(self.ignored)}"] if self.ignored else []
        return " and ".join(allowed + ignored)


def parse_patterns(ignored: str | None, allowed: str | None, *, of_model: bool) -> Patterns:
    """Patterns of IGNORE_PATTERNS and ALLOW_PATTERNS, None where they are unset.

    One that is set to nothing counts: nothing is ignored, or all is allowed. Unset, a model has a default.
    """
    default = MODEL_DEFAULT if of_model else ()
    given = default if ignored is None else _split(ignored)
    return Patterns(given, _split(allowed or "") or None, of_model)


def _split(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def _is_matched(names: tuple[str, ...], patterns: tuple[str, ...]) -> bool:
    return any(
        fnmatchcase(name, f"{pattern}*" if pattern.endswith("/") else pattern)
        for pattern in patterns
        for name in names
    )


def with_weights(patterns: Patterns, names: Iterable[tuple[str, ...]]) -> tuple[Patterns, str]:
    """The patterns of a model, which admit weights too that nothing else replaces; and what is worth saying of it.

    Those of a dataset stay as they are. `names` has of each file what `Patterns.admits` takes, its path first.
    """
    if not patterns.of_model:
        return patterns, ""
    every = list(names)
    admitted = [each[0] for each in every if patterns.admits(*each)]
    refused = [each for each in every if not patterns.admits(*each)]
    free = replace(patterns, ignored=()) if patterns.ignored == MODEL_DEFAULT else patterns
    missed = _missed(admitted, [each[0] for each in refused if free.admits(*each)])
    if missed:
        said = (
            f"no other weights are beside them, so {_listed(missed)} will come, which the default "
            f"{patterns.shown} leaves out; set IGNORE_PATTERNS to choose yourself"
        )
        return replace(patterns, also=frozenset(missed)), said
    return patterns, _warning(patterns, admitted, [each[0] for each in refused])


def wanted_files(
    shown: str, patterns: Patterns, files: Sequence[File], names: Callable[[File], tuple[str, ...]]
) -> tuple[list[File], str]:
    """Those of the files at a URI that the patterns admit by their names, and what is worth saying of it.

    Raises:
        DownloadFailure: The patterns leave none of them.
    """
    patterns, remark = with_weights(patterns, map(names, files))
    wanted = [each for each in files if patterns.admits(*names(each))]
    if files and not wanted:
        raise nothing_wanted(shown, len(files), patterns.shown)
    return wanted, remark


def nothing_wanted(shown: str, count: int, patterns: str) -> DownloadFailure:
    """Why a listing is empty that was not so before the patterns."""
    return DownloadFailure(
        shown,
        f"{patterns} leaves none of {files_text(count)}",
        "change the patterns; set IGNORE_PATTERNS to nothing to ignore none",
    )


def _missed(admitted: Sequence[str], ignored: Sequence[str]) -> list[str]:
    """Of each folder that has a configuration, or where there is none at all of any, the weights of one format."""
    loaded = {_folder(each) for each in admitted if each.endswith(LOADED)}
    described = {_folder(each) for each in admitted if _name(each) in CONFIGURATIONS}
    weights: dict[str, list[str]] = {}
    for each in filter(_is_weights, ignored):
        weights.setdefault(_folder(each), []).append(each)
    counted = described - loaded if loaded or described & weights.keys() else weights.keys()
    found: list[str] = []
    for of_folder in (weights[each] for each in weights if each in counted):
        suffix = min((PurePosixPath(each).suffix for each in of_folder), key=FORMATS.index)
        found += [each for each in of_folder if each.endswith(suffix)]
    return sorted(found)


def _warning(patterns: Patterns, admitted: Sequence[str], refused: Sequence[str]) -> str:
    """What is said where a model has no weights; empty where it has, or is none that we know."""
    if any(each.endswith((*LOADED, *OTHERS)) or _is_weights(each) for each in admitted):
        return ""
    lost = [each for each in refused if each.endswith((*LOADED, *OTHERS)) or _is_weights(each)]
    if lost:
        return f"{patterns.shown} leaves out {_listed(lost)}, and no other weights are there"
    if any(OF_LIBRARIES.fullmatch(_name(each)) for each in admitted):
        return f"{files_text(len(admitted))} and no weights among them: is this the whole model?"
    return ""


def _is_weights(path: str) -> bool:
    return path.endswith(FORMATS) and not OF_TRAINING.fullmatch(_name(path))


def _listed(paths: Sequence[str]) -> str:
    return f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else paths[0]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]
