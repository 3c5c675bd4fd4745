"""The place where the run or the object of a state is, seen from the target that is configured now.

Called before whatever reads, changes or deletes what a state has. A UID is given once: where the
state's own is found, that is its place, whatever is known of the cluster. Where it is not, the
identity of the place decides between "gone" and "elsewhere"; one that says neither decides nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import ResourceProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.errors import NotAvailable, Unreadable
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.runs.target import Target


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
            raise NotAvailable(
                f"{self.elsewhere}; run `pulumi up` or `pulumi destroy` there, or forget it with "
                "`pulumi state delete`"
            )
        return self.target


def place_of(
    state: ResourceProperties, finds: Callable[[Target], bool], session: StackSession
) -> ResourcePlace:
    """The place of a resource in the state; says what is worth knowing of it.

    `finds` says whether a target has the very run or object of the state.
    """
    is_local, messages = state.target == targets.LOCAL, session.messages(state.urn)
    reached = None if is_local else session.connection_now(state)
    for each in session.new_remarks((reached.remark,)) if reached else ():
        messages.warn(each)
    target = session.target(state, reached)
    here = target.is_here(state.host, state.namespace)
    if here:
        return ResourcePlace(target, state.host)
    what, now, is_there = state.shown, target.host(state.namespace), False
    if not is_local:
        # What may not be read here is not found here.
        with suppress(Answer, NotServed):
            is_there = finds(target)
    if is_there:
        if here is None:
            return ResourcePlace(target, state.host)
        messages.info(f"{what} is on {now}, which was known as {state.host}; the new one is kept")
        return ResourcePlace(target, now)
    elsewhere = f"{what} runs on {state.host}, not on {now}"
    if here is None:
        elsewhere = (
            f"{what} is not on {now}, and whether that is {state.host}, where it was, cannot be told: "
            "this user may read nothing that both have"
        )
    return ResourcePlace(target, state.host, elsewhere)


def place_of_runs(state: ResourceProperties, session: StackSession) -> ResourcePlace:
    """The same of a TrainJob, a batch or a gate: the place of any of its runs is that of all."""
    keys = state.keys

    def finds(target: Target) -> bool:
        if len(keys) == 1:
            try:
                return target.get(*keys[0].address) is not None
            except Unreadable:
                return True
        uids, spaces = {each.uid for each in keys}, sorted({each.namespace for each in keys})
        return any(run.uid in uids for space in spaces for run in target.list_runs(space).runs)

    return place_of(state, finds, session)
