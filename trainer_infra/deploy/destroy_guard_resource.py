"""What a component declares beside its objects: so that `destroy` does not take them from their users, nor an `up`.

Everything is decided by `operations.destroy_guard` and `operations.owner_check`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

import pulumi

from trainer_infra.deploy import registration
from trainer_infra.deploy.operations.destroy_guard import ALLOW
from trainer_infra.deploy.provider import DestroyGuardProvider, OwnerCheckProvider
from trainer_infra.deploy.resource_type import TrainerResource


class GuardedCluster(TypedDict, total=False):
    """The cluster that a guard looks at; the stack's own unless it is given."""

    kubeconfig: str
    """Path of a kubeconfig; never its text, which has credentials."""
    context: str
    """Name of a context of it."""


class DestroyGuard(TrainerResource):
    """Refuses to be deleted while there are objects of the kinds that it guards."""

    def __init__(  # noqa: PLR0913  arguments of a resource
        self,
        resource_name: str,
        kinds: Iterable[tuple[str, str]],
        *,
        namespace: str = "",
        namespaces: Iterable[str] = (),
        ignored: Iterable[str] = (),
        landmark: pulumi.Input[Mapping[str, Any]] | None = None,
        cluster: GuardedCluster | None = None,
        opts: pulumi.ResourceOptions,
    ) -> None:
        """Guard kinds.

        Args:
            resource_name: Name of the resource.
            kinds: apiVersion and kind of each.
            namespace: Only objects of it; of the whole cluster where it is empty.
            namespaces: Those in which it leaves word of its component for `OwnerCheck`.
            ignored: Objects that are none of its users': `Kind/name`, or `Kind/namespace/name`.
            landmark: `name` and `uid` of a Namespace of the cluster, which tells it from others.
            cluster: The cluster; the stack's own unless it is given.
            opts: Options that depend on everything that is guarded.
        """
        pairs = [{"apiVersion": version, "kind": kind} for version, kind in kinds]
        known = {each["kind"] for each in pairs}
        inputs = {
            "kinds": pairs,
            "namespace": namespace,
            "namespaces": sorted(namespaces),
            "ignored": sorted(each for each in ignored if each.partition("/")[0] in known),
            "landmark": landmark,
            ALLOW: pulumi.Config("trainer").get_bool(ALLOW),
            "urn": registration.resource_urn(type(self), resource_name, opts),
            **(cluster or {}),
        }
        super().__init__(DestroyGuardProvider(), resource_name, inputs, opts)


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
        """Ask for the namespaces that a component makes, in the stack's own cluster unless another is given.

        The resource's name is that of the component, a colon, and a word; its parent is the component.
        """
        inputs = {
            "namespaces": sorted(namespaces),
            "urn": registration.resource_urn(type(self), resource_name, opts),
            **(cluster or {}),
        }
        super().__init__(OwnerCheckProvider(), resource_name, inputs, opts)
