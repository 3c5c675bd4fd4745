"""LeaderWorkerSet's controller."""

from typing import Unpack

import pulumi

from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
)


class LeaderWorkerSetController(ControllerComponent):
    """LeaderWorkerSet's controller, from its published manifests."""

    _arguments = ControllerArgs
    _names = ControllerNames(
        "LeaderWorkerSet",
        "lws-system",
        "lws-controller-manager",
        "lws-manager-config",
        "controller_manager_config.yaml",
    )

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[ControllerArgs],
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `ControllerArgs`.
        """
        super().__init__(resource_name, args, opts)
