"""Values that are secret, and values that only the deployment will tell."""

from tests.contract.engine.conftest import agreed
from tests.contract.engine.watched import Watched


def test_unknown_values_of_what_will_be_made(watched: Watched) -> None:
    watched.things("""
    a = Thing("a", text="one")
    b = Thing("b", text=a.size.apply(str), nested={"id": a.id, "known": a.text})
    pulumi.export("of", [a.size, b.text, a.text])
    """)
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    agreed(watched)


def test_unknown_values_of_what_will_be_changed(watched: Watched) -> None:
    text = """
    a = Thing("a", text="{}", key="{}", counted=True)
    Thing("b", text=a.size.apply(str), key=a.id)
    pulumi.export("size", a.size)
    """
    watched.things(text.format("one", "k"))
    watched.up()
    watched.things(text.format("three", "k"))
    watched.preview()
    watched.up()
    watched.things(text.format("three", "l"))
    watched.preview()
    watched.up()
    agreed(watched)


def test_secret_inputs_and_outputs(watched: Watched) -> None:
    watched.things("""
    secret = pulumi.Output.secret
    a = Thing("a", text=secret("planted-one"), nested={"x": secret("planted-two"), "y": "seen"}, bare=True)
    b = Thing("b", text=a.text, many=["seen", secret("planted-three")], bare=True)
    pulumi.export("text", a.text)
    pulumi.export("size", b.size)
    """)
    said = watched.preview() + watched.up() + watched.preview("--expect-no-changes")
    said += watched.refresh()
    assert "planted" not in said
    agreed(watched)


def test_a_secret_that_changes(watched: Watched) -> None:
    text = """
    a = Thing("a", text=pulumi.Output.secret("planted-{}"), detailed={}, bare=True)
    pulumi.export("text", a.text)
    """
    watched.things(text.format("one", False))
    watched.up()
    watched.things(text.format("two", False))
    said = watched.preview() + watched.up()
    watched.things(text.format("three", True))
    said += watched.preview()
    assert "planted" not in said
    agreed(watched)


def test_outputs_that_the_program_makes_secret(watched: Watched) -> None:
    text = """
    a = Thing("a", pulumi.ResourceOptions(additional_secret_outputs={}), text="one")
    pulumi.export("size", a.size)
    """
    watched.things(text.format(["size"]))
    watched.up()
    watched.things(text.format([]))
    watched.up()
    watched.things(text.format(["size"]))
    watched.up()
    agreed(watched)


def test_secrets_of_the_configuration(watched: Watched) -> None:
    watched.things("""
    config = pulumi.Config()
    Thing("a", text=config.require_secret("fed"), key=config.require("plain"), bare=True)
    pulumi.export("plain", config.get("plain"))
    pulumi.export("secret", config.get_secret("fed"))
    pulumi.export("object", config.get_object("list"))
    """)
    watched.run("config", "set", "--secret", "fed", "planted-one")
    watched.run("config", "set", "plain", "12")
    watched.run("config", "set", "list", "[1, 2]")
    said = watched.preview() + watched.up()
    watched.run("config", "set", "--secret", "fed", "planted-two")
    watched.run("config", "rm", "list")
    said += watched.up()
    assert "planted" not in said
    agreed(watched)


def test_numbers_nothing_and_empty_values(watched: Watched) -> None:
    watched.things("""
    Thing("a", many=[1, 1.5, True, None, "", [], {}], nested={"none": None, "deep": {"z": 1e20}})
    pulumi.export("values", [1, 1.5, True, None, "", [], {}])
    """)
    watched.preview()
    watched.up()
    watched.preview("--expect-no-changes")
    agreed(watched)


def test_the_outputs_of_another_stack(watched: Watched) -> None:
    watched.things("""
    a = Thing("a", text="one")
    pulumi.export("size", a.size)
    pulumi.export("secret", pulumi.Output.secret("planted"))
    """)
    watched.up()
    watched.stack.name = "other"
    watched.run("stack", "init")
    watched.things("""
    other = pulumi.StackReference("organization/project/test")
    Thing("b", text=other.get_output("size").apply(str), nested={"x": other.require_output("secret")})
    pulumi.export("none", other.get_output("none"))
    """)
    said = watched.preview() + watched.up() + watched.preview("--expect-no-changes")
    assert "planted" not in said
    watched.refresh()
    watched.destroy()
    agreed(watched)
