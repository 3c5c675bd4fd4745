"""Rules as CrossGuard policies: what `pulumi preview` and `pulumi up` judge before they deploy.

A policy pack's `__main__.py` calls `serve_pack`, which does not return. Each rule is a policy of
its own, so that Pulumi's own configuration of packs can switch it, and set its parameters; rules
that look at other objects are stack policies. What all of them say is found at once (`verdicts`).
"""

import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pulumi_policy as crossguard
from pulumi_policy import ResourceValidationArgs, StackValidationArgs

from trainer_infra.api.finding import path_text
from trainer_infra.crossguard import server, values
from trainer_infra.crossguard.declared_objects import (
    DeclaredObject,
    declared_objects,
    remedied_properties,
)
from trainer_infra.crossguard.server import AfterAll, FindingReceiver, RulePolicy
from trainer_infra.crossguard.verdicts import JudgedResource, Verdicts, judged_object, of_runtime
from trainer_infra.errors import InvalidInput, without_secrets
from trainer_infra.json_values import as_integer
from trainer_infra.rules import configuration, exemption, pack
from trainer_infra.rules.configuration import Configuration, ResolvedConfiguration
from trainer_infra.rules.finding import Change, Finding
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Pack, PackRule
from trainer_infra.rules.pod_security import literal_secrets
from trainer_infra.runs.redaction import Redaction

ENVIRONMENT: Final = "TRAINER_INFRA_ENVIRONMENT"
"""Variable that names the environment of a pack's configuration."""
UNSEEN: Final = "not-known-yet"
"""Policy that says what the others could not see."""
EXEMPT: Final = "exempt"
"""Policy that says who answers for what the others would have said."""
DEPLOYED: Final = "-deployed"
"""Ends the name of the policy that judges what a mending one left."""


def serve_pack(chosen: Pack, file: Path | None = None, environment: str | None = None) -> None:
    """Serve a pack to the engine until that ends; does not return.

    What is wrong with configuration or pack ends the process with a sentence for each problem.

    Args:
        chosen: The pack.
        file: Its configuration, `Path(__file__).with_name("policy.yaml")`; None for none.
        environment: One of the configuration; None for that of `TRAINER_INFRA_ENVIRONMENT`. The stack
            is not known here: the engine tells it to packs in a call that pulumi_policy leaves out.
    """
    try:
        found = (
            configuration.read_configuration(file.read_text("utf-8"), str(file))
            if file
            else Configuration()
        )
        where = environment or os.environ.get(ENVIRONMENT)
        known = list(policies_of_pack(configuration.resolve_configuration(found, where, chosen)))
    except (InvalidInput, OSError) as error:
        sys.exit(f"policy pack {chosen.name}: {error}")
    server.serve_policies(server.Servicer(chosen.name, known, chosen.description))


def policies_of_pack(settled: ResolvedConfiguration) -> Iterator[crossguard.Policy]:
    """A policy for every rule that is applied, and two that say what those kept to themselves."""
    rules = pack.pack_rules(settled.pack)
    verdicts = Verdicts(settled, rules)
    for each in rules:
        policy = (_of_stack if each.rule.looks_around else _of_resource)(each, verdicts)
        yield policy
        if each.rule.remediates:
            yield _after_all(each, policy, verdicts)
    for name, description, say in (
        (UNSEEN, "What rules cannot see as long as it is not known", _unseen),
        (EXEMPT, "What is exempt from rules, and who answers for it", _exempt),
    ):
        level, validate = crossguard.EnforcementLevel.ADVISORY, _saying(say, verdicts)
        yield crossguard.ResourceValidationPolicy(name, description, validate, level)


def _unseen(asked: JudgedResource, _verdicts: Verdicts) -> Iterator[str]:
    """What rules could not see of a resource, in one sentence."""
    unseen = [(one, said, path) for one, said in asked.given for path in said.unseen]
    missed = dict.fromkeys(f"{_member(one)}{path_text(path)}" for one, _, path in unseen)
    ids = dict.fromkeys(said.chosen.rule.id for _, said, _ in unseen)
    if missed:
        yield f"{', '.join(missed)}: not known yet, and so not judged by {', '.join(ids)}"


