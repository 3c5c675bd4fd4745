"""Controllers of what jobs are made of: JobSet and LeaderWorkerSet."""

from typing import Unpack

from trainer_infra.platform.component import Options
from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import ControllerComponent, ControllerNames


class LeaderWorkerSetController(ControllerComponent):
    """LeaderWorkerSet's controller, from its published manifests."""

    _arguments = ControllerArgs
    _names = ControllerNames(
        "LeaderWorkerSet", "lws-system", "lws-controller-manager", "lws-manager-config"
    )

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ControllerArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)


class JobSetController(ControllerComponent):
    """JobSet's controller, from its published manifests."""

    _arguments = ControllerArgs
    _names = ControllerNames(
        "JobSet", "jobset-system", "jobset-controller-manager", "jobset-manager-config"
    )

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[ControllerArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
