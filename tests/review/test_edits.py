"""A patch changes what it names and nothing else: comments and layout stay, whatever the layout."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given

from tests.review.layouts import Patched, patched
from trainer_infra.review import documents, edits, fix
from trainer_infra.rules.finding import REMOVED, Change
from trainer_infra.rules.fixture import with_value_at

HEAD = "apiVersion: v1\nkind: A\n"


def mended(text: str, *changes: Change, position: int = 0) -> str | None:
    """The text with a patch of one of its objects; None where a human must make it."""
    document = documents.read_documents(text, "a.yaml")[position]
    found = edits.edits(document, changes)
    return fix.fixed_text(text, found) if found else None


def with_head(*lines: str) -> str:
    return HEAD + "".join(f"{each}\n" for each in lines)


CASES = {
    "a scalar keeps its comment": (
        ["spec:", "  a: 1  # why"],
        (("spec", "a"), 2),
        ["spec:", "  a: 2  # why"],
    ),
    "a string is quoted where it has to be": (
        ["spec: {a: x, b: y}"],
        (("spec", "a"), "p, q"),
        ["spec: {a: 'p, q', b: y}"],
    ),
    "a value in quotes": (
        ["spec:", '  a: "x"  # c'],
        (("spec", "a"), "yes"),
        ["spec:", '  a: "yes"  # c'],
    ),
    "nothing, with a comment": (
        ["spec:", "  a:  # todo", "  b: 1"],
        (("spec", "a"), False),
        ["spec:", "  a: false  # todo", "  b: 1"],
    ),
    "a text block in the middle": (
        ["spec:", "  a: |", "    x", "    y", "", "  b: 1"],
        (("spec", "a"), "z"),
        ["spec:", "  a: z", "", "  b: 1"],
    ),
    "a text block at the end": (
        ["spec:", "  a: >-", "    x", "# end"],
        (("spec", "a"), "z"),
        ["spec:", "  a: z", "# end"],
    ),
    "an item of a list": (
        ["spec:", "- a: x", "  b: y"],
        (("spec", 0, "a"), "z"),
        ["spec:", "- a: z", "  b: y"],
    ),
    "a list in block style": (
        ["spec:", "  a:", "  - x", "  - {z: 1}", "  b: 1"],
        (("spec", "a"), [{"z": 1}, "x"]),
        ["spec:", "  a:", "  - z: 1", "  - x", "  b: 1"],
    ),
    "a list in flow style": (
        ["spec: {a: [x, z], b: 1}"],
        (("spec", "a"), ["z"]),
        ["spec: {a: [z], b: 1}"],
    ),
    "a new field goes below the last one": (
        ["spec:", "  a: 1  # why", "", "# next", "other: 2"],
        (("spec", "b"), 2),
        ["spec:", "  a: 1  # why", "  b: 2", "", "# next", "other: 2"],
    ),
    "a new field below a text block": (
        ["spec:", "  a: |", "    x", "", "other: 2"],
        (("spec", "b"), 2),
        ["spec:", "  a: |", "    x", "  b: 2", "", "other: 2"],
    ),
    "a new field below a text block that keeps its blank lines": (
        ["spec:", "  a: |+", "    x", "", "other: 2"],
        (("spec", "b"), 2),
        ["spec:", "  a: |+", "    x", "", "  b: 2", "other: 2"],
    ),
    "a new field below deeper ones": (
        ["spec:", "    a:", "      - x: [1,", "          2]  # two", "other: 2"],
        (("spec", "b", "c"), {"d": [1]}),
        [
            *("spec:", "    a:", "      - x: [1,", "          2]  # two"),
            *("    b:", "      c:", "        d:", "        - 1", "other: 2"),
        ],
    ),
    "a new field below an alias": (
        ["x: &x {y: 1}", "spec:", "  a: *x  # same", "other: 2"],
        (("spec", "b"), 2),
        ["x: &x {y: 1}", "spec:", "  a: *x  # same", "  b: 2", "other: 2"],
    ),
    "a new field of an item": (
        ["spec:", "  - name: x", "    a: 1", "  - name: y"],
        (("spec", 0, "b"), 2),
        ["spec:", "  - name: x", "    a: 1", "    b: 2", "  - name: y"],
    ),
    "a new field in braces": (
        ["spec: {a: 1, }  # c"],
        (("spec", "b"), "x"),
        ["spec: {b: x, a: 1, }  # c"],
    ),
    "a new field in empty braces": (["spec: {}"], (("spec", "b", "c"), 2), ["spec: {b: {c: 2}}"]),
    "a new field below nothing": (
        ["spec:  # todo", "other: 2"],
        (("spec", "a", "b"), 1),
        ["spec:  # todo", "  a:", "    b: 1", "other: 2"],
    ),
    "a new field below null": (["spec: null"], (("spec", "a"), 1), ["spec: {a: 1}"]),
    "a new field below nothing in braces": (
        ["spec: {a: , b: 1}"],
        (("spec", "a", "c"), 2),
        ["spec: {a: {c: 2}, b: 1}"],
    ),
    "a new field below an empty string": (["spec: ''"], (("spec", "a"), 1), None),
    "a new field below a scalar": (["spec: x"], (("spec", "a"), 1), None),
    "a new item": (["spec: [x]"], (("spec", 1), "y"), None),
    "a field goes with its lines": (
        ["spec:", "  a:  # old", "    b: |", "      x", "", "  # about c", "  c: 1"],
        (("spec", "a"), REMOVED),
        ["spec:", "", "  # about c", "  c: 1"],
    ),
    "the last field goes": (
        ["spec:", "  a: 1", "  b: 2"],
        (("spec", "b"), REMOVED),
        ["spec:", "  a: 1"],
    ),
    "the first field of an item does not go": (
        ["spec:", "- a: 1", "  b: 2"],
        (("spec", 0, "a"), REMOVED),
        None,
    ),
    "the only field does not go": (["spec:", "  a: 1"], (("spec", "a"), REMOVED), None),
    "what is not there does not go": (["spec:", "  a: 1"], (("spec", "b"), REMOVED), None),
    "a field in braces does not go": (["spec: {a: 1, b: 2}"], (("spec", "a"), REMOVED), None),
    "what is merged in is not changed": (
        ["x: &x {a: 1}", "spec:", "  <<: *x"],
        (("spec", "a"), 2),
        None,
    ),
    "what an alias stands for is not changed": (
        ["x: &x {a: 1}", "spec: *x"],
        (("spec", "a"), 2),
        None,
    ),
    "what an alias beside it stands for is not changed": (
        ["spec:", "  a: &x {b: 1}", "  c: *x"],
        (("spec", "c", "b"), 2),
        None,
    ),
    "what an alias of the same list stands for is not changed": (
        ["spec:", "- a: &x {b: 1}", "- *x"],
        (("spec", 1, "b"), 2),
        None,
    ),
    "what others refer to is not changed": (
        ["spec:", "  a: &x 1", "  b: *x"],
        (("spec", "a"), 2),
        None,
    ),
    "what nobody refers to is": (
        ["spec: &x", "  a: 1"],
        (("spec", "a"), 2),
        ["spec: &x", "  a: 2"],
    ),
    "an anchor that others need does not go": (
        ["spec:", "  a:", "    b: &x 1", "  c: *x"],
        (("spec", "a"), REMOVED),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_edit_changes_what_it_names_and_nothing_else(case: str) -> None:
    before, (path, value), after = CASES[case]
    found = mended(with_head(*before), Change(path, value))
    assert found == (None if after is None else with_head(*after))


def test_json_stays_json() -> None:
    value = {"apiVersion": "v1", "kind": "A", "spec": {"a": 1, "b": {}, "c": None}}
    for text in (json.dumps(value), json.dumps(value, indent=2)):
        for path in (("spec", "a"), ("spec", "d"), ("spec", "b", "e"), ("spec", "c", "f")):
            found = mended(text, Change(path, {"g": ["h, \u2028"]}))
            assert found is not None
            assert json.loads(found) == with_value_at(value, path, {"g": ["h, \u2028"]})


def test_json_on_many_lines_gets_a_line_more() -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "A", "spec": {"a": 1}}, indent=2)
    found = mended(text, Change(("spec", "b"), 2))
    assert found == text.replace('"spec": {', '"spec": {\n    "b": 2,')


def test_json_whose_columns_are_not_those_of_yaml_is_left_alone() -> None:
    text = '{"apiVersion": "v1", "kind": "A", "spec": {"a": "\\ud83d\\ude00", "b": 1}}'
    assert mended(text, Change(("spec", "b"), 2)) is None


def test_windows_line_ends_and_a_byte_order_mark_stay() -> None:
    text = "\ufeff" + with_head("spec:", "  a: 1  # why", "other: 2").replace("\n", "\r\n")
    found = mended(text, Change(("spec", "b", "c"), 2))
    assert found == text.replace("# why\r\n", "# why\r\n  b:\r\n    c: 2\r\n")
    first = mended(text, Change(("apiVersion",), "v2"))
    assert first == text.replace("v1", "v2")


def test_a_text_without_a_last_line_end_is_edited() -> None:
    text = HEAD + "spec:\n  a: |\n    x"
    assert mended(text, Change(("spec", "b"), 2)) == f"{text}\n  b: 2"
    assert mended(text, Change(("spec", "a"), "z")) == HEAD + "spec:\n  a: z"


def test_the_right_one_of_several_objects_is_edited() -> None:
    item = "- apiVersion: v1\n  kind: A\n  spec: {a: 1}\n"
    text = f"{HEAD}a: 1\n---\n# second\napiVersion: v1\nkind: List\nitems:\n{item}{item}"
    assert mended(text, Change(("a",), 2)) == text.replace("a: 1\n---", "a: 2\n---")
    third = mended(text, Change(("spec", "a"), 2), position=2)
    assert third == text[: -len(item)] + item.replace("a: 1", "a: 2")


def test_a_patch_is_made_whole_or_not_at_all() -> None:
    text = with_head("spec: {a: 1, b: x}")
    both = (Change(("spec", "a"), 2), Change(("spec", "b"), "z"))
    assert mended(text, *both) == with_head("spec: {a: 2, b: z}")
    assert mended(text, *both, Change(("spec", "b", "c"), 1)) is None


def test_stdin_is_not_edited() -> None:
    document = documents.read_documents(with_head("spec: 1"), "stdin")[0]
    stdin = replace(document, is_editable=False)
    assert edits.edits(stdin, [Change(("spec",), 2)]) == ()


@given(patched())
def test_whatever_is_edited_is_what_the_patch_says_and_keeps_its_comments(case: Patched) -> None:
    document = documents.read_documents(case.text, "a.yaml")[0]
    assert document.value == case.value
    found = edits.edits(document, [case.change])
    if not found:
        assert case.may_be_refused
        return
    text = fix.fixed_text(case.text, found)
    after = documents.read_documents(text, "a.yaml")[0]

    assert after.value == case.expected
    assert list(after.findings()) == []
    if case.change.value is REMOVED:
        (edit,) = found
        last = case.text.splitlines()[edit.end[0] - 2].lstrip()
        assert last
        assert not last.startswith("#")
    else:
        assert comments(text) == comments(case.text)


def comments(text: str) -> set[str]:
    return set(re.findall(r"# c\d+c", text))
