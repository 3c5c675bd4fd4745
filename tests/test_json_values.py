"""The one walk over JSON values."""

from functools import reduce
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.json_values import json_leaves, with_leaves

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(values)
def test_each_leaf_is_found_at_its_path_and_none_twice(value: Any) -> None:
    leaves = list(json_leaves(value))
    assert [reduce(lambda part, key: part[key], path, value) for path, _ in leaves] == [
        leaf for _, leaf in leaves
    ]
    assert len({path for path, _ in leaves}) == len(leaves)


@given(values)
def test_leaves_are_changed_and_nothing_else(value: Any) -> None:
    assert with_leaves(value, lambda leaf: leaf) == value
    shown = [repr(leaf) for _, leaf in json_leaves(value)]
    assert [leaf for _, leaf in json_leaves(with_leaves(value, repr))] == shown


def test_what_is_no_json_is_a_leaf_and_a_tuple_is_a_list() -> None:
    value = {"a": (1, {2}), "b": {}}
    assert list(json_leaves(value)) == [(("a", 0), 1), (("a", 1), {2})]
    assert with_leaves(value, lambda leaf: leaf) == {"a": [1, {2}], "b": {}}
