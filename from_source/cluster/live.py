"""The cluster's own folder: where its processes, certificates, data and logs stand.

For every file of `make cluster`. All of it lies below the cache folder and goes with
`make cluster-down`; what is built once (programs, image archives) lies beside it and stays.
"""

import os
from pathlib import Path
from typing import Final

from from_source.cluster import build

NAME: Final = "TRAINER_INFRA_CLUSTER"
"""Variable with the name of the cluster; the tests of this tool make one beside the usual one."""

BARE: Final = "TRAINER_INFRA_BARE"
"""Variable that, with any value, leaves JobSet out of a new cluster: a platform brings its own."""

NODE: Final = "trainer-infra"
"""Name of the only node."""


def name() -> str:
    """The cluster's name, which is that of its folder."""
    return os.environ.get(NAME, "live")


def has_jobset() -> bool:
    """Whether the cluster has JobSet from the beginning."""
    return not os.environ.get(BARE)


def folder() -> Path:
    """The cluster's folder; it exists while there is a cluster, or a part of one."""
    return build.cache() / name()


def made(*parts: str) -> Path:
    """A folder below the cluster's, made where it is missing; no other user may enter the first."""
    folder().mkdir(mode=0o700, exist_ok=True)
    inner = folder().joinpath(*parts)
    inner.mkdir(parents=True, exist_ok=True)
    return inner


def log(component: str) -> Path:
    """What a component writes."""
    return made("logs") / f"{component}.log"


def kubeconfig() -> Path:
    """The file with which a person or a test reaches the cluster from outside."""
    return folder() / "kubeconfig"


def write_private(file: Path, content: bytes) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    partial = file.with_suffix(".partial")
    partial.touch(mode=0o600)
    partial.write_bytes(content)
    partial.rename(file)
