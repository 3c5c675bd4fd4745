"""JobSet's controller."""

from typing import Unpack

import pulumi

from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
)


class JobSetController(ControllerComponent):
    """JobSet's controller, from its published manifests."""

    _arguments = ControllerArgs
    _names = ControllerNames(
        "JobSet",
        "jobset-system",
        "jobset-controller-manager",
        "jobset-manager-config",
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
