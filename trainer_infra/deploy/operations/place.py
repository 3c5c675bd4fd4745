"""The place where the run or the object of a state is, seen from the target that is configured now.

Called before whatever reads, changes or deletes what a state has. A UID is given once: where the
state's own is found, that is its place, whatever is known of the cluster. Where it is not, the
identity of the place decides between "gone" and "elsewhere"; one that says neither decides nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.session import StackSession, urn_of
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.runs.target import Target

INSTEAD: Final = (
    "run `pulumi up` or `pulumi destroy` there, or forget it with `pulumi state delete`"
)


@dataclass(frozen=True, slots=True)
class ResourcePlace:
    """What is known of the place of a resource."""

    target: Target
    """The one that is configured now."""
    host: str
    """What the state keeps as its host: as it was, unless the place itself changed its identity."""
    elsewhere: str = ""
    """Why the target is not, or may not be, its place; empty where it is."""

    def required(self) -> Target:
        """The target.

        Raises:
            NotAvailable: It is not the resource's place.
        """
        if self.elsewhere:
            raise NotAvailable(f"{self.elsewhere}; {INSTEAD}")
        return self.target


def place_of(
    state: JSONObject, what: str, finds: Callable[[Target], bool], session: StackSession
) -> ResourcePlace:
    """The place of a resource in the state; says what is worth knowing of it.

    Args:
        state: its outputs, with target, host, and owner or urn.
        what: the resource, as a sentence names it: `TrainJob digits`.
        finds: whether a target has the very run or object of the state.
        session: of its stack.
    """
    is_local, namespace = state["target"] == targets.LOCAL, str(state.get("namespace") or "")
    messages = session.messages(urn_of(state))
    reached = None if is_local else session.connection_now(state)
    for each in session.new_remarks((reached.remark,)) if reached else ():
        messages.warn(each)
    target = session.target(state, reached)
    here = target.is_here(state["host"], namespace)
    if here:
        return ResourcePlace(target, state["host"])
    now = target.host(namespace)
    if not is_local and _finds(finds, target):
        if here is None:
            return ResourcePlace(target, state["host"])
        messages.info(
            f"{what} is on {now}, which was known as {state['host']}; the new one is kept"
        )
        return ResourcePlace(target, now)
    return ResourcePlace(target, state["host"], _elsewhere(what, state["host"], now, here))


def place_of_batch(
    state: JSONObject, runs: Mapping[str, JSONObject], session: StackSession
) -> ResourcePlace:
    """The place of a batch in the state, which is that of any of its runs.

    Args:
        state: outputs of the batch or of its gate.
        runs: its members, each with namespace, and with uid where it has a run.
        session: of its stack.
    """
    uids = {each["uid"] for each in runs.values() if "uid" in each}
    spaces = sorted({str(each["namespace"]) for each in runs.values()})

    def finds(target: Target) -> bool:
        return any(run.uid in uids for space in spaces for run in target.list_runs(space).runs)

    what = f"TrainJobs {state['resource'] if 'resource' in state else state['batch']}"
    return place_of({**state, "namespace": spaces[0] if spaces else ""}, what, finds, session)


def _elsewhere(what: str, host: str, now: str, here: bool | None) -> str:
    if here is None:
        return (
            f"{what} is not on {now}, and whether that is {host}, where it was, cannot be told: "
            "this user may read nothing that both have"
        )
    return f"{what} runs on {host}, not on {now}"


def _finds(finds: Callable[[Target], bool], target: Target) -> bool:
    try:
        return finds(target)
    except (Answer, NotServed):
        # What may not be read here is not found here.
        return False
