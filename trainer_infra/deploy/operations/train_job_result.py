"""What the engine asks about the gate of a TrainJob: check, diff, create, read.

Called by `deploy.provider` with properties as plain JSON. The wait itself is `gate`'s.
"""

from trainer_infra.deploy.operations import changes, gate
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.place import place_of
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_job import is_found
from trainer_infra.errors import Problem, Unreadable
from trainer_infra.json_values import JSONObject


def check(_olds: JSONObject, given: JSONObject, _session: StackSession) -> CheckAnswer:
    """Only the event to wait for can be wrong."""
    if given.get("until") in gate.EVENTS:
        return CheckAnswer(given)
    events = " or ".join(map(repr, gate.EVENTS))
    problem = Problem("wait_for", f"must be {events}", got=given.get("until"))
    return CheckAnswer(given, (problem,))


def diff(olds: JSONObject, news: JSONObject, _session: StackSession) -> Difference:
    """Another run is another wait."""
    return changes.gate_difference(olds, news)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Wait; a run that fails fails the deployment."""
    outputs = gate.wait_for_run(given, session)
    return CreateAnswer(f"{given['namespace']}/{given['jobName']}", {**given, **outputs})


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The result as it is now; that of a run of another place, or unreadable, stays as it was."""
    key = (state["namespace"], state["jobName"], state["uid"])
    what = f"TrainJob {state['jobName']}"
    place = place_of(state, what, lambda target: is_found(target, *key), session)
    if place.elsewhere:
        return Present(state)
    try:
        run = place.target.get(*key)
    except Unreadable:
        # The TrainJob's own refresh says it.
        return Present(state)
    if run is None or gate.is_taken(state, run):
        return None
    return Present({**state, **gate.outputs_of(run)})
