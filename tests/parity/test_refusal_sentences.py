"""What a webhook says of a refused object is what the reference's says: type, field, value, words."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parity import comparison, generator, reference
from tests.parity.canonical import amount
from tests.parity.comparison import Ours
from tests.parity.reference import Case, Outcome
from trainer_infra.controller import admission_review
from trainer_infra.errors import Problem

pytestmark = pytest.mark.verify

SEEDS = range(1400)
TYPES = {
    "FieldValueInvalid": admission_review.INVALID,
    "FieldValueForbidden": admission_review.FORBIDDEN,
}
NOTHING: tuple[Any, ...] = ({}, [], None, "", False)
"""What Go's types add or leave out."""


def test_every_sentence_of_the_reference_is_said_with_its_type_and_its_value() -> None:
    """Advice is what ours adds to it; Go's quantities are in another form, and equal.

    Only what ours refuses is asked for: that it is what the reference refuses, test_parity.py shows.
    """
    cases = [case for case in map(generator.case, SEEDS) if comparison.is_valid(case)]
    cases = [case for case in cases if not comparison.crashes_the_reference(case)]
    refused = [(case, mine) for case in cases if (mine := comparison.ours(case)).problems]
    outcomes = reference.run([case for case, _ in refused])
    compared = [
        pair
        for (case, mine), (theirs, *_) in zip(refused, outcomes, strict=True)
        for pair in sentences(case, theirs, mine)
    ]
    assert len(compared) > 400
    assert {kind for kind, *_ in (theirs for theirs, _ in compared)} == {*TYPES.values()}
    assert [(theirs, ours) for theirs, ours in compared if theirs != ours] == []


def sentences(case: Case, theirs: Outcome, ours: Ours) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Each refusal of the reference with the one of ours that has its field and its words."""
    for judged, refused in ((case.runtime, theirs.runtime_errors), (case.train_job, theirs.errors)):
        for each in refused:
            place = (each["field"], each["detail"])
            mine = next(one for one in ours.problems if (one.path, one.what) == place)
            yield (
                (TYPES[each["type"]], *place, canonical(each.get("badValue"))),
                (kind(mine), *place, canonical(shown(mine, judged))),
            )


def kind(problem: Problem) -> str:
    return admission_review.FORBIDDEN if problem.forbidden else admission_review.INVALID


def shown(problem: Problem, judged: Any) -> Any:
    return "" if problem.forbidden else admission_review.bad_value(problem, judged)


def canonical(value: Any) -> str:
    return json.dumps(plain(value), sort_keys=True)


def plain(value: Any) -> Any:
    """Without what is empty and the times of patches, which the other webhook sets; with exact amounts."""
    if isinstance(value, dict):
        kept = {key: plain(each) for key, each in value.items() if key not in {"time", "divisor"}}
        return {key: each for key, each in kept.items() if each not in NOTHING}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value if isinstance(value, bool) or value is None else amount(value)
