"""Of a large object each rule says at most a hundred things, and that there are more."""

import json
from collections import Counter
from typing import Any

import pytest

from tests.review import checked
from tools.bench import large_objects
from trainer_infra.errors import MOST_PROBLEMS
from trainer_infra.review import source_objects

OBJECTS = list(large_objects.large_objects(24 * 1024))


@pytest.mark.parametrize(("what", "_path", "value"), OBJECTS, ids=[each[0] for each in OBJECTS])
def test_a_rule_says_no_more_than_can_be_read(what: str, _path: str, value: dict[str, Any]) -> None:
    found = source_objects.of_text(json.dumps(value), "a.json")
    report = checked.of(found.documents)
    counts = Counter(each.rule.id for each in report.items)
    assert max(counts.values(), default=0) <= MOST_PROBLEMS + 1, what
    assert found.problems or counts, what


def test_that_there_are_more_is_said_of_the_object() -> None:
    env = [{"name": f"A{each}_TOKEN", "value": f"xK29sT7q{each:08}"} for each in range(150)]
    pod = {"containers": [{"name": "c", "image": "a:1", "env": env}]}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}
    report = checked.of([checked.document(value)], "literal-secrets")
    assert len(report.items) == MOST_PROBLEMS + 1
    (last,) = (each for each in report.items if not each.path)
    assert last.what == "has more of this than these 100"
