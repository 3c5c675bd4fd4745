"""Outputs of a resource that hold values by name: a name that is known to be wrong ends the program at once.

Pulumi's own would say so by a KeyError, once the run has ended.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

import pulumi
from typing_extensions import override

from trainer_infra.words import nearest

Value = TypeVar("Value")


class UnknownName(pulumi.RunError, AttributeError):
    """A name that a run's outputs or metrics cannot have; an AttributeError for what asks by `hasattr`."""


class LaterValue(pulumi.Output[Value]):
    """One such value, which Python can neither compare nor calculate with while the run goes on.

    Args:
        value: the Output.
        name: how the program calls it.
    """

    def __init__(self, value: pulumi.Output[Any], name: str) -> None:
        vars(self).update(vars(value))
        self._name = name

    def _refuse(self, *_other: object) -> NoReturn:
        raise pulumi.RunError(
            f"{self._name} is known when the run has ended, and Python cannot compare or calculate with it "
            "before: do it in .apply(lambda value: ...), or give it to a job that does (docs/gates.md)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __float__ = __int__ = __round__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = (
        _refuse
    )


class NamedValues(pulumi.Output[dict[str, Value]]):
    """An Output of values by name.

    Args:
        values: the Output.
        what: how the program calls it, `outputs` or `metrics`.
        where: the resource, for messages.
        known: the names that there will be; None where only the run knows.
    """

    def __init__(
        self,
        values: pulumi.Output[Any],
        what: str,
        where: str,
        known: Iterable[str] | None = None,
    ) -> None:
        # The same Output: another one would wait for it, also where the program ends before.
        vars(self).update(vars(values))
        self._what = what
        self._where = where
        self._known = None if known is None else tuple(sorted(known))

    @override
    def __getattr__(self, item: str) -> pulumi.Output[Any]:
        """Methods of a mapping, as of every Output; a name of a value is no attribute.

        Raises:
            UnknownName: It is none of them.
        """
        if item.startswith("_") or hasattr(dict, item):
            return super().__getattr__(item)
        raise UnknownName(
            f"{self._where}: {self._what} are by name, got {self._what}.{item}; "
            f'write {self._what}["{item}"]'
        )

    @override
    def __getitem__(self, key: Any) -> pulumi.Output[Any]:
        """The value of a name.

        Raises:
            UnknownName: The program did not name it.
        """
        if self._known is not None and key not in self._known:
            close = nearest(str(key), self._known)
            meant = f"did you mean {close[0]!r}? " if close else ""
            listed = f"it has {', '.join(self._known)}" if self._known else "it has none"
            raise UnknownName(
                f"{self._where}: has no output {key!r}; {meant}{listed}: outputs= of the TrainJob names them"
            )
        name = f'{self._where}: {self._what}["{key}"]'
        return LaterValue(super().__getitem__(key), name)


def output_names(given: Any) -> tuple[str, ...] | None:
    """The names in `outputs=` of a TrainJob; None where Pulumi does not know them yet."""
    if given is None:
        return ()
    listed = list(given) if isinstance(given, Mapping | list | tuple) else [None]
    names = tuple(each for each in listed if isinstance(each, str))
    return names if len(names) == len(listed) else None
