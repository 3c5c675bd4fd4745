"""How a run ended, as a program reads it. `operations.gate` makes it, the resources hand it over."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn, NotRequired, TypedDict, TypeVar, get_args

import pulumi
from typing_extensions import override

from trainer_infra.deploy.resource_type import python_name
from trainer_infra.json_values import as_integer
from trainer_infra.runs import sentences
from trainer_infra.words import nearest

Value = TypeVar("Value")
MetricValue = float | str | None
"""A number, a text that says no number, or None for a number that JSON does not have: `nan`, `inf`."""


class RunResult(TypedDict):
    """What a gate knows of a run."""

    status: str
    """Its phase at the end of the wait."""
    metrics: dict[str, MetricValue]
    """The last metrics that node 0 (of MPI the launcher) reported, by name; where it reported nothing, those of the
    first node that did."""
    nodes: dict[str, dict[str, MetricValue]]
    """The same of each node that reported, by the pod's name without the run's: `node-0-1`."""
    outputs: dict[str, str]
    """Where each of its outputs is kept, by name."""
    started_at: str
    """RFC 3339 time at which the first pod started."""
    finished_at: str
    """RFC 3339 time at which the run ended; empty while it runs."""
    duration_seconds: NotRequired[float]
    """Seconds between the two; not there while it runs."""


class BestResult(RunResult):
    """The result of the member of a batch that is best by a metric."""

    member: str
    """Its name."""
    value: float
    """Its value of the metric."""


class Member(TypedDict, total=False):
    """A run of a batch; without `uid` it has none, and `error` says why."""

    name: str
    """Name of the run."""
    namespace: str
    """Namespace of the run."""
    uid: str
    """Identity of the run over all time."""
    last_seen: str
    """Its phase at create and at every refresh since."""
    host: str
    """The machine or the cluster it runs on."""
    owner: dict[str, str]
    """Who declares it, where that is not the batch."""
    error: str
    """Why it has no run."""


Mode = Literal["max", "min"]
"""Whether the largest or the smallest value is the best."""


def best_result(
    results: Mapping[str, RunResult], metric: str, mode: Mode, batch: str
) -> BestResult:
    """The best of the members that ended well and reported the metric as a number, of equal ones the first.

    Raises:
        RunError: There is none, or the mode is unknown.
    """
    if mode not in get_args(Mode):
        raise pulumi.RunError(f"{batch}: mode must be 'max' or 'min', got {mode!r}")
    values = ((name, each["metrics"].get(metric)) for name, each in results.items())
    numbers = {
        name: value
        for name, value in values
        if isinstance(value, int | float) and math.isfinite(value)
    }
    if not numbers:
        raise pulumi.RunError(f"{batch}: no member is best by {metric!r}: {_none(results, metric)}")
    name = (max if mode == "max" else min)(numbers, key=lambda each: numbers[each])
    return {**results[name], "member": name, "value": numbers[name]}


def _none(results: Mapping[str, RunResult], metric: str) -> str:
    """Why no member has a number."""
    if not results:
        return "none ended well; failures says why"
    values = {each["metrics"][metric] for each in results.values() if metric in each["metrics"]}
    if values:
        told = {"nan or inf" if each is None else str(each) for each in values}
        return f"those that ended well reported {' and '.join(sorted(told))}"
    known = sorted({name for each in results.values() for name in each["metrics"]})
    return f"those that ended well reported {', '.join(known) or 'no metric'}"


if TYPE_CHECKING:
    Results = dict[str, RunResult]
    Members = dict[str, Member]
else:
    # The SDK compares what the engine sends with a property's type, and knows no TypedDict.
    Results = dict[str, Any]
    Members = dict[str, Any]


class UnknownName(pulumi.RunError, AttributeError):
    """A name that a run's outputs or metrics cannot have; an AttributeError for what asks by `hasattr`."""


