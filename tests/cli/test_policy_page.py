"""What docs/policy.md and docs/rules.md show is so."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import typer.core
import typer.main
import yaml
from pydantic import BaseModel

from tests.cli.command import Command
from trainer_infra.cli import main, policy
from trainer_infra.review import rules_page
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.inventory import Use
from trainer_infra.rules import RULES, configuration, exemption, pack, packs, subject
from trainer_infra.rules.configuration import ChartValues, Configuration, Environment
from trainer_infra.rules.exemption import Exemption, ExemptionLimits
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.pack import Enforcement, Selection, Setting
from trainer_infra.rules.pool import Pool, Taint

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
PAGE = (DOCS / "policy.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


CHARTS, FILE, OBJECT, LIMITS, ELSEWHERE, CASES = blocks("yaml")
PACK, SERVED = blocks("python")


def test_the_page_of_rules_is_what_the_rules_say() -> None:
    """To change it: `.venv/bin/python -m tools.rules_page`."""
    assert (DOCS / "rules.md").read_text() == rules_page.rules_page(RULES)


def test_the_configuration_is_one_with_every_key() -> None:
    found = configuration.read_configuration(FILE, "policy.md")
    settled = configuration.resolve_configuration(found, "production", None)
    applied = {each.rule.id: each for each in pack.pack_rules(settled.pack)}
    assert {rule.id for rule in RULES} - {*applied} == {"deadline"}
    assert (applied["image-digest"].severity, applied["image-digest"].enforcement) == (
        Severity.CRITICAL,
        Enforcement.MANDATORY,
    )
    assert applied["image-registry"].parameters.to_wire() == {"allow": ["registry.example.com"]}
    assert (settled.pools, settled.is_whole) == ((), True)
    assert [each.expires for each in settled.exemptions] == [date(2027, 1, 31)]
    written = {*keys(yaml.safe_load(FILE))}
    models = (Configuration, ChartValues, Environment, Setting, Pool, Taint, Exemption)
    assert [name for model in models for name in wire(model) if name not in written] == []


def test_the_configuration_of_charts_is_one_with_every_key() -> None:
    (found,) = configuration.read_configuration(CHARTS, "policy.md").charts
    assert found.to_wire().keys() == {*wire(ChartValues)}


def test_a_configuration_says_what_annotations_may_exempt_from() -> None:
    found = configuration.read_configuration(LIMITS, "policy.md")
    rules = pack.pack_rules(configuration.resolve_configuration(found, None, None).pack)
    assert exemption.exemption_limits(rules) == ExemptionLimits(
        allowed=True, up_to="medium", days=90
    )
    limits = [
        exemption.exemption_limits(pack.pack_rules(each))
        for each in (packs.TRAINING, packs.RESTRICTED)
    ]
    assert [(each.allowed, each.up_to, each.days) for each in limits] == [
        (True, "medium", 366),
        (False, "medium", 366),
    ]


def test_a_runtime_of_another_repository_is_named() -> None:
    found = configuration.read_configuration(ELSEWHERE, "policy.md")
    settled = configuration.resolve_configuration(found, None, packs.TRAINING)
    applied = {each.rule.id: each for each in pack.pack_rules(settled.pack)}
    named = {"judgedElsewhere": ["torch-of-the-platform"]}
    assert applied["runtime-exists"].parameters.to_wire() == named


def keys(value: Any) -> list[str]:
    if isinstance(value, list):
        return [key for each in value for key in keys(each)]
    if isinstance(value, dict):
        return [*value, *(key for each in value.values() for key in keys(each))]
    return []


def wire(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def test_the_annotation_excuses_its_rule() -> None:
    told = exemption.annotated_exemptions(
        subject.subject_of(yaml.load(OBJECT, Loader=yaml.CBaseLoader))
    )
    assert told.problems == ()
    assert told.exemptions == (
        Exemption(
            rule="image-digest",
            owner="team-vision",
            reason="built daily",
            expires=date(2027, 1, 31),
        ),
    )


def test_tables_name_every_option_format_pack_and_word() -> None:
    whole = typer.main.get_command(main.app)
    assert isinstance(whole, typer.core.TyperGroup)
    params = whole.commands["check"].params
    options = {name for each in params for name in each.opts if name.startswith("--")}
    shown = set(re.findall(r"^\| `(--[a-z-]+)", PAGE, re.MULTILINE))
    assert shown | {"--kubeconfig", "--context"} == options
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    uses = (Use.JUDGED, Use.DATA)
    assert named == [*uses, *FORMATS, *(each.name for each in packs.PACKS)]
    assert [each for each in Use if f"| `{each}` |" not in PAGE] == []
    assert ([*policy.Format], [*policy.Least]) == ([*FORMATS], [*Severity])
    words = (*Severity, *Enforcement, *wire(Selection), policy.USUAL)
    assert [each for each in words if f"`{each}`" not in PAGE] == []


def test_the_pack_is_one_and_its_examples_are_as_they_say(cli: Command) -> None:
    cli.write("vision/pack.py", PACK)
    (cli.folder / "vision" / "fixtures").mkdir()
    cli.write("vision/fixtures/nodes-limit.yaml", CASES)
    done = cli("rules", "test", "vision")
    assert (done.err, done.code) == ("", 0)
    assert done.out.startswith("vision: ")
    listed = cli("rules", "list", "--pack", "vision").out.splitlines()[1:]
    selection = Selection(frameworks=("pod-security-standards",), severity=Severity.MEDIUM)
    assert [line.split()[0] for line in listed] == [
        rule.id
        for rule in RULES
        if rule.id == "nodes-limit" or (selection.has(rule) and rule.id != "seccomp")
    ]


def test_the_pack_is_served_as_ours_are() -> None:
    ours = (DOCS.parent / "policies" / "training" / "__main__.py").read_text()
    _, importing, serving = filter(None, SERVED.splitlines())
    assert importing in ours
    assert serving.replace("PACK", "packs.TRAINING") in ours
