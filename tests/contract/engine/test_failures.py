"""What fails, and what is left of it: for the state, for others, and for the next deployment."""

from tests.contract.engine.conftest import agreed
from tests.contract.engine.watched import Watched


def test_inputs_that_are_wrong(watched: Watched) -> None:
    watched.things('Thing("a", problems=["text: is missing", "key: is missing"])')
    watched.preview(ok=False)
    watched.up(ok=False)
    agreed(watched)


def test_inputs_that_are_wrong_of_one_that_is_there(watched: Watched) -> None:
    watched.things('a = Thing("a", text="one"); pulumi.export("size", a.size)')
    watched.up()
    watched.things('a = Thing("a", text="two", problems=["no"]); pulumi.export("size", a.size)')
    watched.preview(ok=False)
    watched.up(ok=False)
    agreed(watched)


def test_inputs_that_are_wrong_of_several(watched: Watched) -> None:
    text = """
    a = Thing("a", problems=["a is wrong"])
    Thing("b", pulumi.ResourceOptions(depends_on=a), problems=["b is wrong"])
    """
    watched.things(text)
    watched.preview(ok=False)
    agreed(watched)


def test_one_that_cannot_be_made(watched: Watched) -> None:
    watched.things('a = Thing("a", fails="create"); pulumi.export("size", a.size)')
    watched.preview()
    watched.up(ok=False)
    watched.things('a = Thing("a"); pulumi.export("size", a.size)')
    watched.up()
    agreed(watched)


def test_one_that_is_half_made_is_updated_by_the_next_deployment(watched: Watched) -> None:
    watched.things('a = Thing("a", half="create"); pulumi.export("size", a.size)')
    watched.up(ok=False)
    watched.preview("--expect-no-changes", ok=False)
    watched.up()
    watched.preview("--expect-no-changes")
    agreed(watched)


def test_one_that_is_half_made_is_deleted(watched: Watched) -> None:
    watched.things('Thing("a", half="create")')
    watched.up(ok=False)
    watched.refresh()
    watched.destroy()
    agreed(watched)


def test_one_whose_update_is_half_done(watched: Watched) -> None:
    watched.things('Thing("a", text="one")')
    watched.up()
    watched.things('Thing("a", text="two", half="update")')
    watched.up(ok=False)
    watched.things('Thing("a", text="two")')
    watched.up()
    agreed(watched)


def test_one_that_cannot_be_updated(watched: Watched) -> None:
    watched.things('Thing("a", text="one"); Thing("gone"); pulumi.export("x", 1)')
    watched.up()
    watched.things('Thing("a", text="two", fails="update"); pulumi.export("y", 2)')
    watched.up(ok=False)
    agreed(watched)


def test_a_replacement_that_cannot_be_made_leaves_the_old_one(watched: Watched) -> None:
    watched.things('Thing("a", key="k", counted=True)')
    watched.up()
    watched.things('Thing("a", key="l", counted=True, fails="create")')
    watched.up(ok=False)
    watched.things('Thing("a", key="l", counted=True)')
    watched.up()
    agreed(watched)


def test_a_replacement_that_cannot_be_made_once_the_old_one_is_deleted(watched: Watched) -> None:
    watched.things('Thing("a", place="here")')
    watched.up()
    watched.things('Thing("a", place="there", fails="create")')
    watched.up(ok=False)
    watched.things('Thing("a", place="there")')
    watched.up()
    agreed(watched)


def test_one_that_takes_its_place_is_removed_from_the_program(watched: Watched) -> None:
    watched.things('Thing("a", place="here")')
    watched.up()
    watched.things('Thing("a", place="there", fails="create")')
    watched.up(ok=False)
    watched.things("")
    watched.up()
    agreed(watched)


def test_a_replaced_one_that_cannot_be_deleted(watched: Watched) -> None:
    watched.things('Thing("a", key="k", counted=True, fails="delete")')
    watched.up()
    watched.things('Thing("a", key="l", counted=True)')
    watched.up(ok=False)
    watched.up(ok=False)
    agreed(watched)


