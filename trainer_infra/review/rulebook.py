"""Rules for people: the list, and one rule with all that there is to say of it.

`rules_page` makes documentation of the same.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.review import as_json, example, parameters
from trainer_infra.rules import RULES
from trainer_infra.rules import pack as rules_pack
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Pack, PackRule, Selection
from trainer_infra.words import nearest

_WIDTH: Final = 88
"""Characters of a line of text."""
_NEAR: Final = 3
"""Most ids that are proposed for one that is unknown."""


def chosen_rules(pack: Pack | None, selection: Selection) -> tuple[ConfiguredRule, ...]:
    """The rules that are selected, of a pack or of all, as they are applied there.

    Raises:
        InvalidInput: The pack's settings do not fit its rules.
    """
    known = rules_pack.pack_rules(pack) if pack else map(ConfiguredRule.default, RULES)
    # The severity that holds in the pack is the one to select by.
    return tuple(
        each for each in known if selection.has(replace(each.rule, severity=each.severity))
    )


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
        kinds, tags = ",".join(sorted(rule.kinds)), ",".join(rule.tags)
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
    """All that there is to say of a rule.

    Args:
        each: The rule.
        case: An example of it; None where there is none.
    """
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


def _facts(each: ConfiguredRule) -> Iterator[str]:
    facts = {
        "severity": each.severity,
        "enforcement": each.enforcement if isinstance(each, PackRule) else "",
        "kinds": ", ".join(sorted(each.rule.kinds)),
        "tags": ", ".join(each.rule.tags),
        "frameworks": ", ".join(each.rule.frameworks),
        "mended by": "`trainer-infra check --fix`" if each.rule.remediates else "",
    }
    width = max(map(len, facts))
    yield from (f"{name:<{width}}  {words}" for name, words in facts.items() if words)


def _parameters(each: ConfiguredRule) -> Iterator[str]:
    told = tuple(parameters.parameters_of(each.rule.parameters, each.parameters))
    if told:
        yield from ("", "Parameters:")
    for one in told:
        yield f"  {one.name}: {one.type}, {one.default}"
        yield from wrap(one.description, _WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)


def _example(case: Case | None) -> Iterator[str]:
    if case is not None:
        yield from ("", f"Example, {case.name}; - is bad, + is good:", "")
        yield from (f"  {line}".rstrip() for line in example.example_lines(case))
