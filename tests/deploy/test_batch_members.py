"""What is decided for a batch of TrainJobs before anything is created, without an engine."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.deploy.message_log import Heard
from trainer_infra.api.input import UNKNOWN
from trainer_infra.deploy.operations import rendering, targets
from trainer_infra.deploy.operations.batch_properties import MemberEntry
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import batch, members, shared_texts
from trainer_infra.deploy.operations.train_jobs.members import Kept, MemberChange
from trainer_infra.errors import Problem

ENV = {"name": "T", "valueFrom": {"secretKeyRef": {"name": "trainer-infra-own-secret", "key": "t"}}}


def job(*args: str, **changed: Any) -> dict[str, Any]:
    trainer = {"command": ["python", *args], "env": [ENV]}
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": trainer}
    return {"namespace": "default", "attempt": 1, "spec": spec, **changed}


def declared(jobs: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Inputs of a batch as the engine hands them over."""
    return {
        "resource": "sweep",
        "target": "local",
        "owner": {"project": "project", "stack": "test", "urn": "urn:sweep"},
        "jobs": jobs,
        "secretData": {name: {"t": f"value-of-{name}"} for name in jobs},
        **changed,
    }


def checked(given: dict[str, Any], olds: dict[str, Any] | None = None) -> dict[str, Any]:
    result = batch.check(olds or {}, given, StackSession(Heard))
    assert result.problems == ()
    return dict(result.inputs)


def problems(given: dict[str, Any]) -> list[str]:
    return [str(each) for each in batch.check({}, given, StackSession(Heard)).problems]


def running(given: dict[str, Any]) -> dict[str, Any]:
    """The state once every member runs."""
    kept = {
        name: Kept(
            one, members.entry_of({**one, "namespace": "default", "uid": name, "lastSeen": ""})
        )
        for name, one in members.members_of(given).items()
    }
    return members.batch_outputs(given, "here", kept)


JOBS = {name: job(name) for name in ("a", "b", "c")}
BORN = checked(declared(JOBS))
STATE = running(BORN)


def writing(**changed: Any) -> dict[str, Any]:
    trainer = {"args": ["--output_dir=output://model", UNKNOWN]}
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}
    return {**job(), "spec": spec, **changed}


def test_an_output_that_is_missing_is_told_beside_what_is_not_known() -> None:
    (problem,) = problems(declared({"a": writing()}))
    assert "outputs: has no 'model', where the trainer writes" in problem


@pytest.mark.parametrize(
    "given",
    [
        writing(outputs={"model": "/tmp/models"}),
        writing(outputs=UNKNOWN),
        {**job(), "spec": UNKNOWN},
        {**job(), "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": UNKNOWN}},
    ],
    ids=["outputs", "unknown outputs", "unknown spec", "unknown trainer"],
)
def test_an_output_that_may_be_there_is_not_missed(given: dict[str, Any]) -> None:
    assert problems(declared({"a": given})) == []


def test_a_member_is_exactly_the_train_job_that_it_would_be_alone() -> None:
    alone = {
        **job("a"),
        "resource": "sweep-a",
        "target": "local",
        "owner": {"project": "project", "stack": "test", "urn": "urn:sweep#a"},
        "secretData": {"t": "value-of-a"},
    }
    here = targets.open_target(targets.LOCAL)
    preview = rendering.preview_run(TrainJobProperties(alone), TrainJobProperties({}), here)
    assert members.members_of(BORN)["a"] == preview.inputs.json


def test_an_unchanged_batch_changes_nothing() -> None:
    again = checked(declared(JOBS), BORN)
    assert again == BORN
    result = batch.diff(STATE, again, StackSession(Heard))
    assert (result.changes, result.replaces) == (False, ())