def test_what_needs_one_that_failed_is_not_made(watched: Watched) -> None:
    watched.things("""
    a = Thing("a", fails="create")
    b = Thing("b", pulumi.ResourceOptions(depends_on=a), text="x")
    Thing("c", text=b.text)
    """)
    watched.up(ok=False)
    agreed(watched)


def test_what_needs_none_that_failed_is_made_where_it_is_to_go_on(watched: Watched) -> None:
    watched.things("""
    a = Thing("a", fails="create")
    b = Thing("b", pulumi.ResourceOptions(depends_on=a), text="x")
    c = Thing("c", text=b.text)
    d = Thing("d", text="one")
    pulumi.export("sizes", [a.size, d.size])
    """)
    watched.up("--continue-on-error", ok=False)
    agreed(watched)


def test_one_that_cannot_be_deleted_stays_with_what_it_needs(watched: Watched) -> None:
    text = """
    a = Thing("a")
    b = Thing("b", pulumi.ResourceOptions(depends_on=a){fails})
    Thing("c", pulumi.ResourceOptions(depends_on=b))
    """
    watched.things(text.format(fails=', fails="delete"'))
    watched.up()
    watched.destroy(ok=False)
    agreed(watched)


def test_a_provider_that_fails_in_check(watched: Watched) -> None:
    watched.things('Thing("a", fails="check")')
    watched.preview(ok=False)
    agreed(watched)


def test_a_provider_that_fails_in_diff(watched: Watched) -> None:
    watched.things('Thing("a", text="one")')
    watched.up()
    watched.things('Thing("a", text="two", fails="diff")')
    watched.preview(ok=False)
    agreed(watched)


def test_a_program_that_raises(watched: Watched) -> None:
    watched.things('Thing("gone", text="one")')
    watched.up()
    watched.things('Thing("a", text="one")\nraise ValueError("a mistake")')
    assert "ValueError: a mistake" in watched.preview(ok=False)
    watched.up(ok=False)
    agreed(watched)


def test_a_program_that_ends_with_a_sentence(watched: Watched) -> None:
    watched.things('raise pulumi.RunError("say what you want")')
    watched.preview(ok=False)
    agreed(watched)


def test_a_program_that_raises_later(watched: Watched) -> None:
    watched.things("""
    def wrong(size):
        raise ValueError("a mistake")

    Thing("b", text=Thing("a", text="one").size.apply(wrong))
    """)
    assert "ValueError: a mistake" in watched.up(ok=False)
    agreed(watched)


def test_a_program_that_says_something(watched: Watched) -> None:
    watched.things("""
    pulumi.log.info("good to know")
    pulumi.log.warn("take care")
    """)
    watched.up()
    watched.things('pulumi.log.error("something is wrong")')
    watched.up()
    agreed(watched)


def test_two_of_one_name(watched: Watched) -> None:
    watched.things('Thing("b", text=Thing("a", text="one").text)\nThing("b", text="two")')
    watched.up(ok=False)
    agreed(watched)


def test_an_engine_that_is_killed_in_a_create(watched: Watched) -> None:
    watched.things('Thing("a", text="one", kills="create"); pulumi.export("x", 1)')
    watched.run("up", "--yes", "--skip-preview", "--diff", ok=None)
    watched.things('Thing("a", text="one"); pulumi.export("x", 1)')
    watched.up()
    watched.refresh()
    agreed(watched)


def test_an_engine_that_is_killed_in_an_update(watched: Watched) -> None:
    watched.things('Thing("a", text="one")')
    watched.up()
    watched.things('Thing("a", text="two", kills="update")')
    watched.run("up", "--yes", "--skip-preview", "--diff", ok=None)
    watched.things('Thing("a", text="three")')
    watched.up()
    agreed(watched)


def test_an_engine_that_is_killed_in_a_delete(watched: Watched) -> None:
    watched.things('Thing("a", kills="delete")')
    watched.up()
    watched.run("destroy", "--yes", "--skip-preview", "--diff", ok=None)
    agreed(watched)
