"""Kubeconfig and context of a stack, as they are configured now.

Where a program runs, the engine tells the serving process the configuration itself. `refresh` and
`destroy` run none: there it tells what the state has, which is that of the last `up`
(pulumi/pulumi, resource/deploy: a default provider's inputs come from the snapshot), and so the
stack's own file is read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trainer_infra.deploy import stack_config
from trainer_infra.errors import NotAvailable


@dataclass(frozen=True, slots=True)
class Connection:
    """How a cluster is reached; None where the stack says nothing."""

    kubeconfig: str | None = None
    context: str | None = None
    remark: str = ""
    """Why it is that of the last `up` and not the one configured now; empty where it is that one."""


def configured_connection(
    given: Connection, project: str, stack: str, config_file: Callable[[], Path | None]
) -> Connection:
    """The connection of a stack by its file; as given where the file is not what configures it.

    Args:
        given: the one that the engine gives.
        project: the project's name: the command may run in the folder of another one.
        stack: the stack's name, without organization and project.
        config_file: finds the file that the command was told to read in place of the stack's own.
    """
    try:
        nearest = stack_config.nearest_program(Path.cwd())
        if nearest is None or nearest.name != project:
            return given
        found = stack_config.of_stack(nearest, stack, config_file())
        # Every stack of ours names its target or its cluster: what does not is configured elsewhere
        # (Pulumi ESC).
        if not found.values.keys() & {"target", "kubeconfig", "context"}:
            return given
        return Connection(found.get("kubeconfig"), found.get("context"))
    except NotAvailable as error:
        remark = (
            f"{_shown(given)} of the last `pulumi up` is used, not what is configured now: {error}; "
            "to use that, add --run-program"
        )
        return Connection(given.kubeconfig, given.context, remark)


def _shown(given: Connection) -> str:
    """A path; never a kubeconfig's text, which has credentials."""
    path = given.kubeconfig or ""
    is_path = path and "\n" not in path and not path.lstrip().startswith("{")
    return f"the kubeconfig {path}" if is_path else "the kubeconfig"
