"""Rules for people: the list, and one rule with all that there is to say of it. Pure.

What may be set of it is told in words, and a case of it as YAML in which the field that makes it bad is
marked; containers without others in them are on one line, except where that field is inside.
`rules_page` makes documentation of the same.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from textwrap import wrap
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic.alias_generators import to_camel

from trainer_infra.api import crd, yamltext
from trainer_infra.api.finding import Path
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.review import as_json
from trainer_infra.rules import RULES
from trainer_infra.rules import pack as rules_pack
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Pack, PackRule, Selection
from trainer_infra.rules.rule import Parameters
from trainer_infra.words import nearest

_WIDTH: Final = 88
"""Characters of a line of text, and of a container on one line, at most."""
_NEAR: Final = 3
"""Most ids that are proposed for one that is unknown."""
_WORDS: Final = {
    str: ("string", "strings"),
    int: ("whole number", "whole numbers"),
    float: ("number", "numbers"),
    bool: ("true or false", "booleans"),
}
"""One and several."""
_NONE: Final = re.compile(r"\bNone\b")
"""What a docstring calls what is `null` in a configuration."""
SAME: Final = "  "
BAD: Final = "- "
GOOD: Final = "+ "


def chosen_rules(pack: Pack | None, selection: Selection) -> tuple[ConfiguredRule, ...]:
    """The rules that are selected, of a pack or of all, as they are applied there.

    Raises:
        InvalidInput: The pack's settings do not fit its rules.
    """
    known = rules_pack.pack_rules(pack) if pack else map(ConfiguredRule.default, RULES)
    # The severity that holds in the pack is the one to select by.
    pairs = ((each, replace(each.rule, severity=each.severity)) for each in known)
    return tuple(each for each, rule in pairs if selection.has(rule))


def found_rules(rules: Iterable[ConfiguredRule], rule: str) -> ConfiguredRule:
    """The rule of that id.

    Raises:
        InvalidInput: There is none; names those that are most like it.
    """
    known = {each.rule.id: each for each in rules}
    if rule in known:
        return known[rule]
    holding = [each for each in known if rule and rule in each]
    near = holding[:_NEAR] or nearest(rule, known, _NEAR)
    advice = "`trainer-infra rules list` lists all"
    fix = f"did you mean {' or '.join(near)}? {advice}" if near else advice
    raise InvalidInput([Problem("", "is not a rule", rule, fix)])


def column_names(rules: Sequence[ConfiguredRule]) -> tuple[str, ...]:
    """Names of the columns of `rule_rows`."""
    enforcement = ("ENFORCEMENT",) if isinstance(next(iter(rules), None), PackRule) else ()
    return ("ID", "SEVERITY", *enforcement, "TAGS", "TITLE", "KINDS")


def rule_rows(rules: Sequence[ConfiguredRule]) -> Iterator[tuple[str, ...]]:
    """A row for each rule."""
    for each in rules:
        rule = each.rule
        kinds, tags = rule.kinds_text().replace(", ", ","), ",".join(rule.tags)
        enforcement = (each.enforcement,) if isinstance(each, PackRule) else ()
        yield (rule.id, each.severity, *enforcement, tags, rule.title, kinds)


def rule_wire(each: ConfiguredRule) -> JSONDict:
    """A rule for other programs; keys may come, and none goes."""
    return {
        **as_json.rule_wire(each.rule),
        "severity": each.severity,
        "enforcement": each.enforcement if isinstance(each, PackRule) else None,
        "parameters": each.parameters.model_dump(mode="json", by_alias=True),
    }


def explained_rule(each: ConfiguredRule, case: Case | None) -> str:
    """All that there is to say of a rule, with an example of it where there is one."""
    lines = [
        f"{each.rule.id}: {each.rule.title}",
        "",
        *_facts(each),
        "",
        *wrap(f"Why: {each.rule.why}", _WIDTH),
        *wrap(f"Fix: {each.rule.fix}", _WIDTH),
        *_parameters(each),
        *_example(case),
    ]
    return "".join(f"{line}\n" for line in lines)


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
    """The parameters of a rule, in order; `chosen` is what holds where it is not the rule's own defaults."""
    texts = crd.docstrings_of(model)
    for name, value in (chosen or model()).model_dump(mode="json").items():
        words = _words(model.model_fields[name].annotation, several=False)
        text = _NONE.sub("`null`", " ".join(texts.get(name, "").split()))
        yield Parameter(to_camel(name), words, yamltext.flow_text(value), text)