class LaterValue(pulumi.Output[Value]):
    """One such value, by its name in the program: while the run goes on, Python cannot compare or calculate with it."""

    def __init__(self, value: pulumi.Output[Any], name: str) -> None:
        vars(self).update(vars(value))
        self._name = name

    def _refuse(self, *_other: object) -> NoReturn:
        raise pulumi.RunError(
            f"{self._name} is known when the run has ended, and Python cannot compare or calculate with it "
            "before: do it in .apply(lambda value: ...), or give it to a job that does (docs/gates.md)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __int__ = __round__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse


class NamedValues(pulumi.Output[dict[str, Value]]):
    """An Output of values by name: a name that is known to be wrong ends the program at once.

    Pulumi's own would say so by a KeyError, once the run has ended. The program calls it `what` (`outputs`,
    `metrics`) of the resource `where`; there will be values of the names `known`, None where only the run knows.
    """

    def __init__(
        self, values: pulumi.Output[Any], what: str, where: str, known: Iterable[str] | None = None
    ) -> None:
        # The same Output: another one would wait for it, also where the program ends before.
        vars(self).update(vars(values))
        self._what, self._where = what, where
        self._known = None if known is None else tuple(sorted(known))

    @override
    def __getattr__(self, item: str) -> pulumi.Output[Any]:
        """Methods of a mapping, as of every Output; a name of a value is not an attribute (`UnknownName`)."""
        if item.startswith("_") or hasattr(dict, item):
            return super().__getattr__(item)
        raise UnknownName(
            f"{self._where}: {self._what} are by name, got {self._what}.{item}; "
            f'write {self._what}["{item}"]'
        )

    @override
    def __getitem__(self, key: Any) -> pulumi.Output[Any]:
        """The value of a name; `UnknownName` where the program did not name it."""
        if self._known is not None and key not in self._known:
            close = nearest(str(key), self._known)
            meant = f"did you mean {close[0]!r}? " if close else ""
            listed = f"it has {', '.join(self._known)}" if self._known else "it has none"
            raise UnknownName(
                f"{self._where}: has no output {key!r}; {meant}{listed}: outputs= of the TrainJob names them"
            )
        name = f'{self._where}: {self._what}["{key}"]'
        return LaterValue(super().__getitem__(key), name)


def with_python_names(members: Mapping[str, Mapping[str, Any]] | None) -> Any:
    """By member, the fields of an output by their names in Python: `Results` or `Members`.

    The mocks of a unit test leave out what they are not asked for.
    """
    return {
        member: {python_name(key): value for key, value in each.items()}
        for member, each in (members or {}).items()
    }


def comparable(reported: Mapping[str, MetricValue] | None) -> dict[str, MetricValue]:
    """Metrics as a program compares them: None in place of `nan` and `inf`, which a state has as text."""
    return {
        name: None if isinstance(each, str) and sentences.is_no_number(each) else each
        for name, each in (reported or {}).items()
    }


def comparable_results(results: Mapping[str, Mapping[str, Any]] | None) -> Any:
    """The results of a batch by member, with metrics as a program compares them."""
    named = with_python_names(results)
    for each in named.values():
        each["metrics"] = comparable(each.get("metrics"))
        each["nodes"] = {pod: comparable(one) for pod, one in (each.get("nodes") or {}).items()}
    return named


class Metrics(dict[str, MetricValue]):
    """The metrics of a run by name; to ask for one that it did not report is an error that says so.

    A whole one is an int, so that it can be a count of the next job. One that is not a number, though it was to
    be one (`nan`, `inf`), is None.
    """

    def __init__(self, reported: Mapping[str, MetricValue], job: str) -> None:
        super().__init__({name: as_integer(each) for name, each in comparable(reported).items()})
        self._job = job

    def __missing__(self, name: str) -> MetricValue:
        known = f"it reported {', '.join(sorted(self))}" if self else "it reported none"
        raise pulumi.RunError(
            f"{self._job} did not report the metric {name!r}; {known}: see trainer_infra.report"
        )


def output_names(given: Any) -> tuple[str, ...] | None:
    """The names in `outputs=` of a TrainJob; None where Pulumi does not know them yet."""
    if given is None:
        return ()
    listed = list(given) if isinstance(given, Mapping | list | tuple) else [None]
    names = tuple(each for each in listed if isinstance(each, str))
    return names if len(names) == len(listed) else None
