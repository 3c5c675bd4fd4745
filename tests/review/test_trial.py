"""A rule is tried on its examples in every form."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from trainer_infra.json_values import JSONObject
from trainer_infra.review import rule_tests
from trainer_infra.review.rule_tests import Example, FailedExample
from trainer_infra.rules import rule as rules
from trainer_infra.rules.finding import Change, Finding, Severity
from trainer_infra.rules.fixture import Bad, Case
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.value import Value

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "tj"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 1}},
}
CASE = Case(name="nodes", good=(JOB,), bad=Bad(path=("spec", "trainer", "numNodes"), value=2))


def one_node(place: Value, _context: Context[Parameters]) -> Iterable[Finding]:
    nodes = place.at("spec", "trainer", "numNodes")
    if nodes.number() != 1:
        yield nodes.finding("is not 1", nodes.number(), "", nodes.set_to(1))


RULE = Rule(
    id="one-node",
    title="There is one node",
    severity=Severity.LOW,
    kinds=frozenset(("TrainJob",)),
    tags=("test",),
    why="",
    fix="",
    places=rules.whole,
    check=one_node,
)


def told(rule: "Rule[Value, Parameters]", case: Case = CASE) -> list[str]:
    return [
        each.what
        for each in rule_tests.failed_examples([Example(ConfiguredRule.default(rule), case)])
    ]


def test_a_rule_that_does_what_its_example_says_has_no_failure() -> None:
    assert told(RULE) == []


def test_a_patch_that_does_not_mend_is_a_failure() -> None:
    def half(place: Value, context: Context[Parameters]) -> Iterable[Finding]:
        for each in one_node(place, context):
            yield replace(each, patch=(Change(("spec", "trainer", "numNodes"), 3),))

    assert told(replace(RULE, check=half)) == [
        "its patch must mend the bad object, and leaves spec.trainer.numNodes (is not 1)"
    ]


def test_a_good_object_that_does_not_render_is_a_failure() -> None:
    wanted = {"model": {"storageUri": "hf://acme/small"}}
    spec = {
        "runtimeRef": {"name": "torch-distributed"},
        "initializer": wanted,
        "trainer": {"numNodes": 1},
    }
    (what,) = told(RULE, Case(name="nodes", good=({**JOB, "spec": spec},), bad=CASE.bad))
    assert what.startswith(
        "the good object does not render: TrainJob tj: spec.runtimeRef: must have model-initializer"
    )


@pytest.mark.parametrize("is_good", [True, False])
def test_every_form_is_asked(*, is_good: bool) -> None:
    def other(
        chosen: ConfiguredRule, objects: Sequence[JSONObject], pools: Sequence[Pool]
    ) -> Sequence[Finding]:
        return rule_tests.plain_findings(chosen, objects, pools) if is_good else ()

    forms = {**rule_tests.FORMS, "other": other}
    wrong = FailedExample(
        "one-node",
        "nodes",
        "other",
        "must find spec.trainer.numNodes in the bad object and nothing else, found nothing",
    )
    found = [*rule_tests.failed_examples([Example(ConfiguredRule.default(RULE), CASE)], forms)]
    assert found == ([] if is_good else [wrong])
    assert wrong.sentence() == f"one-node: nodes (other): {wrong.what}"
