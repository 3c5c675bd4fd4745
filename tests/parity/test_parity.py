"""Ours decides exactly what the reference decides: generated cases, the reference's own code.

`FIRST` and `CASES` are the seeds; `EXTRA` are seeds beyond them that once found a difference.
`docs/compatibility.md` lists what we do otherwise when we are not asked to be like the reference.
"""

import copy
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.parity import comparison, generator, reference
from tests.parity.reference import Case

pytestmark = pytest.mark.verify

FIRST = 0
CASES = 1400
EXTRA: tuple[int, ...] = ()
BATCH = 200
SEEDS = (*range(FIRST, FIRST + CASES), *EXTRA)
BATCHES = [SEEDS[start : start + BATCH] for start in range(0, len(SEEDS), BATCH)]


@cache
def valid(seeds: tuple[int, ...]) -> dict[int, Case]:
    cases = {seed: generator.case(seed) for seed in seeds}
    return {seed: case for seed, case in cases.items() if comparison.is_valid(case)}


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"seeds-{seeds[0]}-to-{seeds[-1]}")
def test_every_case_is_decided_as_the_reference_decides_it(seeds: tuple[int, ...]) -> None:
    cases = valid(seeds)
    found = comparison.disagreements(list(cases.values()))
    texts = [f"=== seed {list(cases)[index]} ===\n{text}" for index, text in found.items()]
    assert not texts, "\n".join(texts[:3])


def test_the_cases_are_a_thousand_and_of_every_kind() -> None:
    every = [case for seeds in BATCHES for case in valid(seeds).values()]
    cases = [case for case in every if not comparison.crashes_the_reference(case)]
    kinds = Counter(kind for case in cases for kind in kinds_of(case))
    shipped = Counter(case.runtime["metadata"]["name"] for case in cases)
    assert len(cases) >= 1000
    assert 0 < len(every) - len(cases) < 50
    assert {kind: count for kind, count in kinds.items() if count < 30} == {}
    assert len([name for name, count in shipped.items() if count >= 20]) >= 12


def kinds_of(case: Case) -> set[str]:
    spec, runtime = case.train_job["spec"], case.runtime["spec"]
    policies = {*(runtime.get("mlPolicy") or {"no policy": {}})} - {"numNodes"}
    gangs = {*(runtime.get("podGroupPolicy") or {})}
    update = {"update"} if case.old_train_job else {"create"}
    gate = {"gate"} if case.feature_gate else set()
    fields = {key for key in spec if key not in {"managedBy", "runtimeRef", "suspend"}}
    return policies | gangs | update | gate | fields | {case.runtime["kind"]}


def test_the_comparison_sees_a_changed_field_and_a_missing_object() -> None:
    case = next(case for case in valid(SEEDS[:BATCH]).values() if comparison.ours(case).objects)
    mine, ((theirs, *_),) = comparison.ours(case), reference.run([case])
    changed: list[Any] = copy.deepcopy(list(mine.objects))
    changed[-1]["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] += 1
    found = comparison.difference(case, replace(mine, objects=tuple(changed)), theirs)
    missing = comparison.difference(case, replace(mine, objects=mine.objects[:-1]), theirs)
    assert comparison.difference(case, mine, theirs) == ""
    assert "JobSet/tj.spec.replicatedJobs[0].template.spec.parallelism: the reference has " in found
    assert "only the reference makes jobset.x-k8s.io/v1alpha2/JobSet/tj" in missing


def test_the_comparison_sees_another_message_and_a_refusal_on_one_side_only() -> None:
    case = next(case for case in valid(SEEDS[:BATCH]).values() if comparison.ours(case).problems)
    mine, ((theirs, *_),) = comparison.ours(case), reference.run([case])
    worded = tuple(replace(each, what=f"{each.what}.") for each in mine.problems)
    other = comparison.difference(case, replace(mine, problems=worded), theirs)
    alone = comparison.difference(case, mine, replace(theirs, errors=[], runtime_errors=[]))
    none = comparison.difference(case, replace(mine, problems=()), theirs)
    assert comparison.difference(case, mine, theirs) == ""
    assert "only the reference refuses" in other
    assert "only ours refuses" in other
    assert "only ours refuses" in alone
    assert "only the reference refuses" in none


def test_lists_must_agree_in_order() -> None:
    theirs = [{"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "list": ["a", "b"]}]
    mine = [{**theirs[0], "list": ["b", "a"]}]
    assert [*comparison.compared(theirs, mine)] == [
        "v1/X/x.list[0]: the reference has 'a', ours 'b'",
        "v1/X/x.list[1]: the reference has 'b', ours 'a'",
    ]


def test_a_quantity_is_compared_by_amount() -> None:
    theirs = [{"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "limits": {"cpu": "1"}}]
    same = [{**theirs[0], "limits": {"cpu": "1000m"}}]
    other = [{**theirs[0], "limits": {"cpu": "1001m"}}]
    assert [*comparison.compared(theirs, same)] == []
    assert [*comparison.compared(theirs, other)] != []
