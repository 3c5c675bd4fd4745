"""What a team gets in a cluster: a namespace with a queue, rights, a closed network and secrets."""

from typing import Any, Unpack

import pulumi

from trainer_infra.platform.component import PlatformComponent
from trainer_infra.platform.manifests.object_resources import Resources, object_resources
from trainer_infra.platform.workspaces.queue import QueuePlace, declared_queue
from trainer_infra.platform.workspaces.service_account import TRAINING
from trainer_infra.platform.workspaces.workspace_args import WorkspaceArgs
from trainer_infra.platform.workspaces.workspace_objects import workspace_objects


class Workspace(PlatformComponent):
    """A team's namespace, and all that its members need to train in it."""

    namespace: pulumi.Output[str]
    """Its namespace; what uses this comes after it."""
    queue: pulumi.Output[str] | None
    """The queue that jobs name: Kueue's LocalQueue or Volcano's queue; None where nothing queues them."""
    service_account: pulumi.Output[str]
    """That of training pods."""
    resources: Resources
    """Its objects, by `Kind/name` or `Kind/namespace/name`."""

    _arguments = WorkspaceArgs

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[WorkspaceArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, of the namespace unless another is given, and the
                beginning of its resources' names.
            opts: Options of the component.
            args: See `WorkspaceArgs`.
        """
        super().__init__(resource_name, args, opts)
        namespace = args.get("namespace", resource_name)
        with self.sentences():
            objects = workspace_objects(namespace, args)
        self.resources = object_resources(objects, self)
        made: Any = self.resources[f"Namespace/{namespace}"]
        self.namespace = made.metadata["name"]
        mine = pulumi.ResourceOptions(parent=self, depends_on=[made])
        self.queue = declared_queue(QueuePlace(resource_name, namespace, mine), args)
        account = args.get("service_account", TRAINING)
        self.service_account = pulumi.Output.from_input(account)
        self.register_outputs(
            {
                "namespace": self.namespace,
                "queue": self.queue,
                "service_account": self.service_account,
            }
        )
