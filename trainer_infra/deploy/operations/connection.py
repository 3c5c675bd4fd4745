"""Kubeconfig and context of a stack, as they are configured now.

Called by `targets`. Where a program runs, the engine tells the serving process the configuration
itself. `refresh` and `destroy` run none: there it tells what the state has, which is that of the
last `up` (pulumi/pulumi, resource/deploy: a default provider's inputs come from the snapshot), and
so the stack's own file is read.
"""

import threading
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil

from trainer_infra.deploy import stack_config
from trainer_infra.deploy.stack_config import Settings
from trainer_infra.errors import NotAvailable

_OPTION: Final = "--config-file"
_SHELLS: Final = 2
"""Processes between this one and the Pulumi command, at most, and one more."""
_READING: Final = threading.Lock()
"""A secret is opened once, however many resources ask for it."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How a cluster is reached; None where the stack says nothing."""

    kubeconfig: str | None
    context: str | None
    remark: str = ""
    """Why it is that of the last `up` and not the one configured now; empty where it is that one."""


def configured(told: Connection, project: str, stack: str) -> Connection:
    """The connection of a stack by its file; as told where the file is not what configures it.

    Args:
        told: what the engine tells.
        project: the project's name: the command may run in the folder of another one.
        stack: the stack's name, without organization and project.
    """
    with _READING:
        return _of_file(told, project, stack)


@lru_cache(maxsize=1)
def _of_file(told: Connection, project: str, stack: str) -> Connection:
    try:
        found = _settings(project, stack)
        # Every stack of ours names its target: what does not is configured elsewhere (Pulumi ESC).
        if found is None or "target" not in found.values:
            return told
        return Connection(found.get("kubeconfig"), found.get("context"))
    except NotAvailable as error:
        remark = (
            f"{_shown(told)} of the last `pulumi up` is used, not what is configured now: {error}; "
            "to use that, add --run-program"
        )
        return Connection(told.kubeconfig, told.context, remark)


def _shown(told: Connection) -> str:
    """A path; never a kubeconfig's text, which has credentials."""
    path = told.kubeconfig or ""
    is_path = path and "\n" not in path and not path.lstrip().startswith("{")
    return f"the kubeconfig {path}" if is_path else "the kubeconfig"


def _settings(project: str, stack: str) -> Settings | None:
    found = stack_config.nearest(Path.cwd())
    if found is None or found.name != project:
        return None
    return stack_config.of_stack(found, stack, _config_file())


def _config_file() -> Path | None:
    """The file that the Pulumi command was told to read in place of the stack's own."""
    process = psutil.Process().parent()
    for _ in range(_SHELLS):
        words = process.cmdline() if process else []
        for word, following in pairwise((*words, "")):
            option, _, value = word.partition("=")
            if option == _OPTION and process:
                return Path(process.cwd()) / (value or following)
        process = process.parent() if process else None
    return None
