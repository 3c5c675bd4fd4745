"""Which members of a changed batch start anew, and what goes with their runs: said at preview.

To Pulumi a batch that changes is an update, whatever becomes of its members.
"""

from collections.abc import Mapping

from trainer_infra.deploy.operations.batch_properties import BatchProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import gate
from trainer_infra.deploy.operations.train_jobs.members import MemberChange, members_of, names_shown
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import COMPLETE


def tell_anew(
    state: JSONObject,
    news: JSONObject,
    changes: Mapping[str, MemberChange],
    session: StackSession,
) -> None:
    """Say how many members start anew, and which of their runs are complete, which is a warning.

    A member with a value that is not known yet may turn out to be as it was.
    """
    declared = members_of(news)
    replaced = [
        name
        for name, change in changes.items()
        if change is MemberChange.REPLACE and not is_unknown(declared[name])
    ]
    if not replaced:
        return
    ended = _complete(state, session)
    messages = session.messages(BatchProperties(news).urn)
    complete = [name for name in replaced if name in ended]
    said = f"{len(replaced)} of {len(changes)} members start anew, and their runs are deleted"
    if not complete:
        messages.info(said)
        return
    messages.warn(f"{said}; {len(complete)} of these are complete: {names_shown(complete)}")


def _complete(state: JSONObject, session: StackSession) -> frozenset[str]:
    """Members whose runs are complete."""
    known = BatchProperties(state)
    runs = gate.seen_runs(known, known.runs, session)
    return frozenset(
        name
        for name, each in known.runs.items()
        if each.has_run and each.uid in runs and runs[each.uid].phase == COMPLETE
    )
