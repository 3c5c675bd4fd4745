"""A pack: which rules are applied, how strictly, and with what parameters.

`packs` has those that we ship; a user's own is one more value of `Pack`. `configuration` changes a
pack for an environment. Used by `review` for pull requests and by `deploy` for CrossGuard.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import field_validator

from trainer_infra.api.base import KubeModel
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.rules import RULES
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.rule import AnyRule, Parameters, Severity


class Enforcement(StrEnum):
    """What CrossGuard does about a finding; the words are CrossGuard's."""

    ADVISORY = "advisory"
    """It is shown."""
    MANDATORY = "mandatory"
    """Nothing is deployed."""
    REMEDIATE = "remediate"
    """The object is changed as the finding's patch says; without a patch as mandatory."""
    DISABLED = "disabled"
    """The rule is off for every object."""


class Setting(KubeModel):
    """What a pack or a configuration says about one rule; None leaves what was."""

    enforcement: Enforcement | None = None
    """What CrossGuard does about its findings."""
    severity: Severity | None = None
    """How bad they are."""
    parameters: JSONDict | None = None
    """The rule's parameters; those not named stay as they were."""

    @field_validator("enforcement", mode="before")
    @classmethod
    def _from_yaml(cls, given: object) -> object:
        """`off` without quotes is false in YAML 1.1: it turns the rule off."""
        if given is True:
            raise ValueError(f"is true in YAML; write {', '.join(Enforcement)}")
        return Enforcement.DISABLED if given is False else given

    def over(self, other: "Setting") -> "Setting":
        """This setting, and where it says nothing the other's."""
        both = {**(other.parameters or {}), **(self.parameters or {})}
        return Setting(
            enforcement=self.enforcement or other.enforcement,
            severity=self.severity or other.severity,
            parameters=both or None,
        )


class Selection(KubeModel):
    """Rules by what they are; a rule is selected when every field that is given agrees."""

    ids: tuple[str, ...] | None = None
    """Its id is one of these."""
    severity: Severity | None = None
    """It is at least as bad."""
    tags: tuple[str, ...] | None = None
    """It has one of these tags."""
    frameworks: tuple[str, ...] | None = None
    """It is part of one of these standards: `pod-security-standards`, or with `/restricted`."""

    def has(self, rule: AnyRule) -> bool:
        """Whether the rule is selected."""
        wanted = tuple(f"{each}/" for each in self.frameworks or ())
        return (
            (self.ids is None or rule.id in self.ids)
            and (self.severity is None or rule.severity.is_at_least(self.severity))
            and (self.tags is None or bool({*self.tags} & {*rule.tags}))
            and (
                self.frameworks is None
                or any(f"{each}/".startswith(wanted) for each in rule.frameworks)
            )
        )


@dataclass(frozen=True, slots=True)
class Pack:
    """Rules that are applied together."""

    name: str
    description: str = ""
    """Whom it is for, a sentence."""
    selection: Selection = field(default_factory=Selection)
    """Which rules are in it."""
    mandatory_from: Severity = Severity.HIGH
    """Severity from which on a finding stops a deployment, where `settings` says nothing else."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """What else holds for a rule, by id."""
    rules: tuple[AnyRule, ...] = RULES
    """What is selected from: ours, and a user's own beside them."""

    def with_settings(self, settings: Mapping[str, Setting]) -> "Pack":
        """The pack with more settings, which win."""
        known = dict(self.settings)
        for rule, setting in settings.items():
            known[rule] = setting.over(known.get(rule, Setting()))
        return replace(self, settings=known)


@dataclass(frozen=True, slots=True)
class PackRule(ConfiguredRule):
    """A rule of a pack, as it is applied."""

    enforcement: Enforcement
    """What CrossGuard does about a finding."""


def pack_rules(pack: Pack) -> tuple[PackRule, ...]:
    """The rules of a pack in order, those left out that are disabled.

    A rule that the pack has settings for is in it, though it is not selected.

    Raises:
        InvalidInput: Settings name no rule, or do not fit their rule; has every problem.
    """
    problems = list(_unknown(pack))
    found = []
    for rule in pack.rules:
        setting = pack.settings.get(rule.id)
        if setting is None and not pack.selection.has(rule):
            continue
        try:
            found.append(_applied(pack, rule, setting or Setting()))
        except InvalidInput as error:
            problems += [_of_rule(rule, each) for each in error.problems]
    if problems:
        raise InvalidInput(problems)
    return tuple(each for each in found if each.enforcement != Enforcement.DISABLED)


def _applied(pack: Pack, rule: AnyRule, setting: Setting) -> PackRule:
    severity = setting.severity or rule.severity
    stops = severity.is_at_least(pack.mandatory_from)
    usual = Enforcement.MANDATORY if stops else Enforcement.ADVISORY
    parameters: Parameters = rule.parameters(**(setting.parameters or {}))
    return PackRule(rule, severity, parameters, setting.enforcement or usual)


def _unknown(pack: Pack) -> Iterable[Problem]:
    known = {rule.id for rule in pack.rules}
    for each in (*pack.settings, *(pack.selection.ids or ())):
        if each not in known:
            fix = "`trainer-infra rules list` lists all"
            yield Problem(f"rules.{each}", "is not a rule", each, fix, f"pack {pack.name}")


def _of_rule(rule: AnyRule, problem: Problem) -> Problem:
    path = f"rules.{rule.id}.parameters"
    return replace(problem, path=f"{path}.{problem.path}" if problem.path else path)
