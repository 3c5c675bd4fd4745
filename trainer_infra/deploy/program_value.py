"""What the components of one program know of one another."""

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor

T = TypeVar("T")


def is_unit_test() -> bool:
    """Whether a program runs under Pulumi's mocks: no cluster is its own, whatever KUBECONFIG says."""
    return isinstance(get_monitor(), MockMonitor)


def require_program(where: str) -> None:
    """Refuse to declare a resource of which nothing would ever be made.

    Args:
        where: the resource, as an error names it: `TrainJob digits`.

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
    """A value that each run of a program has one of, or each of its clusters.

    Kept by the cluster's provider, or by the stack where the program chose none; both live as long as one
    run of the program.
    """

    def __init__(self, new: Callable[[], T]) -> None:
        """Declare it.

        Args:
            new: makes the value when it is first asked for.
        """
        self._new = new
        self._values: WeakKeyDictionary[pulumi.Resource, T] = WeakKeyDictionary()

    def of(self, cluster: pulumi.Resource | None = None) -> T:
        """That of a cluster.

        Under Pulumi's mocks one process runs many programs, one test each, on one stack: what belongs to
        no provider is new each time.

        Args:
            cluster: its provider; None of the stack's own cluster.
        """
        place = cluster or (None if is_unit_test() else pulumi.runtime.get_root_resource())
        if place is None:
            return self._new()
        if place not in self._values:
            self._values[place] = self._new()
        return self._values[place]