def _exempt(asked: JudgedResource, verdicts: Verdicts) -> Iterator[str]:
    """What is exempt and who answers for it, and exemptions that cannot be read."""
    for declared, verdict in asked.given:
        excused = verdicts.active_exemption(declared.subject, verdict.chosen)
        if excused and verdict.findings:
            yield (
                f"{_member(declared)}{excused.rule} is broken in {len(verdict.findings)} places; "
                f"{excused.owner} answers for it until {excused.expires}: {excused.reason}"
            )
    for declared in asked.objects:
        for problem in exemption.annotated_exemptions(declared.subject).problems:
            yield f"{_member(declared)}{problem}"


def _saying(
    say: Callable[[JudgedResource, Verdicts], Iterator[str]], verdicts: Verdicts
) -> Callable[..., None]:
    def validate(args: ResourceValidationArgs, report: FindingReceiver) -> None:
        for each in say(verdicts.of_resource(args), verdicts):
            report(without_secrets(each))

    return validate


def _of_resource(applied: PackRule, verdicts: Verdicts) -> crossguard.Policy:
    configured = _RuleParameters(applied)

    def validate(args: ResourceValidationArgs, report: FindingReceiver) -> None:
        asked = verdicts.of_resource(args)
        chosen = configured(args.get_config())
        for declared, finding in verdicts.findings_of_rule(asked, applied, chosen):
            if not report.is_advisory or verdicts.tells(declared, applied.rule.id, finding):
                report(_message(declared, finding))

    def says_something(args: ResourceValidationArgs, config: Mapping[str, Any] | None) -> bool:
        is_other = configured(config) is not applied
        return is_other or applied.rule.id in verdicts.of_resource(args).verdicts

    def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        chosen = configured(args.get_config())
        changes = [
            Change((*declared.within, *change.path), change.value)
            for declared in declared_objects(args)
            for finding in _alone(declared, chosen, verdicts)
            for change in finding.patch
        ]
        return remedied_properties(args.resource_type, args.props, changes) if changes else None

    # CrossGuard's annotations know coroutines only; its code takes properties as well.
    mends: Any = remediate if applied.rule.remediates else None
    policy = RulePolicy(**_said(applied, validate), remediate=mends)
    policy.says_something = says_something
    return policy


def _alone(
    declared: DeclaredObject, chosen: ConfiguredRule, verdicts: Verdicts
) -> Iterator[Finding]:
    """What a rule says of one object, unless it is exempt."""
    for verdict in judged_object(declared, verdicts.alone, [chosen]):
        yield from verdicts.counted_findings(declared, verdict)


def _of_stack(applied: PackRule, verdicts: Verdicts) -> crossguard.Policy:
    configured = _RuleParameters(applied)

    def validate(args: StackValidationArgs, report: FindingReceiver) -> None:
        asked = verdicts.of_stack(args)
        found = verdicts.findings_of_rule(asked, applied, configured(args.get_config()))
        for same in _grouped(found, by_runtime=report.is_advisory):
            declared, finding = same[0]
            others = f" (and {len(same) - 1} other TrainJobs on it)" if same[1:] else ""
            report(f"{_message(declared, finding)}{others}", declared.urn)

    return crossguard.StackValidationPolicy(**_said(applied, validate))


def _grouped(
    found: Iterable[tuple[DeclaredObject, Finding]], *, by_runtime: bool
) -> Iterable[list[tuple[DeclaredObject, Finding]]]:
    """Findings in order, those that TrainJobs have from one runtime together where that is asked."""
    groups: dict[Hashable, list[tuple[DeclaredObject, Finding]]] = {}
    for index, (declared, finding) in enumerate(found):
        same = of_runtime(declared, finding) if by_runtime else None
        groups.setdefault(index if same is None else same, []).append((declared, finding))
    return groups.values()


