"""One process may serve several stacks: what is of one is not of the other."""

from tests.deploy.message_log import Heard
from trainer_infra.deploy.operations.answers import CheckAnswer
from trainer_infra.deploy.operations.batch_properties import BatchProperties
from trainer_infra.deploy.operations.properties import ResourceProperties
from trainer_infra.deploy.operations.remediation_through_replace import (
    remember_remediation,
    with_remediation,
)
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs.member_runs import Attempt, run_all
from trainer_infra.deploy.operations.train_jobs.members import Kept

OWNER = {"project": "project", "stack": "test", "urn": "urn:job"}


def test_a_remark_is_made_once_in_each_stack() -> None:
    one, other = StackSession(Heard), StackSession(Heard)
    assert one.new_remarks(["port 80 is in use", ""]) == ("port 80 is in use",)
    assert one.new_remarks(["port 80 is in use"]) == ()
    assert other.new_remarks(["port 80 is in use"]) == ("port 80 is in use",)


def test_what_a_policy_changed_is_kept_in_its_stack_alone() -> None:
    one, other = StackSession(Heard), StackSession(Heard)
    answer = CheckAnswer({"owner": OWNER, "spec": {"suspend": False}})
    remedied = {"owner": OWNER, "spec": {"suspend": True}}
    assert with_remediation(answer, one) == answer
    remember_remediation(remedied, one)
    assert with_remediation(answer, one).inputs == remedied
    assert with_remediation(answer, other) == answer


def test_an_interrupted_stack_begins_nothing_and_the_other_goes_on() -> None:
    one, other = StackSession(Heard), StackSession(Heard)
    one.cancelled.set()
    done = Kept({"done": True}, None)
    attempts = {"a": Attempt(lambda: done, lambda why: Kept({"error": why}, None))}
    batch = BatchProperties({"target": "local", "owner": OWNER})
    assert run_all(attempts, batch, "done", other) == {"a": done}
    interrupted = Kept({"error": "was interrupted before it was tried"}, None)
    assert run_all(attempts, batch, "done", one) == {"a": interrupted}


def test_a_cluster_is_connected_to_once_in_a_stack() -> None:
    one, other = StackSession(Heard), StackSession(Heard)
    inputs = ResourceProperties({"target": "kubernetes"})
    assert one.target(inputs) is one.target(inputs)
    assert one.target(inputs) is not other.target(inputs)
