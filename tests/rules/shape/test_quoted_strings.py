"""A text that lost its quotes gets them back only where it is the same text then."""

from typing import Any

import pytest

from trainer_infra.rules import subject, world
from trainer_infra.rules.finding import Change, Finding
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.shape.schema import QUOTED_STRINGS as RULE

PATH = ("spec", "nodeLabels", "example.com/pool")
LOST = "put it in quotes, as it is to be read: 1.10, no and on are lost otherwise"


def findings(value: Any) -> list[Finding]:
    judged = subject.subject_of(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "h200"},
            "spec": {"nodeLabels": {"example.com/pool": value}},
        }
    )
    found = judge(judged, world.world_of([judged]), [ConfiguredRule.default(RULE)])
    return [finding for each in found for finding in each.findings]


def test_a_whole_number_is_quoted() -> None:
    patch = (Change(PATH, "7"),)
    assert findings(7) == [Finding(PATH, "must be a string", 7, "put it in quotes", patch)]


@pytest.mark.parametrize("value", [True, False, 1.1, 2.0])
def test_what_was_written_is_lost(value: object) -> None:
    assert findings(value) == [Finding(PATH, "must be a string", value, LOST)]


def test_a_variable_is_not_shown() -> None:
    judged = subject.subject_of(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "digits"},
            "spec": {
                "runtimeRef": {"name": "torch-distributed"},
                "trainer": {"env": [{"name": "PIN", "value": 1234.5}]},
            },
        }
    )
    (found,) = judge(judged, world.world_of([judged]), [ConfiguredRule.default(RULE)])
    path = ("spec", "trainer", "env", 0, "value")
    assert found.findings == (Finding(path, "must be a string", None, LOST),)
