"""`trainer-infra controller`: the manager that runs in a cluster.

What it needs besides the command line is imported here: `controller.manager`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.in_pod import own_place
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import REFERENCE, Behaviour
from trainer_infra.render.deviation import ALL

LEVELS: Final = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """What the command line says."""

    config: Path | None
    """The configuration file; None for every default."""
    kubeconfig: str | None
    """Path; None for the usual places, in a pod its service account."""
    gates: str
    """Feature gates, `name=true,...`."""
    plugins: Sequence[str]
    """Plugins of other packages, as `plugin_registry.plugins_with` takes them."""
    level: str
    """The least that is logged."""
    like_reference: bool
    """Whether it decides without our named deviations."""


def run_controller(options: ControllerOptions) -> None:
    """Work until SIGTERM or SIGINT.

    Raises:
        InvalidInput: The configuration, a plugin or the level cannot be used.
        NotAvailable: There is no cluster, a package is missing, or another replica leads.
    """
    if options.level not in LEVELS:
        what = f"must be {' or '.join(LEVELS)}"
        raise InvalidInput([Problem("--log-level", what, options.level)])
    try:
        from trainer_infra.controller import configuration, json_logs, manager  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise NotAvailable(
            f"the controller needs the package {error.name}; run `{own_place.install_command('controller')}`"
        ) from error
    deviations = REFERENCE.deviations if options.like_reference else ALL
    settings = manager.ManagerSettings(
        configuration.read_configuration(options.config, options.gates),
        Behaviour(plugin_registry.plugins_with(options.plugins), deviations),
        options.kubeconfig,
    )
    json_logs.start_json_logs(options.level)
    asyncio.run(manager.run_manager(settings))
