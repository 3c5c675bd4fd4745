"""What may be set of a rule, in words. Used by `rulebook` and `rules_page`; pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.alias_generators import to_camel

from trainer_infra.api import crd_descriptions, yamltext
from trainer_infra.rules.rule import Parameters

_WORDS: Final = {
    str: ("string", "strings"),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    bool: ("true or false", "booleans"),
}
"""One and several."""
_NONE: Final = re.compile(r"\bNone\b")
"""What a docstring calls what is `null` in a configuration."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that may be set."""

    name: str
    """As it is written in a configuration."""
    type: str
    """What it may be, in words."""
    default: str
    """What holds otherwise, as YAML; `null` where it is not set."""
    description: str
    """What it means."""


def parameters_of(model: type[Parameters], chosen: Parameters | None = None) -> Iterator[Parameter]:
    """The parameters of a rule, in order.

    Args:
        model: The rule's.
        chosen: What holds where it is not the rule's own defaults.
    """
    texts = crd_descriptions.docstrings_of(model)
    for name, value in (chosen or model()).model_dump(mode="json").items():
        words = _words(model.model_fields[name].annotation, several=False)
        text = _NONE.sub("`null`", " ".join(texts.get(name, "").split()))
        yield Parameter(to_camel(name), words, yamltext.flow_text(value), text)


def _words(annotation: Any, *, several: bool) -> str:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _words(inside[0], several=several)
    if origin in {Union, UnionType}:
        kinds = dict.fromkeys(_words(each, several=several) for each in inside if each != NoneType)
        return " or ".join(kinds)
    if origin is Literal:
        return " or ".join(map(str, inside))
    if origin is tuple:
        return f"list{'s' if several else ''} of {_words(inside[0], several=True)}"
    if origin in {dict, Mapping}:
        return f"mapping{'s' if several else ''} of {_words(inside[1], several=True)}"
    return _WORDS[annotation][several] if annotation in _WORDS else "object"
