"""Components, names that change, providers, and options that keep or free a resource."""

from tests.contract.engine.conftest import agreed
from tests.contract.engine.watched import Watched


def test_a_component_with_children_and_outputs(watched: Watched) -> None:
    watched.things('one = Group("one"); pulumi.export("size", one.first.size)')
    watched.preview()
    watched.up()
    watched.things('one = Group("one", text="longer"); pulumi.export("size", one.first.size)')
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    watched.destroy()
    assert watched.order("delete") == ["one-second", "one-first"]
    agreed(watched)


def test_what_depends_on_a_component_waits_for_its_children(watched: Watched) -> None:
    watched.things("""
    one = Group("one")
    Thing("after", pulumi.ResourceOptions(depends_on=one), text="x")
    """)
    watched.up()
    assert watched.order("create") == ["one-first", "one-second", "after"]
    watched.destroy()
    assert watched.order("delete") == ["after", "one-second", "one-first"]
    agreed(watched)


def test_deleted_in_the_order_of_what_needs_it(watched: Watched) -> None:
    watched.things("""
    a = Thing("a", text="x")
    b = Thing("b", pulumi.ResourceOptions(depends_on=a))
    c = Thing("c", text=b.size.apply(str))
    Thing("d", pulumi.ResourceOptions(parent=c))
    """)
    watched.up()
    watched.things("")
    watched.up()
    assert watched.order("delete") == ["d", "c", "b", "a"]
    agreed(watched)


def test_another_name_and_another_parent(watched: Watched) -> None:
    watched.things('Thing("a", text="one"); Group("one")')
    watched.up()
    watched.things("""
    alias = pulumi.Alias
    one = Group("two", pulumi.ResourceOptions(aliases=[alias(name="one")]))
    stack = pulumi.ROOT_STACK_RESOURCE
    opts = pulumi.ResourceOptions(parent=one, aliases=[alias(name="a", parent=stack)])
    Thing("b", opts, text="one")
    """)
    watched.preview()
    watched.up()
    watched.up()
    agreed(watched)


def test_a_type_that_had_another_name(watched: Watched) -> None:
    text = """
    from pulumi.dynamic import Resource
    from watched import WatchedProvider

    class {name}(Resource, module="watched", name="{name}"):
        pass

    def options(parent=None):
        return pulumi.ResourceOptions(parent=parent, aliases=[pulumi.Alias(type_="pulumi-python:dynamic/watched:Old")])

    above = {name}(WatchedProvider(), "a", {{"name": "a", "text": "x"}}, options())
    {name}(WatchedProvider(), "b", {{"name": "b", "text": "x"}}, options(above))
    """
    watched.things(text.format(name="Old"))
    watched.up()
    watched.things(text.format(name="New"))
    watched.preview("--expect-no-changes")
    watched.up()
    watched.destroy()
    agreed(watched)


def test_protected_ones_are_not_deleted(watched: Watched) -> None:
    text = """
    a = Thing("a", text="x")
    b = Thing("b", pulumi.ResourceOptions(protect={}, depends_on=a), key="{}")
    Thing("c", pulumi.ResourceOptions(depends_on=b))
    """
    watched.things(text.format(True, "k"))
    watched.up()
    watched.destroy(ok=False)
    watched.up()
    watched.things(text.format(True, "l"))
    watched.preview(ok=False)
    watched.up(ok=False)
    watched.things(text.format(False, "k"))
    watched.up()
    watched.destroy()
    agreed(watched)


def test_retained_ones_are_forgotten(watched: Watched) -> None:
    text = 'Thing("a", pulumi.ResourceOptions(retain_on_delete=True), key="{}", counted=True)'
    watched.things(text.format("k"))
    watched.up()
    watched.things(text.format("l"))
    watched.up()
    watched.destroy()
    agreed(watched)


def test_a_provider_that_the_program_makes(watched: Watched) -> None:
    watched.things("""
    mine = pulumi.ProviderResource("pulumi-python", "mine", {})
    Thing("a", pulumi.ResourceOptions(provider=mine), text="one")
    """)
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    watched.destroy()
    agreed(watched)


def test_what_is_as_it_was_found(watched: Watched) -> None:
    watched.things('Thing("a", text="one"); Thing("b", text="one"); pulumi.export("x", 1)')
    watched.up()
    watched.refresh("--expect-no-changes")
    agreed(watched)


def test_what_was_changed_by_somebody_else(watched: Watched) -> None:
    watched.things(
        'a = Thing("a", text="one"); Thing("b", text=a.text); pulumi.export("size", a.size)'
    )
    watched.up()
    found = watched.stack.folder / "cloud" / "a-id"
    found.write_text(found.read_text().replace('"one"', '"changed"'))
    watched.refresh("--expect-no-changes", ok=False)
    watched.preview()
    watched.up()
    agreed(watched)


def test_what_was_deleted_by_somebody_else(watched: Watched) -> None:
    watched.things(
        'a = Thing("a", text="one"); Thing("b", text=a.text); pulumi.export("size", a.size)'
    )
    watched.up()
    (watched.stack.folder / "cloud" / "a-id").unlink()
    watched.refresh()
    watched.up()
    agreed(watched)


def test_what_cannot_be_read(watched: Watched) -> None:
    watched.things('Thing("a", text="one", fails="read"); Thing("b", text="one")')
    watched.up()
    (watched.stack.folder / "cloud" / "b-id").unlink()
    watched.refresh(ok=False)
    agreed(watched)
