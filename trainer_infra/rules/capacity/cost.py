"""What a TrainJob or JobSet costs at most: GPU-hours, and money by a table of prices.

Each pod counts from the start to the end of the time that it may take, for all that it asks for:

    GPU-hours = sum over kinds of pods of  pods x GPUs of each x hours
    price     = sum over kinds of pods of  pods x hours x sum of (amount x price per hour)

The hours end with `activeDeadlineSeconds` of the TrainJob, which restarts do not begin anew
(lifecycle/deadline.py), or with that of the Job x (1 + maxRestarts), which each restart begins
anew, or with that of the pod x (1 + backoffLimit) x (1 + maxRestarts), or with the longest time that a label
gives Kueue, whichever is first. Failures that count not towards maxRestarts leave a Job without an end.

The rules `gpu-hours` and `price` judge the two; `review` shows with `cost_of` how they change. For
rules lists and mappings that are not known are noted, and cost nothing.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Final

from pydantic import Field

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.api.finding import path_text
from trainer_infra.api.shape import workloads
from trainer_infra.catalog import accelerators
from trainer_infra.rules import pods
from trainer_infra.rules.capacity import job_end
from trainer_infra.rules.placement import amounts, machines, nodes, patches
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UnseenValue
from trainer_infra.rules.world import World

Prices = Mapping[str, Decimal]
"""Price of one hour of one accelerator by its name, or of one unit by the name of a resource.

The unit of `memory` is a GiB, that of `cpu` a core. Resources without a price cost nothing, but
accelerators must have one.
"""
ENDLESS: Final = "nothing ends it: it has no activeDeadlineSeconds"
_DEADLINE: Final = "activeDeadlineSeconds"
_DEADLINES: Final = {
    **dict.fromkeys((names.TRAIN_JOB, "RayJob"), ("spec", _DEADLINE)),
    **dict.fromkeys(workloads.V1_JOBS, ("spec", "runPolicy", _DEADLINE)),
}
"""By kind, the deadline of all pods together."""
ENDING: Final = frozenset({names.JOBSET, "Job", "CronJob", *_DEADLINES})
"""Kinds that end, and can have a deadline."""
KINDS: Final = (names.TRAIN_JOB, names.JOBSET)
"""Kinds that cost something."""
_NO_PODS: Final = "it asks for no pods that are known"
_HOUR: Final = 3600
_UNITS: Final = {"memory": 2**30}


@dataclass(frozen=True, slots=True)
class Cost:
    """What something costs at most."""

    gpu_hours: Decimal | None = None
    """GPUs times hours; None where it is not known."""
    price: Decimal | None = None
    """In the currency of the prices; None where it is not known."""
    why: str = ""
    """Why one of them is not known, a clause; empty where both are."""


def cost_of(subject: Subject, world: World, prices: Prices) -> Cost:
    """What a TrainJob or JobSet costs at most, by the accelerators that the world's pools have."""
    if subject.kind not in KINDS or not pods.pods_of(subject):
        return Cost(why=_NO_PODS)
    subject.noted.clear()
    try:
        found = Cost(gpu_hours(subject), *price(subject, world, prices))
        missed = next(chain(subject.unseen, subject.left_out, subject.noted), None)
    except UnseenValue as error:
        found, missed = Cost(), error.path
    return found if missed is None else Cost(why=f"{path_text(missed)} is not known yet")


def gpu_hours(subject: Subject) -> Decimal | None:
    """GPUs times hours of what it asks for at most; None where nothing ends it."""
    patches.be_known(subject)
    total = Decimal(0)
    for pod in pods.pods_of(subject):
        asked, hours = _asked(subject, pod), hours_of(subject, pod)
        devices = amounts.accelerators(asked)
        if devices and hours is None:
            return None
        total += Decimal(devices) / amounts.ONE * (hours or 0)
    return total


def price(subject: Subject, world: World, prices: Prices) -> tuple[Decimal | None, str]:
    """What it costs at most, in the currency of the prices; None, and why, where that is not known."""
    parts = [_price_of_pods(subject, each, world, prices) for each in pods.pods_of(subject)]
    reasons = dict.fromkeys(reason for _, why in parts for reason in why)
    if reasons or not parts:
        return None, " and ".join(reasons) or _NO_PODS
    return sum((part for part, _ in parts), Decimal(0)), ""


def price_table(written: Mapping[str, float]) -> Prices:
    """The prices that a configuration has, by what the catalog calls the accelerators."""
    return {
        accelerators.accelerator_called(name): Decimal(repr(each))
        for name, each in written.items()
        if math.isfinite(each)
    }


def budget_limit(written: float | None) -> Decimal | None:
    """A budget that a configuration has; None where it sets no limit."""
    return None if written is None or not math.isfinite(written) else Decimal(repr(written))


def _price_of_pods(
    subject: Subject, pod: Pod, world: World, prices: Prices
) -> tuple[Decimal, Sequence[str]]:
    """What all pods of one kind cost, and why that is not known."""
    asked, hours = _asked(subject, pod), hours_of(subject, pod)
    rate, why = Decimal(0), []
    devices = amounts.accelerators(asked)
    called = machines.accelerators(pod, subject, world) if devices else ()
    for name, amount in asked.items():
        price = _price(name, called, prices)
        if price is not None:
            rate += price * amount / (amounts.ONE * _UNITS.get(name, 1))
        elif amounts.is_accelerator(name):
            why.append(f"there is no price for {' or '.join(called) or name}")
    if hours is None and (devices or rate):
        why.append(ENDLESS)
    return rate * (hours or 0), why


def _asked(subject: Subject, pod: Pod) -> amounts.Amounts:
    """What all pods of one kind ask for."""
    return amounts.sum_of_pods([(nodes.count(pod), amounts.amounts_of(pod, subject))])


