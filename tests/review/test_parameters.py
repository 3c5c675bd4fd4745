"""Parameters of rules in words."""

from typing import Annotated, Literal

from pydantic import Field

from trainer_infra.review import rulebook
from trainer_infra.review.rulebook import Parameter
from trainer_infra.rules import RULES
from trainer_infra.rules.rule import Parameters


class Everything(Parameters):
    """One of each."""

    a_text: str = "a b"
    """A text,
    on two lines."""
    seconds: Annotated[int, Field(ge=0)] | None = None
    """None for any."""
    share: float | int = 0.5
    is_so: bool = True
    """Whether it is so."""
    words: tuple[Literal["one", "two"], ...] = ("one",)
    """Words."""
    amounts: dict[str, dict[str, str | int]] = Field(default_factory=dict)
    """Amounts."""


def test_every_type_has_words_and_every_field_its_docstring() -> None:
    assert [*rulebook.parameters_of(Everything)] == [
        Parameter("aText", "string", "a b", "A text, on two lines."),
        Parameter("seconds", "whole number", "null", "`null` for any."),
        Parameter("share", "number or whole number", "0.5", ""),
        Parameter("isSo", "true or false", "true", "Whether it is so."),
        Parameter("words", "list of one or two", "[one]", "Words."),
        Parameter("amounts", "mapping of mappings of strings or whole numbers", "{}", "Amounts."),
    ]


def test_what_a_pack_sets_is_shown_instead_of_the_default() -> None:
    told = {
        each.name: each.default
        for each in rulebook.parameters_of(Everything, Everything(seconds=3))
    }
    assert (told["seconds"], told["aText"]) == ("3", "a b")


def test_every_parameter_of_our_rules_is_described() -> None:
    told = [(rule.id, each) for rule in RULES for each in rulebook.parameters_of(rule.parameters)]
    assert told
    assert [each for each in told if not each[1].description or "object" in each[1].type] == []