def example_lines(case: Case) -> Iterator[str]:
    """What the case is, as the difference between the bad and the good objects."""
    for each in _given(case):
        yield f"{SAME}# {each}"
    good, bad = (list(_objects(case, is_good=is_good)) for is_good in (True, False))
    difference = SequenceMatcher(None, bad, good, autojunk=False)
    for kind, start, end, other_start, other_end in difference.get_opcodes():
        if kind == "equal":
            yield from (f"{SAME}{each}" for each in bad[start:end])
        else:
            yield from (f"{BAD}{each}" for each in bad[start:end])
            yield from (f"{GOOD}{each}" for each in good[other_start:other_end])


def _facts(each: ConfiguredRule) -> Iterator[str]:
    facts = {
        "severity": each.severity,
        "enforcement": each.enforcement if isinstance(each, PackRule) else "",
        "kinds": each.rule.kinds_text(),
        "tags": ", ".join(each.rule.tags),
        "frameworks": ", ".join(each.rule.frameworks),
        "mended by": "`trainer-infra check --fix`" if each.rule.remediates else "",
    }
    width = max(map(len, facts))
    yield from (f"{name:<{width}}  {words}" for name, words in facts.items() if words)


def _parameters(each: ConfiguredRule) -> Iterator[str]:
    told = tuple(parameters_of(each.rule.parameters, each.parameters))
    if told:
        yield from ("", "Parameters:")
    for one in told:
        yield f"  {one.name}: {one.type}, {one.default}"
        yield from wrap(one.description, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _example(case: Case | None) -> Iterator[str]:
    if case is not None:
        yield from ("", f"Example, {case.name}; - is bad, + is good:", "")
        yield from (f"  {line}".rstrip() for line in example_lines(case))


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


def _given(case: Case) -> Iterator[str]:
    if case.parameters is not None:
        yield f"parameters: {yamltext.flow_text(case.parameters)}"
    if case.pools:
        yield from _field("pools", [each.to_wire() for each in case.pools], ())


def _objects(case: Case, *, is_good: bool) -> Iterator[str]:
    first, *others = case.objects(is_good=is_good)
    yield from _written(first, case.bad.path)
    for each in others:
        yield from ("---", *_written(each, ()))


def _written(value: Any, way: Path) -> list[str]:
    """The lines of a value; `way` leads to the field in question, () where it is not inside."""
    if not _is_block(value, way):
        return [yamltext.flow_text(value)]
    if isinstance(value, Mapping):
        return [line for key in value for line in _field(key, value[key], _below(way, key))]
    return [line for at, each in enumerate(value) for line in _item(each, _below(way, at))]


def _field(key: str, value: Any, way: Path) -> list[str]:
    name, text = yamltext.flow_text(key), _written(value, way)
    if not _is_block(value, way):
        return [f"{name}: {text[0]}"]
    indent = SAME if isinstance(value, Mapping) else ""
    return [f"{name}:", *(f"{indent}{line}" for line in text)]


def _item(value: Any, way: Path) -> list[str]:
    first, *others = _written(value, way)
    return [f"- {first}", *(f"{SAME}{line}" for line in others)]


def _is_block(value: Any, way: Path) -> bool:
    if not value or not isinstance(value, Mapping | list | tuple):
        return False
    parts = value.values() if isinstance(value, Mapping) else value
    is_leaf = not any(isinstance(each, Mapping | list | tuple) and each for each in parts)
    return bool(way) or not is_leaf or len(yamltext.flow_text(value)) > _WIDTH


def _below(way: Path, key: str | int) -> Path:
    return way[1:] if way and way[0] == key else ()
