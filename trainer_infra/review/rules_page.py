"""docs/rules.md: every rule with an example, made of the registry. Pure.

Written by `python -m tools.rules_page`; a test tells when the file is not what the registry says.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from trainer_infra.review import rulebook
from trainer_infra.rules import fixture
from trainer_infra.rules.rule import AnyRule

_HEAD: Final = """\
# Policy rules

Made of the rules by `.venv/bin/python -m tools.rules_page`; change a rule, not this page. The same
of one rule is shown by `trainer-infra rules explain ID`. How rules are applied, set and excused:
[policy.md](policy.md).

In the examples a line with `-` is bad and one with `+` is good; documents after the first one are
there beside it. Each rule has more of them in `trainer_infra/rules/fixtures/`.
"""
_GROUPS: Final = {
    "shape": "Shape: what is refused, or can never start",
    "admission": "Admission: what the API server refuses of pods and Jobs",
    "supply-chain": "Supply chain: where images and code come from",
    "pod-security": "Pod security: what pods may do, and secrets",
    "capacity": "Capacity: what is asked for, for how long, at what cost",
    "scheduling": "Scheduling: what can never be admitted",
    "data": "Data: where it comes from, and where results go",
    "recovery": "Recovery: what a run has left after a preemption",
    "tuning": "Fine-tuning",
}
"""Titles by the first tag."""
_BAR: Final = r"\|"
"""What would end a table's cell, as a character of it."""


def rules_page(rules: Iterable[AnyRule]) -> str:
    """The page."""
    listed = tuple(rules)
    grouped = [(name, tuple(each)) for name, each in groupby(listed, lambda rule: rule.tags[0])]
    lines = [_HEAD, *_contents(grouped)]
    for name, group in grouped:
        lines += (f"## {_GROUPS.get(name, name)}", "")
        lines += (line for rule in group for line in _rule(rule))
    return "\n".join(lines).rstrip("\n") + "\n"


def _contents(grouped: Iterable[tuple[str, tuple[AnyRule, ...]]]) -> Iterator[str]:
    yield from ("| rules | |", "|---|---|")
    for name, group in grouped:
        links = ", ".join(f"[{rule.id}](#{rule.id})" for rule in group)
        yield f"| {name} | {links} |"
    yield ""


def _rule(rule: AnyRule) -> Iterator[str]:
    yield from (f"### {rule.id}", "", f"**{rule.title}.** {rule.why}", "")
    yield from (f"Fix: {rule.fix}", "", _facts(rule), "", *_parameters(rule))
    case = fixture.shipped_cases(rule.id)[0]
    yield from (f"Example, {case.name}:", "", "```diff")
    yield from (line.rstrip() for line in rulebook.example_lines(case))
    yield from ("```", "")


def _facts(rule: AnyRule) -> str:
    """Severity, kinds, tags and standards on one line."""
    facts = {
        "Severity": rule.severity,
        "kinds": rule.kinds_text(),
        "tags": ", ".join(rule.tags),
        "standards": ", ".join(rule.frameworks),
    }
    told = "; ".join(f"{name}: {words}" for name, words in facts.items() if words)
    return f"{told}. `--fix` mends it." if rule.remediates else f"{told}."


def _parameters(rule: AnyRule) -> Iterator[str]:
    told = tuple(rulebook.parameters_of(rule.parameters))
    if told:
        yield from ("| parameter | type | default | |", "|---|---|---|---|")
        for each in told:
            cells = (f"`{each.name}`", each.type, f"`{each.default}`", each.description)
            yield f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |"
        yield ""
