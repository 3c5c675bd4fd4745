from tests.local.jobset.worlds import condition
from trainer_infra.local.jobset import status

WORDS = ("Suspended", "SuspendedJobs", "jobset is suspended")
OLD = condition(*WORDS, 0)


def test_a_condition_that_would_be_new_and_false_is_not_added() -> None:
    assert tuple(status.put_condition((), condition(*WORDS, 0, on=False))) == ()


def test_its_time_moves_with_its_status() -> None:
    new = condition("Suspended", "ResumeJobs", "jobset is suspended", 9, on=False)
    assert status.put_condition((OLD,), new) == (new,)


def test_its_time_stays_when_only_its_reason_changes() -> None:
    new = condition("Suspended", "Other", "other", 9)
    assert status.put_condition((OLD,), new) == (condition("Suspended", "Other", "other", 0),)


def test_one_of_the_two_startup_conditions_turns_the_other_false() -> None:
    progress = condition("StartupPolicyInProgress", "A", "a", 1)
    done = condition("StartupPolicyCompleted", "B", "b", 2)
    assert status.put_condition((OLD, progress), done) == (
        OLD,
        condition("StartupPolicyInProgress", "A", "a", 1, on=False),
        done,
    )
