"""What the engine asks about the gate of a TrainJob: check, diff, create, read.

The wait itself is `gate`'s.
"""

from typing import Final

from typing_extensions import override

from trainer_infra.deploy.operations import changes, gate
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.batch_properties import GateProperties
from trainer_infra.deploy.operations.place import place_of_runs
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.errors import Problem, RunFailed, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.run import COMPLETE
from trainer_infra.runs.target import Target

EVENTS: Final = ("running", "complete")
"""What a gate can wait for."""


def check(_olds: JSONObject, given: JSONObject, _session: StackSession) -> CheckAnswer:
    """Only the event to wait for can be wrong."""
    until = GateProperties(given).until
    if until in EVENTS:
        return CheckAnswer(given)
    events = " or ".join(map(repr, EVENTS))
    return CheckAnswer(given, (Problem("wait_for", f"must be {events}", got=until),))


def diff(olds: JSONObject, news: JSONObject, _session: StackSession) -> Difference:
    """Another run is another wait."""
    return changes.gate_difference(olds, news)


class _OneRunWatch(gate.RunWatch):
    """The wait for one run."""

    def __init__(self, waits: GateProperties, target: Target) -> None:
        super().__init__(waits, target)
        self._newest = gate.NewestLine(target)

    @override
    def progress(self) -> str:
        for run in self.left.values():
            return gate.status_line(run, self._newest.of(run))
        for run in self.ended.values():
            is_complete = run.phase == COMPLETE
            return sentences.complete_line(run) if is_complete else gate.status_line(run)
        return ""


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Wait; a run that fails fails the deployment.

    Raises:
        RunFailed: The run failed, with pod, reason, exit code and last lines; or it is stuck, or gone.
    """
    waits = GateProperties(given)
    watch, messages = _OneRunWatch(waits, session.target(waits)), session.messages(waits.urn)
    watch.wait(session)
    if watch.troubles:
        raise RunFailed("\n".join(filter(None, (*watch.troubles.values(), watch.retry_advice))))
    (run,) = watch.ended.values()
    if said := sentences.no_numbers(run):
        messages.warn(f"TrainJob {run.name} reported {said}: {gate.NO_NUMBER}")
    return CreateAnswer(f"{waits.namespace}/{waits.name}", {**given, **gate.outputs_of(run)})


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The result as it is now; that of a run of another place, or unreadable, stays as it was."""
    known = GateProperties(state)
    (key,) = (each.key for each in known.runs.values())
    place = place_of_runs(known, f"TrainJob {known.name}", (key,), session)
    if place.elsewhere:
        return Present(state)
    try:
        run = place.target.get(*key.address)
    except Unreadable:
        # The TrainJob's own refresh says it.
        return Present(state)
    if run is None or known.is_of_another("", run):
        return None
    return Present({**state, **gate.outputs_of(run)})