def test_every_member_changes_by_itself() -> None:
    spec = {**JOBS["b"]["spec"], "suspend": True}
    new = declared({"d": job("d"), "a": job("other"), "b": {**JOBS["b"], "spec": spec}})
    news = checked(new, BORN)
    assert members.member_changes(STATE, news) == {
        "d": MemberChange.SUBMIT,
        "a": MemberChange.REPLACE,
        "b": MemberChange.UPDATE,
        "c": MemberChange.DELETE,
    }
    assert members.shown_differences(STATE, news) == {
        'jobs["a"]': "UPDATE",
        'jobs["b"]': "UPDATE",
        'jobs["c"]': "DELETE",
        'jobs["d"]': "ADD",
        'secretData["c"]': "DELETE",
        'secretData["d"]': "ADD",
    }


def test_a_changed_secret_is_an_update_of_that_member_and_shows_nothing_else() -> None:
    secrets = {**BORN["secretData"], "b": {"t": "another"}}
    news = checked(declared(JOBS, secretData=secrets), BORN)
    expected = {"a": MemberChange.NONE, "b": MemberChange.UPDATE, "c": MemberChange.NONE}
    assert members.member_changes(STATE, news) == expected
    assert members.shown_differences(STATE, news) == {'secretData["b"]': "UPDATE"}


def test_a_member_with_an_error_is_tried_again_and_no_other() -> None:
    kept = {
        name: Kept(one, MemberEntry(STATE["members"][name]))
        for name, one in members.members_of(STATE).items()
    }
    kept["b"] = Kept(
        kept["b"].job, MemberEntry({"name": "x", "namespace": "default", "error": "no"})
    )
    failed = members.batch_outputs(BORN, "here", kept)
    news = checked(declared(JOBS), BORN)
    expected = {"a": MemberChange.NONE, "b": MemberChange.SUBMIT, "c": MemberChange.NONE}
    assert members.member_changes(failed, news) == expected
    assert members.shown_differences(failed, news) == {}
    assert batch.diff(failed, news, StackSession(Heard)).changes is True


def test_a_run_that_could_not_be_deleted_is_tried_again_though_nothing_declares_it() -> None:
    left = {"name": "x", "namespace": "default", "error": "no", "replaced": [{"uid": "1"}]}
    kept = {
        name: Kept(one, MemberEntry(STATE["members"][name]))
        for name, one in members.members_of(STATE).items()
    }
    state = members.batch_outputs(BORN, "here", {**kept, "gone": Kept(None, MemberEntry(left))})
    assert (
        members.member_changes(state, checked(declared(JOBS), BORN))["gone"] is MemberChange.DELETE
    )


def test_another_target_is_another_batch() -> None:
    news = {**BORN, "target": "kubernetes", "engine": "provider"}
    assert batch.diff(STATE, news, StackSession(Heard)).replaces == ("target", "engine")


def test_a_runtime_that_is_edited_in_the_program_is_another_run_of_its_members() -> None:
    runtime = json.loads(BORN["jobs"]["a"]["runtime"])
    runtime["metadata"]["labels"] = {"edited": "yes"}

    def given(**more: Any) -> dict[str, Any]:
        return {"a": {**JOBS["a"], "runtime": runtime, **more}, "b": JOBS["b"], "c": JOBS["c"]}

    expected = {"a": MemberChange.REPLACE, "b": MemberChange.NONE, "c": MemberChange.NONE}
    assert members.member_changes(STATE, checked(declared(given()), BORN)) == expected
    of_resource = checked(declared(given(runtimeResource=True)), BORN)
    assert set(members.member_changes(STATE, of_resource).values()) == {MemberChange.NONE}
    assert of_resource["jobs"]["b"] == BORN["jobs"]["b"]


def test_a_member_of_a_given_name_runs_again_on_an_edited_runtime() -> None:
    jobs = {"a": job("a", name="mine", runtime=json.loads(BORN["jobs"]["a"]["runtime"]))}
    born = checked(declared(jobs))
    state = running(born)
    assert members.member_changes(state, checked(declared(jobs), born)) == {"a": MemberChange.NONE}
    jobs["a"]["runtime"]["metadata"]["labels"] = {"edited": "yes"}
    assert members.member_changes(state, checked(declared(jobs), born)) == {
        "a": MemberChange.REPLACE
    }


