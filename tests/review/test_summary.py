"""The sentence that says what came of a check."""

from dataclasses import replace

from tests.review.reports import CLEAN, EXPIRED, FULL, LIMITS, SECRET, item
from trainer_infra.review import summary
from trainer_infra.rules.finding import Severity


def test_the_verdict_says_what_failed() -> None:
    bad = replace(CLEAN, items=(item(LIMITS), item(SECRET), item()))
    unread = replace(CLEAN, problems=("a", "b"))
    said = {
        summary.verdict(each): each.exit_code()
        for each in (CLEAN, bad, replace(bad, fail_on=Severity.CRITICAL), unread, FULL)
    }
    assert said == {
        "The check passed": 0,
        "The check failed: 2 findings are high or worse": 1,
        "The check failed: 1 finding is critical": 1,
        "The check is not complete: 2 things could not be read": 3,
        (
            "The check is not complete: 1 thing could not be read, and 3 findings are high or worse"
        ): 3,
    }


def test_what_an_exemption_or_the_baseline_excuses_is_counted_apart() -> None:
    report = replace(CLEAN, items=(item(is_known=True), item(LIMITS, excuse=EXPIRED)))
    assert summary.tally(report) == (
        "0 critical, 1 high, 0 medium, 0 low; 1 with an expired exemption, 1 known by the baseline"
    )
