"""What a team gets in a cluster: a namespace with a queue, rights, a closed network and secrets."""

from collections.abc import Sequence
from typing import Any, Final, Unpack

import pulumi

from trainer_infra import names
from trainer_infra.deploy.destroy_guard_resource import DestroyGuard
from trainer_infra.errors import InvalidInput
from trainer_infra.platform.component import Options, PlatformComponent, without_none
from trainer_infra.platform.workspaces.queue import declared_queue, unknown_flavors
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES, WorkspaceArgs
from trainer_infra.platform.workspaces.workspace_objects import TRAINING, workspace_objects

KINDS: Final = ((names.API_VERSION, names.TRAIN_JOB), (names.JOBSET_API_VERSION, names.JOBSET))
"""What `destroy` does not take from a team."""


class Workspace(PlatformComponent):
    """A team's namespace, and all that its members need to train in it."""

    namespace: pulumi.Output[str]
    """Its namespace; what uses this comes after it."""
    queue: pulumi.Output[str] | None
    """The queue that jobs name: Kueue's LocalQueue or Volcano's queue; None where nothing queues them."""
    service_account: pulumi.Output[str]
    """That of training pods."""

    _arguments = WorkspaceArgs
    _examples = EXAMPLES

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[WorkspaceArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)
        args = without_none(args)
        namespace = args.get("namespace", resource_name)
        with self.sentences():
            objects = workspace_objects(namespace, args)
        first = self._owner_check([namespace])
        self.resources = self._declare_objects(objects, after=first)
        made: Any = self.resources[f"Namespace/{namespace}"]
        self.namespace = made.metadata["name"]
        mine = pulumi.ResourceOptions(parent=self, depends_on=[made])
        self.queue = declared_queue(resource_name, namespace, args, mine)
        self._judge_flavors(args)
        if self._is_guarded:
            self._guard(namespace)
        account = args.get("service_account", TRAINING)
        self.service_account = pulumi.Output.from_input(account)
        outputs = {"namespace": self.namespace, "queue": self.queue}
        self.register_outputs({**outputs, "service_account": self.service_account})

    def _judge_flavors(self, args: WorkspaceArgs) -> None:
        """Once the platform's flavors are known, which is in the preview for those of another stack."""

        def judge(flavors: Sequence[str]) -> None:
            with self.sentences():
                if problems := list(unknown_flavors(args, flavors)):
                    raise InvalidInput(problems)

        flavors: Any = args.get("flavors")
        if isinstance(flavors, pulumi.Output):
            flavors.apply(judge)
        elif flavors is not None:
            judge(flavors)

    def _guard(self, namespace: str) -> None:
        """Jobs go before the queue and the namespace that they are in, or nothing goes."""
        made: Any = self.resources[f"Namespace/{namespace}"]
        landmark = made.metadata.apply(lambda known: {"name": known.name, "uid": known.uid})
        children = [each for each in self._childResources if each is not made]
        DestroyGuard(
            f"{self._name}:guard",
            KINDS,
            namespace=namespace,
            namespaces=[namespace],
            landmark=landmark,
            cluster=self._guarded_cluster,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[made, *children]),
        )
