"""`trainer-infra rules`: the policy rules listed and explained, and packs tried on their examples."""

import importlib.util
from collections.abc import Mapping
from typing import Final

import typer

from trainer_infra.cli import screen, table
from trainer_infra.cli.policy import RulesRequest
from trainer_infra.cli.table import Column
from trainer_infra.review import as_json, pack_folder, rule_tests, rulebook, summary, text
from trainer_infra.review.pack_folder import PackInFolder
from trainer_infra.review.rule_tests import FORMS, Form
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Selection

COLUMNS: Final[Mapping[str, Column]] = {
    "SEVERITY": Column("SEVERITY", styles=text.STYLES),
    "TAGS": Column("TAGS", below=True),
    "TITLE": Column("TITLE", folds=True),
    "KINDS": Column("KINDS", below=True),
}
"""Columns that are more than a name."""


def list_rules(asked: RulesRequest, output: str) -> str:
    """The rules that were asked for, as a table or as JSON.

    Raises:
        InvalidInput: There is no such pack.
    """
    selection = Selection(
        tags=tuple(asked.tag or ()) or None,
        severity=Severity(asked.severity) if asked.severity else None,
        frameworks=tuple(asked.framework or ()) or None,
    )
    rules = _chosen(_found(asked.pack), selection)
    if output == "json":
        return as_json.dumped_json({"rules": [rulebook.rule_wire(each) for each in rules]})
    if not rules:
        typer.echo("no rule is all that the options ask for", err=True)
    columns = [COLUMNS.get(name, Column(name)) for name in rulebook.column_names(rules)]
    lines = table.table_lines(columns, list(rulebook.rule_rows(rules)), screen.screen_of_stdout())
    return "".join(f"{line}\n" for line in lines)


def explain_rule(rule: str, pack: str | None) -> str:
    """All that there is to say of a rule, of a pack or of ours."""
    where = _found(pack)
    chosen = rulebook.found_rules(_chosen(where, Selection()), rule)
    return rulebook.explained_rule(chosen, pack_folder.first_example(where, rule))


def try_rules(pack: str) -> int:
    """Print which rules of a pack (its name or folder) are not as their examples say; the exit code.

    Raises:
        InvalidInput: There is no such pack, or its examples cannot be read.
    """
    where = pack_folder.find_pack(pack)
    examples, missing = pack_folder.all_examples(where)
    forms = _forms()
    failed = (*missing, *rule_tests.failed_examples(examples, forms))
    for each in failed:
        typer.echo(each.sentence())
    rules = len({each.chosen.rule.id for each in examples})
    scope = f"{summary.count_text(rules, 'rule')} on {summary.count_text(len(examples), 'example')}"
    bad = summary.count_text(len(failed), "failure") if failed else "all is as it should be"
    told = " and ".join(forms)
    typer.echo(f"{where.pack.name}: {scope}, each good and bad ({told}): {bad}")
    return 1 if failed else 0


def _forms() -> Mapping[str, Form]:
    """The plain form, and CrossGuard's where Pulumi is installed."""
    if importlib.util.find_spec("pulumi_policy") is None:
        return FORMS
    from trainer_infra.crossguard import policy_form  # noqa: PLC0415  it loads Pulumi

    return {**FORMS, "CrossGuard": policy_form.crossguard_form}


def _found(pack: str | None) -> PackInFolder | None:
    return None if pack is None else pack_folder.find_pack(pack)


def _chosen(where: PackInFolder | None, selection: Selection) -> tuple[ConfiguredRule, ...]:
    return rulebook.chosen_rules(where.pack if where else None, selection)