def _after_all(
    applied: PackRule, mends: crossguard.Policy, verdicts: Verdicts
) -> crossguard.Policy:
    """The mandatory half of a rule that mends.

    The engine loses what a policy mended when it replaces a resource (seen with CLI 3.259). Our own
    resources keep it (`remediation_through_replace`), those of other providers are found here.
    """
    configured = _RuleParameters(applied)

    def validate(args: StackValidationArgs, report: FindingReceiver) -> None:
        chosen = configured(args.get_config())
        for each in args.resources:
            for declared in declared_objects(each):
                for finding in _alone(declared, chosen, verdicts):
                    report(_message(declared, finding), declared.urn)

    said = {
        "name": f"{applied.rule.id}{DEPLOYED}",
        "enforcement_level": crossguard.EnforcementLevel.MANDATORY,
        "config_schema": None,
    }
    policy = AfterAll(**_said(applied, validate) | said)
    policy.mends = mends
    return policy


def _said(applied: PackRule, validate: Callable[..., None]) -> dict[str, Any]:
    """What CrossGuard shows of a rule, and what it asks: `server` calls that with a `FindingReceiver`."""
    rule, properties = applied.rule, _properties(applied)
    return {
        "name": rule.id,
        "description": rule.title,
        "display_name": rule.title,
        "enforcement_level": crossguard.EnforcementLevel(applied.enforcement.value),
        "severity": crossguard.Severity(applied.severity.value),
        "tags": list(rule.tags),
        "validate": validate,
        "remediation_steps": rule.fix,
        "config_schema": crossguard.PolicyConfigSchema(properties) if properties else None,
    }


def _properties(applied: PackRule) -> dict[str, dict[str, Any]]:
    """The schema of the rule's parameters; the engine gives back the defaults as if they were set."""
    found = applied.rule.parameters.model_json_schema().get("properties") or {}
    known = _parameters(applied)
    for name, each in found.items():
        each.pop("default", None)
        if known[name] is not None:
            each["default"] = known[name]
    return dict(found)


def _parameters(chosen: ConfiguredRule) -> dict[str, Any]:
    return chosen.parameters.model_dump(mode="json", by_alias=True)


class _RuleParameters:
    """The rule with the parameters of Pulumi's own configuration; a call raises InvalidInput where they do not suit."""

    def __init__(self, applied: PackRule) -> None:
        self._applied = applied
        self._last: tuple[Any, ConfiguredRule] = (None, applied)

    def __call__(self, given: Mapping[str, Any] | None) -> ConfiguredRule:
        (before, chosen), applied = self._last, self._applied
        if given and given is not before:
            # It is the same for all resources of a deployment.
            plain, known = values.plain_value(given), _parameters(applied)
            chosen = applied
            if any(known.get(name) != each for name, each in plain.items()):
                parameters = applied.rule.parameters(**{**known, **plain})
                chosen = ConfiguredRule(applied.rule, applied.severity, parameters)
            self._last = (given, chosen)
        return chosen if given else applied


def _message(declared: DeclaredObject, finding: Finding) -> str:
    """The finding without the object's secrets."""
    said = literal_secrets.texts_with_secrets(declared.subject)
    hidden = Redaction.of({path_text(each.path): str(as_integer(each.raw)) for each in said})
    return hidden.text(f"{_member(declared)}{finding_message(finding)}")


def finding_message(finding: Finding) -> str:
    """`<field>: <what>, got <value>; <fix> (<where it was seen>)`."""
    seen = f" (seen at {finding.seen_at})" if finding.seen_at else ""
    return f"{finding.problem('')}{seen}"


def _member(declared: DeclaredObject) -> str:
    if declared.within:
        return f"{path_text(declared.within)}: "
    return f"jobs.{declared.member}: " if declared.member else ""
