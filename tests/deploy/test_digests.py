"""What is large stands in a state once, and a preview compares it as before."""

from typing import Any

from tests.deploy.project import Stack
from trainer_infra.deploy.operations import changes
from trainer_infra.deploy.operations.changes import train_job_difference

CODE = {"files": {"source/a.py": "print(1)"}, "packages": [], "secretArgs": False}
OTHER = {**CODE, "files": {"source/a.py": "print(2)"}}
INPUTS: dict[str, Any] = {
    "name": "tj",
    "namespace": "default",
    "attempt": 1,
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "suspend": True},
    "code": CODE,
    "runtime": {"kind": "ClusterTrainingRuntime"},
    "rendered": {"JobSet": {"spec": {"suspend": True}}},
}
SEEN = {"uid": "1", "host": "here", "lastSeen": "Suspended"}
STATE = changes.with_digests({**INPUTS, **SEEN})
OLDER = {**INPUTS, **SEEN}
"""A state of a release that kept all inputs among the outputs."""
RESUMED = {
    **INPUTS,
    "spec": {**INPUTS["spec"], "suspend": False},
    "rendered": {"JobSet": {"spec": {"suspend": False}}},
}
ONE = """
TrainJob("job", runtime="jax-distributed", suspend=True,
         trainer=CustomTrainer(train, func_args={"text": "%s"}))
"""


def test_the_outputs_have_digests_in_place_of_what_is_large() -> None:
    assert not set(changes.LARGE) & STATE.keys()
    assert STATE["digests"].keys() == set(changes.LARGE)
    assert changes.with_digests({"name": "tj", "code": CODE})["digests"].keys() == {"code"}


def test_the_same_inputs_are_no_change_for_a_state_of_this_and_of_an_older_release() -> None:
    for state in (STATE, OLDER):
        assert train_job_difference(state, INPUTS).changes is False
        assert train_job_difference(state, INPUTS).paths is None


def test_other_code_is_another_run_for_a_state_of_this_and_of_an_older_release() -> None:
    for state in (STATE, OLDER):
        for news in (
            {**INPUTS, "code": OTHER},
            {key: INPUTS[key] for key in INPUTS if key != "code"},
        ):
            found = train_job_difference(state, news)
            assert found.replaces == ("code",)
    found = train_job_difference(STATE, {**INPUTS, "code": OTHER})
    assert found.paths == {"code": "UPDATE_REPLACE"}


def test_code_where_there_was_none_is_another_run() -> None:
    without = {key: each for key, each in OLDER.items() if key != "code"}
    for state in (without, changes.with_digests(without)):
        assert train_job_difference(state, INPUTS).replaces == ("code",)
        assert train_job_difference(state, INPUTS).paths == {"code": "ADD_REPLACE"}


def test_what_is_shown_of_a_change_are_the_inputs_that_differ_and_the_drift() -> None:
    for state in (STATE, OLDER):
        resumed = train_job_difference(state, RESUMED)
        assert resumed.paths == {"spec": "UPDATE", "rendered": "UPDATE"}
        drifted = train_job_difference({**state, "drift": {"spec": "kubectl"}}, INPUTS)
        assert drifted.paths == {"drift": "DELETE"}
        labelled = train_job_difference({**state, "labels": {"a": "b"}}, INPUTS)
        assert labelled.paths == {"labels": "DELETE"}


def test_what_is_not_rendered_as_yet_is_not_shown_as_deleted() -> None:
    known = ("name", "namespace", "attempt", "spec")
    unknown = {**{key: INPUTS[key] for key in known}, "labels": {"a": "b"}}
    assert train_job_difference(STATE, unknown).paths == {"labels": "ADD"}


def test_a_state_has_code_and_rendering_once_and_a_preview_shows_what_changes_in_them(
    stack: Stack,
) -> None:
    stack.program(ONE % "first")
    stack.up()
    (job,) = stack.resources("trainer:TrainJob")
    assert set(changes.LARGE) <= job["inputs"].keys()
    assert not set(changes.LARGE) & job["outputs"].keys()
    assert stack.export().count("Starts the user's code inside a training pod.") == 2
    stack.unchanged()
    stack.run("refresh", "--yes", "--expect-no-changes")

    stack.program(ONE % "second")
    shown = stack.preview()

    assert shown.count('~ text: "first" => "second"') == 2, "in code and in the rendered ConfigMap"
    assert "+ rendered" not in shown
    assert "+ code" not in shown
    stack.run("destroy", "--yes")
