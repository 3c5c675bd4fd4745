"""What every component of the platform is: a typed ComponentResource whose mistakes are sentences."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import pulumi

from trainer_infra.deploy.destroy_guard_resource import GuardedCluster
from trainer_infra.deploy.owner_check_resource import OwnerCheck
from trainer_infra.deploy.registration import refuse_unknown_arguments
from trainer_infra.errors import InvalidInput, NotAvailable

PACKAGE: Final = "trainer"
"""Of the types of components: `trainer:index:Kueue`."""


def declared_keys(*resources: pulumi.Resource) -> frozenset[str]:
    """`Kind/name`, or `Kind/namespace/name`, of every object that these and their children declare."""
    children = [each for parent in resources for each in parent._childResources]  # noqa: SLF001  the SDK's only door
    own = (key for each in resources for key in getattr(each, "resources", ()))
    return frozenset(own) | (declared_keys(*children) if children else frozenset())


class PlatformComponent(pulumi.ComponentResource):
    """A part of the platform; a program depends on all that it holds by depending on it."""

    _arguments: type

    def __init__(
        self, resource_name: str, args: Mapping[str, Any], opts: pulumi.ResourceOptions | None
    ) -> None:
        kind = type(self).__name__
        self._where: Final = f"{kind} {resource_name}"
        refuse_unknown_arguments(args, self._arguments, self._where)
        guard: bool | GuardedCluster = args.get("guard", True)
        self._is_guarded: Final = bool(guard)
        self._guarded_cluster: Final = guard if isinstance(guard, Mapping) else None
        super().__init__(f"{PACKAGE}:index:{kind}", resource_name, None, opts)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """End the program with the problems of this component, without a traceback."""
        try:
            yield
        except InvalidInput as error:
            problems = (replace(each, where=self._place(each.where)) for each in error.problems)
            raise pulumi.RunError("\n".join(map(str, problems))) from None
        except NotAvailable as error:
            raise pulumi.RunError(f"{self._where}: {error}") from None

    def _place(self, inside: str) -> str:
        return f"{self._where}: {inside}" if inside else self._where

    def _owner_check(self, namespaces: Iterable[str]) -> Sequence[pulumi.Resource]:
        """What comes before everything that the component installs; nothing where nothing guards it."""
        if not self._is_guarded:
            return ()
        opts = pulumi.ResourceOptions(parent=self)
        name = f"{self._name}:owner"
        return (OwnerCheck(name, namespaces, cluster=self._guarded_cluster, opts=opts),)
