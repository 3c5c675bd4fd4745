"""What of this package travels with a job's code: the launcher, and modules for images that lack them.

Every file has its price in a cluster, so what only some jobs need travels with those. Reads the
package's own files.
"""

import functools
from pathlib import Path
from typing import Final

from trainer_infra import in_pod
from trainer_infra.trainers.package_mounts import INIT, INSTALLING

_PACKAGE: Final = Path(in_pod.__file__).parents[1]
_REPORTING: Final = frozenset({"hugging_face"})
"""Frameworks that report by callbacks of ours."""


@functools.cache
def launcher_files() -> dict[str, str]:
    """What every job has: the first process, the launcher, `report` and `storage`."""
    shipped = _library("report.py", "storage.py", "in_pod/report.py", "in_pod/storage.py")
    packages = ("lib/trainer_infra/__init__.py", "lib/trainer_infra/in_pod/__init__.py")
    started = {name: _text(f"in_pod/{name}") for name in (INIT, "main.py")}
    return {**started, **dict.fromkeys(packages, ""), **shipped}


@functools.cache
def callback_files() -> dict[str, str]:
    """What code has that names the callbacks."""
    return _library("callbacks.py", *_modules("callbacks"))


@functools.cache
def checkpoint_files() -> dict[str, str]:
    """What code has that names the checkpoints."""
    return _library("checkpoint.py", *_modules("checkpoints"))


@functools.cache
def saving_callback_files() -> dict[str, str]:
    """What code has whose callbacks save checkpoints too."""
    return {**callback_files(), **checkpoint_files()}


@functools.cache
def adapter_files() -> dict[str, str]:
    """What code has that trains an adapter."""
    return _library("in_pod/lora_adapter.py")


@functools.cache
def installing_files() -> dict[str, str]:
    """What code has whose pods install packages."""
    library = _library("in_pod/package_cache.py", "in_pod/package_installation.py")
    return {INSTALLING: _text("in_pod/packages.py"), **library}


@functools.cache
def framework_files(name: str) -> dict[str, str]:
    """What code has that a framework is prepared for."""
    callbacks = saving_callback_files() if name in _REPORTING else {}
    own = _library("in_pod/frameworks/__init__.py", f"in_pod/frameworks/{name}.py")
    return {**callbacks, **own}


def _modules(folder: str) -> list[str]:
    found = (_PACKAGE / "in_pod" / folder).glob("*.py")
    return sorted(each.relative_to(_PACKAGE).as_posix() for each in found)


def _library(*paths: str) -> dict[str, str]:
    return {f"lib/trainer_infra/{path}": _text(path) for path in paths}


def _text(path: str) -> str:
    return (_PACKAGE / path).read_text(encoding="utf-8")
