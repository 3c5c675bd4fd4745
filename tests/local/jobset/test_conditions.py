from dataclasses import replace

from tests.local.jobset.worlds import at
from trainer_infra.local.jobset import status
from trainer_infra.local.jobset.status import JobSetCondition

OLD = JobSetCondition("Suspended", True, "SuspendedJobs", "jobset is suspended", at(0))


def test_a_condition_that_would_be_new_and_false_is_not_added() -> None:
    assert status.put_condition((), replace(OLD, status=False)) == ()


def test_its_time_moves_with_its_status() -> None:
    new = replace(OLD, status=False, reason="ResumeJobs", since=at(9))
    assert status.put_condition((OLD,), new) == (new,)


def test_its_time_stays_when_only_its_reason_changes() -> None:
    new = replace(OLD, reason="Other", message="other", since=at(9))
    assert status.put_condition((OLD,), new) == (replace(new, since=at(0)),)


def test_one_of_the_two_startup_conditions_turns_the_other_false() -> None:
    progress = JobSetCondition("StartupPolicyInProgress", True, "A", "a", at(1))
    done = JobSetCondition("StartupPolicyCompleted", True, "B", "b", at(2))
    assert status.put_condition((OLD, progress), done) == (
        OLD,
        replace(progress, status=False),
        done,
    )
