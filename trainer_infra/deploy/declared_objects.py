"""Which resource of a program declares an object of a cluster.

Of two that declare one, each would change and delete the other's, or fail half-way through an `up`. Nothing else
lists what a program has: the engine knows resources by their names, not by those of their objects.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import ref

import pulumi

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.words import listed


@dataclass(slots=True)
class DeclaredObjects:
    """Those of one cluster, by group and key: who declares each, and what a message calls it."""

    _declared: "dict[str, tuple[ref[pulumi.Resource], str]]" = field(default_factory=dict)

    def claim(self, keys: Iterable[str], claimant: pulumi.Resource, where: str) -> None:
        """Note who declares objects.

        Args:
            keys: of each the group, a colon, and `Kind/name` or `Kind/namespace/name`.
            claimant: who may declare them again.
            where: what a message calls it: `Workspace vision`.

        Raises:
            InvalidInput: another one declares some of them.
        """
        own = dict.fromkeys(keys, (ref(claimant), where))
        others = (
            key for key in own.keys() & self._declared if self._declared[key][0]() is not claimant
        )
        if twice := sorted(others):
            other = self._declared[twice[0]][1]
            whose = f"another {where}" if other == where else other
            own_names = listed((each.partition(":")[2] for each in twice), most=1)
            what = f"declares {own_names}, which {whose} declares too"
            raise InvalidInput([Problem("", what, fix="name one differently, or declare it once")])
        self._declared |= own
