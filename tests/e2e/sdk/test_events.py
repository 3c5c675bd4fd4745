"""What the SDK shows of events: those of the TrainJob and its pods that have a `firstTimestamp`."""

from typing import Any

from tests.e2e.jobs import eventually
from tests.e2e.sdk.defects import Expectation
from tests.e2e.sdk.user import User

JSON = dict[str, Any]
SNAPSHOT: JSON = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "hindered-runtime-snapshot"},
    "data": {"runtime": "{}"},
}


def events(user: User, name: str, kind: str) -> list[JSON]:
    listed: list[JSON] = user.run("return client.get_job_events(name)", name=name)
    return [each for each in listed if each["involved_object_kind"] == kind]


def test_events_of_the_pods_are_there_in_order(user: User) -> None:
    assert user.ended("container") == "Complete"
    reasons = [each["reason"] for each in events(user, "container", "Pod")]
    expected = ["Pulled", "Created", "Started"]
    assert [each for each in reasons if each in expected] == expected


def test_an_event_of_the_trainjob_says_why_it_failed(user: User, expectation: Expectation) -> None:
    assert user.ended("failing") == "Failed"
    with expectation.met():
        found = eventually(lambda: events(user, "failing", "TrainJob"), expectation.patience)
        assert any("code 3" in each["message"] for each in found)


def test_an_event_says_why_no_node_is_found(user: User, expectation: Expectation) -> None:
    def found() -> list[JSON]:
        both = (events(user, "unschedulable", kind) for kind in ("Pod", "TrainJob"))
        return [each for listed in both for each in listed if "Insufficient cpu" in each["message"]]

    eventually(lambda: "Insufficient cpu" in user.namespace.kubectl("get", "events"))
    with expectation.met():
        assert eventually(found, expectation.patience)


def test_an_event_of_the_trainjob_says_why_it_has_no_jobset(
    user: User, expectation: Expectation
) -> None:
    reason = "TrainJobResourcesCreationFailed"
    user.apply(SNAPSHOT)
    user.run("return client.train('plain', options=[Name('hindered')])")
    eventually(lambda: reason in user.namespace.kubectl("get", "events"))
    with expectation.met():
        found = eventually(lambda: events(user, "hindered", "TrainJob"), expectation.patience)
        assert reason in {each["reason"] for each in found}
