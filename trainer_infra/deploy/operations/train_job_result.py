"""What the engine asks about the gate of a TrainJob: check, diff, create, read.

The wait itself is `gate`'s.
"""

from trainer_infra.deploy.operations import changes, gate
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.place import place_of
from trainer_infra.deploy.operations.properties import GateProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_job import is_found
from trainer_infra.errors import Problem, Unreadable
from trainer_infra.json_values import JSONObject


def check(_olds: JSONObject, given: JSONObject, _session: StackSession) -> CheckAnswer:
    """Only the event to wait for can be wrong."""
    until = GateProperties(given).until
    if until in gate.EVENTS:
        return CheckAnswer(given)
    events = " or ".join(map(repr, gate.EVENTS))
    problem = Problem("wait_for", f"must be {events}", got=until)
    return CheckAnswer(given, (problem,))


def diff(olds: JSONObject, news: JSONObject, _session: StackSession) -> Difference:
    """Another run is another wait."""
    return changes.gate_difference(olds, news)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Wait; a run that fails fails the deployment."""
    wait = GateProperties(given)
    outputs = gate.wait_for_run(wait, session)
    return CreateAnswer(f"{wait.namespace}/{wait.name}", {**given, **outputs})


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The result as it is now; that of a run of another place, or unreadable, stays as it was."""
    known = GateProperties(state)
    what = f"TrainJob {known.name}"
    place = place_of(known, what, lambda target: is_found(target, known.key), session)
    if place.elsewhere:
        return Present(state)
    try:
        run = place.target.get(*known.key.address)
    except Unreadable:
        # The TrainJob's own refresh says it.
        return Present(state)
    if run is None or known.is_of_another(run):
        return None
    return Present({**state, **gate.outputs_of(run)})