def hours_of(subject: Subject, pod: Pod) -> Decimal | None:
    """How long a pod may run, restarts and all; None without an end."""
    whole = _DEADLINES.get(subject.kind)
    own = None if whole is None else subject.object.at(*whole).number()
    label = subject.object.at("metadata", "labels", names.KUEUE_LONGEST_TIME).text()
    of_kueue = int(label) if label.isdecimal() and len(label) < len(str(nodes.MOST)) else None
    found = [own, of_kueue, _of_job(subject, pod)]
    known = [min(max(each, 0), nodes.MOST) for each in found if each is not None]
    return Decimal(min(known)) / _HOUR if known else None


def _of_job(subject: Subject, pod: Pod) -> int | None:
    """Seconds that the pod's Job may take in all."""
    own, retries = pod.spec[_DEADLINE].number(), pod.job_spec["backoffLimit"].number()
    seconds = pod.job_spec[_DEADLINE].number() if _is_of_job(subject, pod) else None
    if own is not None:
        in_all = own * (1 + (job_end.DEFAULT_BACKOFF if retries is None else retries))
        seconds = in_all if seconds is None else min(seconds, in_all)
    if seconds is None:
        return None
    most = 0
    for spec in pods.jobsets(subject):
        policy = spec["failurePolicy"]
        actions = [each["action"].text() for each in policy["rules"].items()]
        if failure_policy.RESTART_FREELY in actions:
            return None
        most = max(most, policy["maxRestarts"].number() or 0)
    return seconds * (1 + most)


def _is_of_job(subject: Subject, pod: Pod) -> bool:
    """Whether a Job of Kubernetes has the pod; what others have around it has no deadline."""
    if pod.job is not pod.job_spec:
        return True
    return subject.object["apiVersion"].text().startswith("batch/")


def deadline_place(subject: Subject) -> Value:
    """Where the deadline of a job with pods stands; of a JobSet that of the Job with most of them."""
    if subject.kind in _DEADLINES:
        return subject.object.at(*_DEADLINES[subject.kind])
    most = max(pods.pods_of(subject), key=nodes.count)
    return (most.job_spec if _is_of_job(subject, most) else most.spec)[_DEADLINE]


def _price(resource: str, called: Sequence[str], prices: Prices) -> Decimal | None:
    """The price of a unit of a resource: of an accelerator that of the dearest it may be."""
    if amounts.is_accelerator(resource):
        found = [prices.get(each) for each in called]
        known = [each for each in found if each is not None]
        if known and len(known) == len(found):
            return max(known)
    return prices.get(resource)


def _places(subject: Subject) -> Iterator[Value]:
    if pods.pods_of(subject):
        yield subject.object


class GpuHours(Parameters):
    """How much a TrainJob may take."""

    budget: float | None = None
    """The most GPU-hours of one TrainJob; None for any number."""


def _check_gpu_hours(_place: Value, context: Context[GpuHours]) -> Iterator[Finding]:
    budget = budget_limit(context.parameters.budget)
    if budget is None:
        return
    hours = gpu_hours(context.subject)
    deadline = deadline_place(context.subject)
    if hours is None:
        yield deadline.finding(
            "is not set, so that GPU-hours have no bound", None, job_end.ADD_DEADLINE
        )
    elif hours > budget:
        fix = "shorten it, or use fewer nodes or GPUs"
        what = f"makes up to {hours:.1f} GPU-hours, more than the budget of {budget:.1f}"
        yield deadline.finding(what, deadline.number(), fix)


GPU_HOURS: Final = Rule(
    id="gpu-hours",
    title="A job must not use more GPU-hours than allowed",
    severity=Severity.MEDIUM,
    kinds=frozenset(KINDS),
    tags=("capacity", "gpu", "cost"),
    why="A job that hangs, or that was made too large by mistake, uses up what others were promised.",
    fix="Shorten `spec.activeDeadlineSeconds`, or use fewer nodes or GPUs.",
    places=_places,
    check=_check_gpu_hours,
    parameters=GpuHours,
)


class Price(Parameters):
    """What is paid, and how much a TrainJob may cost."""

    prices: dict[str, float] = Field(default_factory=dict)
    """Price of one hour by accelerator (`nvidia-h100-80gb`, as pools or node labels name it) or by
    resource (`nvidia.com/gpu`, `cpu` per core, `memory` per GiB)."""
    budget: float | None = None
    """The most that one TrainJob may cost; None for any amount."""
    currency: str = "USD"
    """What prices and budget are in; it is only shown."""


def _check_price(_place: Value, context: Context[Price]) -> Iterator[Finding]:
    parameters = context.parameters
    budget = budget_limit(parameters.budget)
    if budget is None or not parameters.prices:
        return
    found, why = price(context.subject, context.world, price_table(parameters.prices))
    deadline = deadline_place(context.subject)
    if why == ENDLESS:
        yield deadline.finding(
            "is not set, so that the price has no bound", None, job_end.ADD_DEADLINE
        )
    elif found is not None and found > budget:
        fix = "shorten it, or use fewer or cheaper machines"
        total = f"{found:.2f} {parameters.currency}"
        what = f"makes a price of up to {total}, more than the budget of {budget:.2f}"
        yield deadline.finding(what, deadline.number(), fix)


PRICE: Final = Rule(
    id="price",
    title="A job must not cost more than allowed",
    severity=Severity.MEDIUM,
    kinds=frozenset(KINDS),
    tags=("capacity", "gpu", "cost"),
    why="A mistake in the number of nodes or in the deadline shows up on the bill.",
    fix="Shorten `spec.activeDeadlineSeconds`, or use fewer or cheaper machines.",
    places=_places,
    check=_check_price,
    looks_around=True,
    parameters=Price,
)
