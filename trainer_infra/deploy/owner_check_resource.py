"""What a component declares before its objects, so that none of them is another component's.

Everything is decided by `operations.owner_check`.
"""

from collections.abc import Iterable

import pulumi

from trainer_infra.deploy import registration
from trainer_infra.deploy.destroy_guard_resource import GuardedCluster
from trainer_infra.deploy.provider import OwnerCheckProvider
from trainer_infra.deploy.resource_type import TrainerResource


class OwnerCheck(TrainerResource):
    """Refuses, at preview, namespaces that the guard of another component watches over."""

    def __init__(
        self,
        resource_name: str,
        namespaces: Iterable[str],
        *,
        cluster: GuardedCluster | None = None,
        opts: pulumi.ResourceOptions,
    ) -> None:
        """Ask for namespaces.

        Args:
            resource_name: Name of the resource: that of the component, a colon, and a word.
            namespaces: that the component makes.
            cluster: The cluster; the stack's own unless it is given.
            opts: Options, the component as parent among them.
        """
        inputs = {
            "namespaces": sorted(namespaces),
            "urn": registration.resource_urn(type(self), resource_name, opts),
            **(cluster or {}),
        }
        super().__init__(OwnerCheckProvider(), resource_name, inputs, opts)
