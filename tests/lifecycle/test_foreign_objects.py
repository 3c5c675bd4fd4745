"""Objects of a TrainJob's names that belong to another owner are left alone."""

from dataclasses import replace
from typing import Any

import pytest

from tests.lifecycle.worlds import NOW, RUNTIME, condition, job, jobset
from trainer_infra.lifecycle.plan import RETRY, SUCCESSION, Plan, plan
from trainer_infra.lifecycle.waiting import PREDECESSOR as PREDECESSOR_LEFT
from trainer_infra.render import child_metadata, snapshot
from trainer_infra.render.behaviour import REFERENCE
from trainer_infra.render.observed_objects import ObservedObjects

ENDED = condition("Completed", "True", "AllJobsCompleted")
PREDECESSOR = job(metadata={"uid": "before"})
SUCCESSOR = job(metadata={"uid": "now"})

AFTER = Plan(waiting=PREDECESSOR_LEFT, requeue_after=SUCCESSION)


def test_owner_the_end_of_an_earlier_trainjob_is_not_the_end_of_its_successor() -> None:
    seen = ObservedObjects(jobset(PREDECESSOR, ENDED))

    assert plan(SUCCESSOR, RUNTIME, seen, NOW) == AFTER
    ended = plan(SUCCESSOR, RUNTIME, seen, NOW, behaviour=REFERENCE).status or {}
    assert [each["type"] for each in ended["conditions"]] == ["Complete"]


def test_a_trainjob_waits_until_the_snapshot_of_its_predecessor_is_gone() -> None:
    left = child_metadata.with_owner(snapshot.config_map(PREDECESSOR, RUNTIME), PREDECESSOR)

    assert plan(SUCCESSOR, RUNTIME, ObservedObjects(None, left), NOW) == AFTER
    assert plan(SUCCESSOR, RUNTIME, ObservedObjects(None), NOW).apply


@pytest.mark.parametrize(
    ("owners", "by"),
    [
        ([], "was not made by a TrainJob"),
        ([{"kind": "Sweep", "name": "s", "uid": "1", "controller": True}], "belongs to Sweep s"),
    ],
)
def test_a_jobset_of_another_owner_is_named_and_neither_changed_nor_read(
    owners: list[dict[str, Any]], by: str
) -> None:
    theirs = jobset(SUCCESSOR, ENDED)
    theirs["metadata"] = {**theirs["metadata"], "ownerReferences": owners}
    found = plan(SUCCESSOR, RUNTIME, ObservedObjects(theirs), NOW)

    assert (found.create, found.apply, found.status, found.requeue_after) == ((), (), None, RETRY)
    (event,) = found.events
    assert f"JobSet tj exists and {by}; delete it, or give the TrainJob another name" in (
        event.message
    )
    again = replace(
        ObservedObjects(theirs), events_written=frozenset({(event.reason, event.message)})
    )
    assert plan(SUCCESSOR, RUNTIME, again, NOW).events == ()