def test_problems_name_their_member() -> None:
    bad = {**job("x"), "spec": {"runtimeRef": {"name": "jax-distributd"}}}
    reasons = problems(declared({"a": job("a"), "b": bad, "c": job("c", attempt=0)}))
    assert [each.split(": ")[0] for each in reasons] == ["jobs.b", "jobs.c"]
    assert "did you mean jax-distributed" in reasons[0]


def test_two_members_of_one_name_are_refused() -> None:
    both = {name: job(name, name="same") for name in ("a", "b")}
    assert problems(declared(both)) == [
        "jobs.b: name: is the name of member 'a' too, got 'same'; leave it out"
    ]


def test_a_namespace_that_is_a_list_is_a_problem_of_each_member() -> None:
    (reason,) = problems(declared({"a": job("a", namespace=["team"])}))
    assert reason == "jobs.a: metadata.namespace: must be a string, got ['team']"


def test_a_secret_in_plain_text_is_refused_by_member_and_path() -> None:
    (problem,) = problems(declared({"a": job("value-of-a"), "b": job("b")}))
    assert problem.startswith("jobs.a: spec.trainer.command[1]: holds the value of secret")


def test_a_thousand_members_carry_their_common_code_once() -> None:
    code = {"files": {"main.py": "x = 1\n" * 3000}, "packages": [], "secretArgs": False}
    spec = {"runtimeRef": {"name": "jax-distributed"}, "trainer": {"numNodes": 2}}
    one = job(spec=spec, code=code)
    made = checked(declared({f"m{index}": one for index in range(50)}, secretData={}))
    assert len(made["texts"]["main.py"]) == 18000
    assert len(json.dumps(made)) / 50 < 4500


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.text(min_size=shared_texts.LONG)
    | st.sampled_from(["<text a>", "<text >", "y" * shared_texts.LONG]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values)
def test_texts_kept_apart_come_back_as_they_were(value: Any) -> None:
    referring, apart = shared_texts.share_texts(value)
    assert shared_texts.restore_texts(referring, apart) == value


def test_texts_of_one_field_are_told_apart() -> None:
    long = ["x" * shared_texts.LONG, "y" * shared_texts.LONG]
    referring, apart = shared_texts.share_texts([{"file.py": each} for each in long])
    assert len(apart) == 2
    assert all(re_name.startswith("file.py ") for re_name in apart)
    assert shared_texts.restore_texts(referring, apart) == [{"file.py": each} for each in long]


@pytest.mark.parametrize("count", [3, 12])
def test_a_list_of_members_is_cut(count: int) -> None:
    told = ((str(index), f"no {index}") for index in range(count))
    lines = members.member_lines(told).splitlines()
    assert lines[0] == "0: no 0"
    assert lines[-1] == ("2: no 2" if count == 3 else "and 2 more")


def test_a_sentence_that_members_share_is_said_once() -> None:
    runs = {name: MemberEntry({"name": f"sweep-{name}-0123abcd"}) for name in "abc"}
    told = [(name, f"TrainJob {runs[name].name} failed: x\nlast line {name}") for name in "ab"]
    told.append(("c", "is gone"))
    assert members.member_lines(told, runs).splitlines() == [
        "a, b: TrainJob sweep-a-0123abcd failed: x",
        "last line a",
        "c: is gone",
    ]
    problems = [(name, Problem("spec", "is missing", where=f"TrainJob s-{name}")) for name in "ab"]
    (one,) = members.member_problems(problems, "s")
    assert str(one) == "jobs.a, b: TrainJob s-a: spec: is missing"


def test_a_member_keeps_the_plugins_that_it_was_born_with() -> None:
    news = checked(declared(JOBS, plugins=["nobody.knows:This"]), BORN)
    assert set(members.member_changes(STATE, news).values()) == {MemberChange.NONE}
    assert [one.get("plugins") for one in members.members_of(news).values()] == [[], [], []]
