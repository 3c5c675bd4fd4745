"""What becomes of a resource: made, left alone, changed, replaced, deleted."""

from tests.contract.engine.conftest import agreed
from tests.contract.engine.watched import Watched


def test_made_and_then_the_same(watched: Watched) -> None:
    watched.things('a = Thing("a", text="one"); pulumi.export("size", a.size)')
    watched.preview()
    watched.up()
    watched.up()
    watched.preview("--expect-no-changes")
    watched.destroy()
    agreed(watched)


def test_changed_in_place(watched: Watched) -> None:
    watched.things('a = Thing("a", text="one", many=[1, 2], nested={"x": {"y": "z"}}, bare=True)')
    watched.up()
    watched.things(
        'a = Thing("a", text="two", many=[1, 3, 4], nested={"x": {"w": "z"}}, bare=True)'
    )
    watched.preview()
    watched.preview("--expect-no-changes", ok=False)
    watched.up()
    agreed(watched)


def test_texts_that_are_json_or_yaml_or_have_lines(watched: Watched) -> None:
    text = 'Thing("a", text="one", many=[{json!r}, {yaml!r}, {lines!r}])'
    one, two = (
        "first line\nsecond\nthird\nfourth\nfifth\nlast -",
        "first line\nsecond\n3rd\nfourth\nfifth\nlast -",
    )
    watched.things(text.format(json='{"x": "one"}', yaml="x: one\ny: [a]", lines=one))
    watched.up()
    watched.things(text.format(json='{"x": "two"}', yaml="x: two\ny: [a]", lines=two))
    watched.preview()
    agreed(watched)


def test_replaced_by_one_that_is_made_first(watched: Watched) -> None:
    watched.things('a = Thing("a", text="one", key="k", counted=True)')
    watched.up()
    watched.things('a = Thing("a", text="two", key="l", counted=True)')
    watched.preview()
    watched.up()
    agreed(watched)


def test_replaced_after_it_is_deleted(watched: Watched) -> None:
    watched.things('a = Thing("a", text="one", place="here")')
    watched.up()
    watched.things('a = Thing("a", text="one", place="there")')
    watched.preview()
    watched.up()
    agreed(watched)


def test_replaced_after_it_is_deleted_because_the_program_says_so(watched: Watched) -> None:
    text = 'Thing("a", pulumi.ResourceOptions(delete_before_replace={}), key="{}", place="{}")'
    watched.things(text.format(True, "one", "here"))
    watched.up()
    watched.things(text.format(True, "two", "here"))
    watched.up()
    watched.things(text.format(False, "two", "there"))
    watched.up()
    agreed(watched)


def test_what_is_made_of_it_is_deleted_before_it_is_replaced(watched: Watched) -> None:
    text = """
    a = Thing("a", place="{}", text="one")
    Thing("b", key=a.id)
    Thing("c", text=a.id)
    """
    watched.things(text.format("here"))
    watched.up()
    watched.things(text.format("there"))
    watched.preview()
    watched.up()
    assert watched.order("delete") == ["b", "a"]
    agreed(watched)


def test_deleted_once_the_program_lacks_it(watched: Watched) -> None:
    watched.things('Thing("a"); Thing("b"); pulumi.export("x", 1)')
    watched.up()
    watched.things('Thing("b"); pulumi.export("y", 2)')
    watched.preview()
    watched.up()
    agreed(watched)


def test_replaced_for_the_command_says_so(watched: Watched) -> None:
    watched.things('Thing("a", text="one", counted=True); Thing("b")')
    watched.up()
    urn = "urn:pulumi:test::project::pulumi-python:dynamic/watched:Thing::a"
    watched.up("--replace", urn)
    agreed(watched)


def test_only_the_targets_are_deployed(watched: Watched) -> None:
    watched.things('Thing("a", text="one"); Thing("b", text="one"); Thing("gone")')
    watched.up()
    watched.things('Thing("a", text="two"); Thing("b", text="two"); Thing("c")')
    urn = "urn:pulumi:test::project::pulumi-python:dynamic/watched:Thing::"
    watched.up("--target", f"{urn}a")
    watched.refresh("--target", f"{urn}b")
    watched.destroy("--target", f"{urn}b")
    agreed(watched)


def test_changes_that_are_to_be_ignored(watched: Watched) -> None:
    text = """
    Thing("a", pulumi.ResourceOptions(ignore_changes={}), text="{}", nested={{"x": {{"y": "{}", "z": "{}"}}}})
    """
    watched.things(text.format([], "one", "one", "one"))
    watched.up()
    watched.things(text.format(["text", "nested.x.y"], "two", "two", "one"))
    watched.preview("--expect-no-changes")
    watched.things(text.format(["text", "nested.x.y"], "two", "two", "two"))
    watched.up()
    agreed(watched)


def test_the_provider_says_what_differs(watched: Watched) -> None:
    text = 'Thing("a", text="{}", key="{}", many=[{}], detailed=True)'
    watched.things(text.format("one", "k", 1))
    watched.up()
    watched.things(text.format("two", "k", 1))
    watched.preview()
    watched.things(text.format("two", "l", 2))
    watched.preview()
    watched.up()
    agreed(watched)
