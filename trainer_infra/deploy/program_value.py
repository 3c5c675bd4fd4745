"""What the components of one program know of one another, and which of them declares an object of a cluster.

Of two that declare one, each would change and delete the other's, or fail half-way through an `up`. Nothing else
lists what a program has: the engine knows resources by their names, not by those of their objects.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

from trainer_infra.errors import InvalidInput, Problem

T = TypeVar("T")


@dataclass(slots=True)
class DeclaredObjects:
    """Those of one cluster, by group and key: who declares each, and what a message calls it."""

    _declared: "dict[str, tuple[ref[pulumi.Resource], str]]" = field(default_factory=dict)

    def claim(self, keys: Iterable[str], claimant: pulumi.Resource, where: str) -> None:
        """Note who declares objects: of each the group, a colon, and `Kind/name` or `Kind/namespace/name`.

        The claimant may declare them again; a message calls it `where`, for example `Workspace vision`.

        Raises:
            InvalidInput: another one declares some of them.
        """
        own = dict.fromkeys(keys, (ref(claimant), where))
        others = (
            key for key in own.keys() & self._declared if self._declared[key][0]() is not claimant
        )
        if twice := sorted(others):
            other = self._declared[twice[0]][1]
            more = f" and {len(twice) - 1} more" if twice[1:] else ""
            whose = f"another {where}" if other == where else other
            what = f"declares {twice[0].partition(':')[2]}{more}, which {whose} declares too"
            raise InvalidInput([Problem("", what, fix="name one differently, or declare it once")])
        self._declared |= own


def is_unit_test() -> bool:
    """Whether a program runs under Pulumi's mocks: no cluster is its own, whatever KUBECONFIG says."""
    return isinstance(get_monitor(), MockMonitor)


def require_program(where: str) -> None:
    """Refuse to declare a resource of which nothing would ever be made; `where` is `TrainJob digits`.

    Raises:
        RunError: No Pulumi program runs: Python started the file, or a cell of a notebook holds the line.
    """
    if get_monitor() is None:
        raise pulumi.RunError(
            f"{where}: nothing is created, for no Pulumi program runs here; run `pulumi up` in the folder of the "
            "program, and in a notebook or script write it in the function that automation gets as program= "
            "(docs/notebooks.md)"
        )


class ProgramValue(Generic[T]):
    """A value that each run of a program has one of, or each of its clusters, made when it is first asked for.

    Kept by the cluster's provider, or by the stack where the program chose none; both live as long as one
    run of the program.
    """

    def __init__(self, new: Callable[[], T]) -> None:
        self._new = new
        self._values: WeakKeyDictionary[pulumi.Resource, T] = WeakKeyDictionary()

    def of(self, cluster: pulumi.Resource | None = None) -> T:
        """That of a cluster, by its provider; of the stack's own where that is None.

        Under Pulumi's mocks one process runs many programs, one test each, on one stack: what belongs to
        no provider is new each time.
        """
        place = cluster or (None if is_unit_test() else pulumi.runtime.get_root_resource())
        if place is None:
            return self._new()
        if place not in self._values:
            self._values[place] = self._new()
        return self._values[place]
