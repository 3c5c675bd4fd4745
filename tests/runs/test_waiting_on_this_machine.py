"""A run of this machine waits for no controller: there is none that could be silent."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from trainer_infra.json_values import JSONObject
from trainer_infra.runs import view
from trainer_infra.runs.run import Owner, Run
from trainer_infra.runs.view import Observation

RUN: Final = Run("default", "tj", "1", "here", Owner(), "", "2026-11-01T00:00:00Z", "Created")
FIRST: Final = {"name": "first", "replicas": 1, "template": {"spec": {}}}
NODE: Final = {**FIRST, "name": "node", "dependsOn": [{"name": "first", "status": "Complete"}]}
LATER: Final = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=1)


def jobset(*steps: JSONObject) -> JSONObject:
    """Of the run, as it is before any controller did something with it."""
    metadata = {"name": "tj", "creationTimestamp": RUN.created}
    return {"metadata": metadata, "spec": {"replicatedJobs": list(steps)}}


@pytest.mark.parametrize(
    ("steps", "waits"), [((FIRST, NODE), "node waits for first"), ((FIRST,), "")]
)
def test_only_an_earlier_step_holds_a_run_of_this_machine_back(
    steps: tuple[JSONObject, ...], waits: str
) -> None:
    run = view.current_run(RUN, Observation(jobset(*steps), surroundings=None), LATER)
    assert (run.waiting_for, run.cause, run.stuck) == (waits, "", "")


@pytest.mark.parametrize("steps", [(FIRST,), (FIRST, NODE)])
def test_on_a_cluster_a_silent_controller_is_the_cause_whatever_waits_for_whom(
    steps: tuple[JSONObject, ...],
) -> None:
    run = view.current_run(RUN, Observation(jobset(*steps)), LATER)
    assert run.cause == "jobset-controller-silent"
    assert "has done nothing with its JobSet" in run.stuck
