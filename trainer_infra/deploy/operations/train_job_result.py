"""What the engine asks about the gate of a TrainJob: check, diff, create, read.

Called by `provider.TrainJobResultProvider` with properties as JSON. The wait itself is `gate`'s.
"""

from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult

from trainer_infra.deploy import boundary
from trainer_infra.deploy.boundary import Messages
from trainer_infra.deploy.operations import changes, gate, place, train_job
from trainer_infra.errors import Problem, Unreadable

Properties = dict[str, Any]


def check(given: Properties) -> CheckResult:
    """Only the event to wait for can be wrong."""
    if given.get("until") in gate.EVENTS:
        return CheckResult(given, [])
    events = " or ".join(map(repr, gate.EVENTS))
    problem = Problem("wait_for", f"must be {events}", got=given.get("until"))
    return CheckResult(given, boundary.failures((problem,)))


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Another run is another wait."""
    return changes.of_result(olds, news)


def create(given: Properties) -> CreateResult:
    """Wait; a run that fails fails the deployment."""
    outputs = gate.wait(given, Messages(given["urn"]))
    return CreateResult(f"{given['namespace']}/{given['jobName']}", {**given, **outputs})


def read(id_: str, state: Properties) -> ReadResult:
    """The result as it is now; that of a run of another place, or unreadable, stays as it was."""
    key = (state["namespace"], state["jobName"], state["uid"])
    what = f"TrainJob {state['jobName']}"
    its = place.of(state, what, lambda target: train_job.is_found(target, *key))
    if its.elsewhere:
        return ReadResult(id_, state)
    try:
        run = its.target.get(*key)
    except Unreadable:
        # The TrainJob's own refresh says it.
        return ReadResult(id_, state)
    if run is None or gate.is_taken(state, run):
        return ReadResult("", {})
    return ReadResult(id_, state | gate.outputs(run))
