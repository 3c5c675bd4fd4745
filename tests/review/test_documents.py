"""A document knows where the fields of its object are written, also when a tool built it."""

from dataclasses import replace

from hypothesis import given

from tests.review.layouts import Patched, patched
from trainer_infra.api.finding import FieldFinding
from trainer_infra.review import documents, object_findings
from trainer_infra.review.report import Place

TEXT = """\
apiVersion: v1
kind: A
spec:
  list:
  - name: x
    a: 1
  - name: z
    a: 2
  plain: [1, 2]
  text: |
    one

    two

  same: &same
    b: 1
  other: *same
"""
(WRITTEN,) = documents.read_documents(TEXT, "a.yaml")


def built(**spec: object) -> documents.Document:
    return replace(WRITTEN, value={"apiVersion": "v1", "kind": "A", "spec": spec})


def test_what_is_as_written_is_at_its_own_path() -> None:
    path = ("spec", "list", 1, "none", 7)
    assert WRITTEN.at(path) == path
    assert WRITTEN.at(()) == ()


def test_items_of_a_built_object_are_found_by_name_and_else_where_they_can_be() -> None:
    x, z = {"name": "x", "a": 3}, {"name": "z"}
    made = built(list=[{"name": "new"}, z, x], plain=[2, 3])
    assert [made.at(("spec", "list", index, "a")) for index in range(3)] == [
        ("spec", "list"),
        ("spec", "list", 1, "a"),
        ("spec", "list", 0, "a"),
    ]
    assert made.at(("spec", "plain", 0)) == ("spec", "plain", 1)
    assert made.at(("spec", "plain", 1)) == ("spec", "plain", 1)
    assert made.at(("spec", "new", "a")) == ("spec",)
    assert built(plain=[3]).at(("spec", "plain", 0)) == ("spec", "plain")


def test_an_excerpt_has_the_lines_of_the_value_and_no_more() -> None:
    text, other = (
        object_findings.place_in_document(WRITTEN, ("spec", each)) for each in ("text", "other")
    )
    shown = ("  text: |", "    one", "", "    two")
    assert text == Place("a.yaml", 10, 3, 13, 8, shown)
    assert other == Place("a.yaml", 17, 3, 17, 15, ("  other: *same",))
    assert object_findings.place_in_document(WRITTEN, ("spec", "same")).excerpt == (
        "  same: &same",
        "    b: 1",
    )


def test_an_excerpt_of_a_long_value_is_cut() -> None:
    found = object_findings.place_in_document(WRITTEN, ("spec",))
    assert found.excerpt == tuple(TEXT.splitlines()[2:7])


def test_an_object_without_a_text_has_no_place() -> None:
    live = documents.Document({"kind": "A"}, "cluster: A a", None)
    assert object_findings.place_in_document(live, ("spec",)) == Place("cluster: A a")
    assert (live.written, list(live.findings())) == (None, [])


def test_what_is_wrong_with_yaml_is_no_fault_of_what_was_built_from_it() -> None:
    (twice,) = documents.read_documents("apiVersion: v1\nkind: A\na: 1\na: 2\n", "a.yaml")
    assert list(twice.findings()) == [
        FieldFinding(("a",), "is written twice", None, "keep one of them")
    ]
    assert list(replace(twice, value=dict(twice.value)).findings()) == []


@given(patched())
def test_every_place_ends_behind_its_beginning_and_inside_the_text(case: Patched) -> None:
    (document,) = documents.read_documents(case.text, "a.yaml")
    found = object_findings.place_in_document(document, case.change.path)
    lines = case.text.splitlines()
    assert (found.line, found.column) <= (found.end_line, found.end_column)
    assert found.end_column <= len(lines[found.end_line - 1]) + 1
    assert found.excerpt == tuple(
        lines[found.line - 1 : found.end_line][: object_findings.MOST_LINES]
    )
