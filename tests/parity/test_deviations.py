"""Ours differs from the reference by named deviations and by nothing else, on generated cases.

Without deviations ours is the reference (test_parity.py, and below for what the cases here have
beyond the generated ones). Each deviation that changes what is rendered or refused is shown by some
case; the others are about the life of a TrainJob, and tests/lifecycle has a test for each.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.parity import comparison, generator
from tests.parity.comparison import Ours
from tests.parity.reference import Case
from trainer_infra.render.behaviour import OURS, REFERENCE
from trainer_infra.render.deviation import ALL, Deviation

pytestmark = pytest.mark.verify

SEEDS: Final = range(640)
EVERY: Final = 8
"""A twist is put on every eighth case: there the generator has nothing that shows a deviation."""
SHOWN: Final = {
    Deviation.Q1,
    Deviation.Q2,
    Deviation.Q4,
    Deviation.Q5,
    Deviation.Q6,
    Deviation.Q7,
    Deviation.Q8,
    Deviation.Q9,
    Deviation.Q10,
    Deviation.Q11,
    Deviation.Q12,
    Deviation.Q15,
    Deviation.Q17,
    Deviation.Q18,
    Deviation.Q21,
    Deviation.ENV_VAR,
    Deviation.TORCHTUNE,
    Deviation.SCHEDULER,
    Deviation.OPEN_MPI_5,
    Deviation.MPI_IMAGE,
    Deviation.MPI_ENV,
    Deviation.SSH_KEY,
    Deviation.STORAGE_URI,
    Deviation.NUM_NODES,
    Deviation.NUM_PROC,
    Deviation.ARGS,
    Deviation.LAUNCH,
    Deviation.RESOURCES,
    Deviation.TTL,
    Deviation.RUNTIME,
    Deviation.PATCHES,
}


def with_metadata(case: Case, **more: Any) -> Case:
    both = (case.train_job, case.old_train_job)
    new, old = (each and {**each, "metadata": {**each["metadata"], **more}} for each in both)
    assert new is not None
    return replace(case, train_job=new, old_train_job=old)


def with_a_long_name(case: Case) -> Case:
    short, long = case.train_job["metadata"]["name"], "a" * 60
    existing = [
        {**each, "metadata": {**each["metadata"], "name": long}}
        if each["metadata"]["name"] == short
        else each
        for each in case.existing
    ]
    return with_metadata(replace(case, existing=tuple(existing)), name=long)


def with_a_scheduler(case: Case) -> Case:
    return with_metadata(case, annotations={"trainer-infra.dev/scheduler": "kai"})


def with_a_ttl_that_is_no_number(case: Case) -> Case:
    key = "trainer-infra.dev/ttl-seconds-after-finished"
    return with_metadata(case, annotations={key: "soon"})


def with_a_new_deadline(case: Case) -> Case:
    new, old = copy.deepcopy((case.train_job, case.old_train_job or case.train_job))
    for patch in old["spec"].get("runtimePatches", ()):
        # A stored patch has a time; the reference crashes on one without.
        patch.setdefault("time", "2026-01-01T00:00:00Z")
    old["spec"].pop("activeDeadlineSeconds", None)
    new["spec"]["activeDeadlineSeconds"] = 600
    return replace(case, train_job=new, old_train_job=old)


def with_a_slice_of_a_gpu(case: Case) -> Case:
    new = copy.deepcopy(case.train_job)
    amounts = {"cpu": "8", "nvidia.com/mig-1g.10gb": "1"}
    both = {"limits": amounts, "requests": amounts}
    new["spec"]["trainer"] = {**(new["spec"].get("trainer") or {}), "resourcesPerNode": both}
    return replace(case, train_job=new)


def with_mpirun_and_a_variable(case: Case) -> Case:
    new = copy.deepcopy(case.train_job)
    own = {"command": ["mpirun", "python", "t.py"], "env": [{"name": "A", "value": "1"}]}
    new["spec"]["trainer"] = {**(new["spec"].get("trainer") or {}), **own}
    return replace(case, train_job=new)


TWISTS: Final[tuple[Callable[[Case], Case], ...]] = (
    with_a_long_name,
    with_a_scheduler,
    with_a_ttl_that_is_no_number,
    with_a_new_deadline,
    with_a_slice_of_a_gpu,
    with_mpirun_and_a_variable,
)


def cases(seeds: range) -> dict[int, Case]:
    made = {seed: case(seed) for seed in seeds}
    return {seed: each for seed, each in made.items() if comparison.is_valid(each)}


def case(seed: int) -> Case:
    number, rest = divmod(seed, EVERY)
    made = generator.case(seed)
    return made if rest else TWISTS[number % len(TWISTS)](made)


def explained(of: Case) -> tuple[frozenset[Deviation], Ours]:
    """The deviations that change the outcome, with what they make of the case.

    One may show only where another holds, as what is rendered where a refusal is gone: so those
    that change something are added until none does any more.
    """
    given = comparison.typed(of)
    found, outcome = REFERENCE.deviations, comparison.ours(of, REFERENCE.deviations, given)
    while more := {
        each for each in ALL - found if comparison.ours(of, found | {each}, given) != outcome
    }:
        found |= more
        outcome = comparison.ours(of, found, given)
    return found, outcome


@pytest.mark.parametrize(
    ("seeds", "valid", "different"),
    [(SEEDS[::2], 300, 100), pytest.param(SEEDS, 600, 200, marks=pytest.mark.soak)],
    ids=["half", "all"],
)
def test_what_differs_from_the_reference_is_named_and_nothing_else_does(
    seeds: range, valid: int, different: int
) -> None:
    """Half of the seeds has every twist."""
    every, seen, differing, unexplained = cases(seeds), set[Deviation](), 0, []
    for seed, each in every.items():
        whole = comparison.ours(each, OURS.deviations)
        if whole == comparison.ours(each, REFERENCE.deviations):
            continue
        differing += 1
        found, outcome = explained(each)
        seen |= found
        if not found or outcome != whole:
            unexplained.append((seed, found))
    assert unexplained == []
    assert seen == SHOWN
    assert len(every) >= valid
    assert differing >= different


def test_the_twisted_cases_too_are_decided_as_in_the_reference_without_deviations() -> None:
    twisted = cases(SEEDS[::EVERY])
    assert len(twisted) >= 70
    assert comparison.disagreements(list(twisted.values())) == {}
