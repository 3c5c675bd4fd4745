"""`trainer-infra controller`: the manager that runs in a cluster."""

import asyncio
from typing import Final

from trainer_infra.cli.options import ControllerRequest
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.in_pod import own_place
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import REFERENCE, Behaviour
from trainer_infra.render.deviation import ALL

LEVELS: Final = ("debug", "info", "warning", "error")


def run_controller(asked: ControllerRequest) -> None:
    """Work until SIGTERM or SIGINT.

    Raises:
        InvalidInput: The configuration, a plugin or the level cannot be used.
        NotAvailable: There is no cluster, a package is missing, or another replica leads.
    """
    if asked.log_level not in LEVELS:
        what = f"must be {' or '.join(LEVELS)}"
        raise InvalidInput([Problem("--log-level", what, asked.log_level)])
    try:
        from trainer_infra.controller import configuration, json_logs, manager  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise NotAvailable(
            f"the controller needs the package {error.name}; run `{own_place.install_command('controller')}`"
        ) from error
    deviations = REFERENCE.deviations if asked.like_reference else ALL
    settings = manager.ManagerSettings(
        configuration.read_configuration(asked.config, asked.feature_gates),
        Behaviour(plugin_registry.plugins_with(asked.plugin or ()), deviations),
        asked.kubeconfig,
    )
    json_logs.start_json_logs(asked.log_level)
    asyncio.run(manager.run_manager(settings))
