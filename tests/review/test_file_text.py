"""What kubectl reads is read; what it would refuse and is not meant for it is data, a template, or broken."""

from pathlib import Path

import pytest

from trainer_infra.review import source_objects, sources
from trainer_infra.review.file_text import INSIDE, NOT_READ, PARTLY, TEMPLATE
from trainer_infra.review.inventory import Use

JSON = '{{"apiVersion": "v1", "kind": "A", "metadata": {{"name": "{}"}}}}'
YAML = "apiVersion: v1\nkind: A\nmetadata: {{name: {}}}\n"
A, B = JSON.format("a"), JSON.format("b")
Y, Z = YAML.format("one"), YAML.format("two")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(content: str | bytes, name: str = "a.yaml") -> source_objects.SourceObjects:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return sources.read_sources([name])


@pytest.mark.parametrize(
    ("content", "places"),
    [
        (f"{A}{B}", {"a": (1, 1), "b": (1, len(A) + 1)}),
        (f"{A}\n{B}\n", {"a": (1, 1), "b": (2, 1)}),
        (f"\n---\n{A}\n\n  {B}", {"a": (3, 1), "b": (5, 3)}),
        (f'{A}\n{{"kind": "chat"}}\n{B}', {"a": (1, 1), "b": (3, 1)}),
        (
            f"{A}\n---\n{Y}---\n{B}\n{JSON.format('c')}",
            {"a": (1, 1), "one": (3, 1), "b": (7, 1), "c": (8, 1)},
        ),
        (f"\ufeff{Y}---\n\ufeff{Z}", {"one": (1, 1), "two": (5, 1)}),
        (f"{Y}---  # the next\n\ufeff{Z}", {"one": (1, 1), "two": (5, 1)}),
        ((f"{Y}---\n{Z}").encode("utf-16"), {"one": (1, 1), "two": (5, 1)}),
        (("\ufeff" + Y).encode("utf-16-be"), {"one": (1, 1)}),
        (Y.replace("\n", "\r\n") + "---\r\n" + Z, {"one": (1, 1), "two": (5, 1)}),
        (f"{Y}data: {{a: &n b, c: &n d, e: *n}}\n", {"one": (1, 1)}),
        (f"# {{{{ a comment }}}}\n{Y}", {"one": (2, 1)}),
        (A.replace("kind", r"\u006bind"), {"a": (1, 1)}),
    ],
)
def test_what_kubectl_reads_is_read(
    content: str | bytes, places: dict[str, tuple[int, int]]
) -> None:
    found = read(content)
    names = {each.value["metadata"]["name"]: each.place(each.start) for each in found.documents}
    assert (names, found.problems) == (places, ())
    assert [each.use for each in found.files] == [Use.JUDGED]


def test_an_alias_of_an_anchor_that_stands_twice_means_the_nearest_above() -> None:
    (found,) = read(f"{Y}data: {{a: &n b, c: *n, d: &n e, f: *n}}\n").documents
    assert found.value["data"] == {"a": "b", "c": "b", "d": "e", "f": "e"}


@pytest.mark.parametrize(
    ("content", "is_editable"),
    [
        (Y, True),
        (f"\ufeff{Y}", True),
        (Y.encode("utf-16"), False),
        (f"{Y}---\n\ufeff{Z}", False),
    ],
)
def test_only_files_whose_columns_are_as_they_are_read_are_mended(
    content: str | bytes, is_editable: bool
) -> None:
    assert {each.is_editable for each in read(content).documents} == {is_editable}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("on: push\njobs: {}\n", ""),
        ('{"a": 1}\n{"b": 2}\n', ""),
        ('{"kind": "chat", "text": "apiVersion: v1"}\n{"kind": "chat"}\n', ""),
        ('{\n  // for editors\n  "compilerOptions": {}\n}\n', ""),
        ('{\n  // for editors\n  "group": {"kind": "build"},\n}\n', NOT_READ),
        ("a: [\n", ""),
        ("kind: [\n", NOT_READ),
        ("", ""),
        ("# kind: a comment\n", ""),
        (b"umlaut: \xff\n", "not UTF-8 text, and names no kind of an object"),
        ("key:\n\t- kind\n", NOT_READ),
        (f"[{A}]", INSIDE),
        (f"extraDeploy:\n- {A}\n", INSIDE),
        (f"steps:\n- run: |\n    kubectl apply -f - <<EOF\n    {A}\n    EOF\n", INSIDE),
        ("# apiVersion: v1\n# kind: A\n- 1\n", ""),
    ],
)
def test_what_has_no_object_is_data(content: str | bytes, why: str) -> None:
    found = read(content)
    assert (found.documents, found.problems) == ((), ())
    assert [(each.use, each.why) for each in found.files] == [(Use.DATA, why)]


@pytest.mark.parametrize(
    "content",
    [
        "{% if gpu %}\n" + Y + "{% endif %}\n",
        "apiVersion: v1\nkind: A\nmetadata: {name: {{ name }}}\n",
        "apiVersion: v1\nkind: A\nmetadata:\n  name: {{ name }}\n",
        "apiVersion: v1\nkind: A\nspec:\n${MORE}\n  a: 1\n",
        "apiVersion: v1\nkind: A\nspec:\n{{ toYaml .x }}\nother: 1\n",
        "<% if a %>\n" + Y,
    ],
)
def test_text_for_a_template_is_passed_over_and_named(content: str) -> None:
    found = read(content)
    assert (found.documents, found.problems) == ((), ())
    assert [(each.use, each.why) for each in found.files] == [(Use.PASSED_OVER, TEMPLATE)]


def test_a_document_of_a_template_among_objects_is_named() -> None:
    found = read(f"{Y}---\nkind: B\napiVersion: v1\nname: {{{{ name }}}}\n")
    assert len(found.documents) == 1
    assert [(each.use, each.why) for each in found.files] == [(Use.JUDGED, PARTLY)]


@pytest.mark.parametrize(
    "content",
    [
        f"{Y}spec: [\n",
        f"{Y}---\na: [\n",
        f'{A}\n{{"kind": oops\n',
        f"// a comment\n{A}",
        f"{Y}spec:\n\ta: 1\n",
        Y.encode() + b"x: \xff\n",
        f"{Y}x: \x01\n",
    ],
)
def test_what_is_broken_and_seems_to_be_an_object_is_a_problem(content: str | bytes) -> None:
    found = read(content)
    assert found.problems
    assert [each.use for each in found.files] == [Use.UNREAD]


def test_of_stdin_all_that_is_broken_is_a_problem() -> None:
    for text in ("a: [\n", "a: {{ b\n"):
        assert source_objects.of_text(text, "stdin").problems


def test_a_large_file_is_read_if_it_may_be_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_objects, "_LARGEST", 100)
    data, other = read("[0]\n" * 100, "a.json"), read(Y * 100)
    assert [each.use for each in data.files] == [Use.PASSED_OVER]
    assert len(other.problems) == 1
