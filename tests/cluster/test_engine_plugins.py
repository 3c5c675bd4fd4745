"""What the engine adds to rendered objects, before anything is asked of a cluster."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cluster.submissions import OWNER, Job
from trainer_infra.cluster import run_labels
from trainer_infra.runs.run import Owner


def jobset(job: Job) -> Any:
    return job.submission().objects[-1]


def template(value: Any, index: int = 0) -> Any:
    return value["spec"]["replicatedJobs"][index]["template"]["spec"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", ""),
        ("dev", "dev"),
        ("a.b-c_D9", "a.b-c_D9"),
        ("x" * 63, "x" * 63),
        ("x" * 64, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-7ce10097"),
        ("acme/team/dev", "acme-team-dev-5e702672"),
        ("-dev-", "dev-ed5d441c"),
        ("日本", "cf2abf0c"),
    ],
)
def test_a_label_is_the_text_or_a_part_of_it_with_a_hash(text: str, value: str) -> None:
    assert run_labels.label_value(text) == value


@given(st.text(), st.text())
def test_labels_are_valid_and_tell_texts_apart(one: str, other: str) -> None:
    values = [run_labels.label_value(each) for each in (one, other)]
    for each in values:
        assert re.fullmatch("([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", each)
    assert (values[0] == values[1]) is (one == other)


def test_every_object_has_the_labels_of_its_run_and_the_record_one_more() -> None:
    found = Job("team", code=None).submission().objects
    ours = {
        "trainer-infra.dev/project": "digits",
        "trainer-infra.dev/stack": "dev",
        "trainer-infra.dev/urn": run_labels.labels_of(OWNER, "tj")["trainer-infra.dev/urn"],
        "trainer-infra.dev/run": "tj",
    }
    assert [each["metadata"]["labels"] for each in found] == [
        {**ours, "trainer-infra.dev/record": "true"},
        ours,
    ]
    assert re.fullmatch("[0-9a-f]{32}", ours["trainer-infra.dev/urn"])


def test_a_run_of_the_command_line_has_empty_labels() -> None:
    assert run_labels.labels_of(Owner(), "tj") == {
        "trainer-infra.dev/project": "",
        "trainer-infra.dev/stack": "",
        "trainer-infra.dev/urn": "",
        "trainer-infra.dev/run": "tj",
    }


@pytest.mark.parametrize(("own", "limit"), [(None, 60), (90, 60), (30, 30)])
def test_the_deadline_goes_on_every_job_unless_that_has_a_shorter_one(
    own: int | None, limit: int
) -> None:
    own_limit = {"activeDeadlineSeconds": own} if own else {}
    found = jobset(Job("team", spec={"activeDeadlineSeconds": 60}, job_spec=own_limit))
    assert [
        each["template"]["spec"]["activeDeadlineSeconds"]
        for each in found["spec"]["replicatedJobs"]
    ] == [limit]


@pytest.mark.parametrize(
    ("own", "rules"),
    [
        (None, ["trainJobDeadline", "free"]),
        # What follows after the runtime's own, shorter deadline of an attempt is the runtime's affair.
        (30, ["free"]),
    ],
)
def test_after_its_deadline_no_failure_policy_restarts_it(
    own: int | None, rules: list[str]
) -> None:
    free = {"name": "free", "action": "RestartJobSetAndIgnoreMaxRestarts"}
    policy = {"maxRestarts": 3, "rules": [free]}
    own_limit = {"activeDeadlineSeconds": own} if own else {}
    spec, of_jobset = {"activeDeadlineSeconds": 60}, {"failurePolicy": policy}
    job = Job("team", spec=spec, job_spec=own_limit, jobset_spec=of_jobset)
    found = jobset(job)["spec"]["failurePolicy"]
    assert [each["name"] for each in found["rules"]] == rules
    assert found["maxRestarts"] == 3


def test_without_a_deadline_a_job_has_the_one_of_the_runtime() -> None:
    assert "activeDeadlineSeconds" not in template(jobset(Job("team")))


def test_training_learns_where_to_leave_its_report_and_the_rest_of_env_stays_in_order() -> None:
    container = template(jobset(Job("team")))["template"]["spec"]["containers"][0]
    names = [each["name"] for each in container["env"]]
    assert names[:2] == ["PET_NNODES", "PET_NPROC_PER_NODE"]
    assert container["env"][-1] == {
        "name": "TRAINER_INFRA_REPORT",
        "value": "/dev/termination-log",
    }


def test_where_the_user_says_it_the_report_goes_there() -> None:
    env = [{"name": "TRAINER_INFRA_REPORT", "value": "/tmp/mine"}, {"name": "B", "value": "2"}]
    found = template(jobset(Job("team", spec={"trainer": {"env": env}})))
    given_env = found["template"]["spec"]["containers"][0]["env"]
    assert [each for each in given_env if each["name"] == "TRAINER_INFRA_REPORT"] == [env[0]]


def test_only_what_trains_reports() -> None:
    found = jobset(Job("team", runtime="deepspeed-distributed"))
    envs = {
        each["name"]: [
            entry["name"]
            for container in each["template"]["spec"]["template"]["spec"]["containers"]
            for entry in container.get("env") or ()
        ]
        for each in found["spec"]["replicatedJobs"]
    }
    assert {name: "TRAINER_INFRA_REPORT" in env for name, env in envs.items()} == {
        "launcher": True,
        "node": False,
    }


def test_kueues_labels_of_the_trainjob_go_on_the_jobset() -> None:
    queue = {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/priority-class": "high"}
    metadata = {"labels": {**queue, "team": "vision"}}
    found = jobset(Job("team", metadata=metadata))["metadata"]["labels"]
    assert {key: value for key, value in found.items() if "kueue" in key or key == "team"} == queue


def test_another_owner_changes_labels_only() -> None:
    one = Job("team").submission().objects
    other = Job("team", owner=replace(OWNER, stack="prod")).submission().objects

    def unlabelled(found: tuple[Any, ...]) -> list[Any]:
        return [{**each, "metadata": {**each["metadata"], "labels": {}}} for each in found]

    assert one != other
    assert unlabelled(one) == unlabelled(other)
