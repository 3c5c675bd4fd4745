"""Rules as CrossGuard policies: what `pulumi preview` and `pulumi up` judge before they deploy.

A policy pack's `__main__.py` calls `serve`, which does not return. Each rule is a policy of its own,
so that Pulumi's own configuration of packs can switch it, and set its parameters; rules that look at
other objects are stack policies.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pulumi_policy as crossguard
from pulumi_policy import ResourceValidationArgs, StackValidationArgs

from trainer_infra import names
from trainer_infra.api.finding import path_text
from trainer_infra.deploy import policy_subjects, policy_values, remediation
from trainer_infra.deploy.policy_subjects import Declared
from trainer_infra.errors import InvalidInput
from trainer_infra.rules import configuration, exemption, judge, pack, world
from trainer_infra.rules.configuration import Configuration, Settled
from trainer_infra.rules.exemption import Exemption
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import Chosen, Judged
from trainer_infra.rules.pack import Applied, Enforcement, Pack
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.world import World

Report = Callable[..., None]
"""Called with a message, and for a stack with the URN that it is about."""

ENVIRONMENT: Final = "TRAINER_INFRA_ENVIRONMENT"
"""Variable that names the environment of a pack's configuration."""
UNSEEN: Final = "not-known-yet"
"""Policy that says what the others could not see."""
EXEMPT: Final = "exempt"
"""Policy that says who answers for what the others would have said."""
DEPLOYED: Final = "-deployed"
"""Ends the name of the policy that judges what a mending one left."""
_ADVISORY: Final = crossguard.EnforcementLevel.ADVISORY


def serve(chosen: Pack, file: Path | None = None, environment: str | None = None) -> None:
    """Serve a pack to the engine until that ends; does not return.

    What is wrong with configuration or pack ends the process with a sentence for each problem.

    Args:
        chosen: The pack.
        file: Its configuration, `Path(__file__).with_name("policy.yaml")`; None for none.
        environment: One of the configuration; None for that of `TRAINER_INFRA_ENVIRONMENT`. The stack
            is not known here: the engine tells it to packs in a call that pulumi_policy leaves out.
    """
    try:
        found = configuration.read(file.read_text("utf-8"), str(file)) if file else Configuration()
        where = environment or os.environ.get(ENVIRONMENT)
        known = list(policies(configuration.settled(found, where, chosen)))
    except (InvalidInput, OSError) as error:
        sys.exit(f"policy pack {chosen.name}: {error}")
    crossguard.PolicyPack(
        chosen.name,
        policies=known,
        enforcement_level=_ADVISORY,
        description=chosen.description,
    )


def policies(settled: Settled) -> Iterator[crossguard.Policy]:
    """A policy for every rule that is applied, and two that say what those kept to themselves."""
    known = _Known(settled)
    rules = pack.applied(settled.pack)
    for each in rules:
        yield _of_stack(each, known) if each.rule.looks_around else _of_resource(each, known)
        if each.enforcement == Enforcement.REMEDIATE:
            yield _after_all(each, known)
    said = {
        UNSEEN: ("What rules cannot see as long as it is not known", _unseen),
        EXEMPT: ("What is exempt from rules, and who answers for it", _exempt),
    }
    for name, (description, say) in said.items():
        validate = _saying(name, say, known)
        yield crossguard.ResourceValidationPolicy(name, description, validate, _ADVISORY)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A resource, and what rules said of it."""

    objects: tuple[Declared, ...]
    """What it declares."""
    asked: set[str] = field(default_factory=set)
    """Policies that were asked about it."""
    verdicts: list[tuple[Declared, Judged]] = field(default_factory=list)
    """What they found, with the exempt and the unseen."""


class _Known:
    """The resources of a deployment, as they were last judged.

    The engine asks one policy after the other about a resource; a policy that asks again is asked about
    other properties of it. Stack policies find here what the inputs rendered to: a state has less.
    """

    def __init__(self, settled: Settled) -> None:
        self.settled = settled
        self.alone = World(pools=settled.pools)
        self._entries: dict[str, _Entry] = {}

    def of(self, args: Any, policy: str) -> _Entry:
        """What is known of a resource."""
        found = self._entries.get(args.urn)
        if found is None or policy in found.asked:
            before = [each.objects for each in tuple(self._entries.values())]
            found = self._entries[args.urn] = _Entry(_objects(args, _runtimes(before)))
        found.asked.add(policy)
        return found

    def judged(self, args: Any, chosen: Chosen) -> Iterator[tuple[Declared, Finding]]:
        """What a rule says of a resource, unless it is exempt."""
        entry = self.of(args, chosen.rule.id)
        for each in entry.objects:
            for verdict in judge.judge(each.subject, self.alone, [chosen]):
                entry.verdicts.append((each, verdict))
                yield from ((each, finding) for finding in self.counting(each, verdict))

    def counting(self, declared: Declared, verdict: Judged) -> tuple[Finding, ...]:
        """The findings that nobody answers for."""
        excused = self.excusing(declared.subject, verdict.chosen.rule.id)
        return () if excused else verdict.findings

    def excusing(self, subject: Subject, rule: str) -> Exemption | None:
        """The exemption that holds for a rule's findings."""
        today = datetime.now(UTC).date()
        exemptions = (*exemption.annotated(subject).exemptions, *self.settled.exemptions)
        found = exemption.excusing(exemptions, rule, subject, today)
        return found if found and found.state(today) == exemption.State.ACTIVE else None

    def of_stack(self, resources: Sequence[Any]) -> Mapping[str, tuple[Declared, ...]]:
        """The objects of all resources, by URN; each TrainJob with the runtimes of the whole stack."""
        known = {
            each.urn: self._entries[each.urn].objects
            if each.urn in self._entries
            else _objects(each, ())
            for each in resources
        }
        runtimes = _runtimes(known.values())
        return {
            each.urn: _objects(each, runtimes)
            if policy_subjects.is_plain(each.resource_type)
            else known[each.urn]
            for each in resources
        }


def _unseen(entry: _Entry, _known: _Known) -> Iterator[str]:
    """What rules could not see of a resource, in one sentence."""
    missed: dict[str, None] = {}
    ids: dict[str, None] = {}
    for declared, verdict in entry.verdicts:
        for path in verdict.unseen:
            missed[f"{_member(declared)}{path_text(path)}"] = None
            ids[verdict.chosen.rule.id] = None
    if missed:
        yield f"{', '.join(missed)}: not known yet, and so not judged by {', '.join(ids)}"


def _exempt(entry: _Entry, known: _Known) -> Iterator[str]:
    """What somebody answers for, and exemptions that cannot be read."""
    for declared, verdict in entry.verdicts:
        excused = known.excusing(declared.subject, verdict.chosen.rule.id)
        if excused and verdict.findings:
            yield (
                f"{_member(declared)}{excused.rule} is broken in {len(verdict.findings)} places; "
                f"{excused.owner} answers for it until {excused.expires}: {excused.reason}"
            )
    for declared in entry.objects:
        for problem in exemption.annotated(declared.subject).problems:
            yield f"{_member(declared)}{problem}"


def _objects(resource: Any, runtimes: Sequence[Any]) -> tuple[Declared, ...]:
    properties = policy_values.plain(resource.props)
    return policy_subjects.of(resource.resource_type, properties, runtimes)


def _runtimes(found: Iterable[tuple[Declared, ...]]) -> tuple[Any, ...]:
    every = (each.subject for objects in found for each in objects)
    return tuple(each.object.raw for each in every if each.kind in names.RUNTIMES)


def _saying(
    name: str, say: Callable[[_Entry, _Known], Iterator[str]], known: _Known
) -> Callable[[ResourceValidationArgs, Report], None]:
    def validate(args: ResourceValidationArgs, report: Report) -> None:
        for each in say(known.of(args, name), known):
            report(each)

    return validate


def _of_resource(applied: Applied, known: _Known) -> crossguard.Policy:
    def validate(args: ResourceValidationArgs, report: Report) -> None:
        for declared, finding in known.judged(args, _configured(applied, args)):
            report(_message(declared, finding))

    def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        chosen = _configured(applied, args)
        changes = [
            change
            for declared in _objects(args, ())
            for finding in _found(declared, chosen, known.alone, known)
            for change in finding.patch
        ]
        return remediation.remedied(args.resource_type, args.props, changes) if changes else None

    # CrossGuard's annotations know coroutines only; its code takes properties as well.
    mends: Any = remediate if applied.rule.remediates else None
    return crossguard.ResourceValidationPolicy(**_said(applied), validate=validate, remediate=mends)


def _found(declared: Declared, chosen: Chosen, around: World, known: _Known) -> Iterator[Finding]:
    """What a rule says of one object, unless it is exempt."""
    for verdict in judge.judge(declared.subject, around, [chosen]):
        yield from known.counting(declared, verdict)


def _of_stack(applied: Applied, known: _Known) -> crossguard.Policy:
    def validate(args: StackValidationArgs, report: Report) -> None:
        found = known.of_stack(args.resources)
        subjects = (declared.subject for each in found.values() for declared in each)
        settled = known.settled
        around = world.of(subjects, settled.pools, is_whole=settled.is_whole)
        chosen = _configured(applied, args)
        for urn, each in found.items():
            for declared in each:
                for finding in _found(declared, chosen, around, known):
                    report(_message(declared, finding), urn)

    return crossguard.StackValidationPolicy(**_said(applied), validate=validate)


def _after_all(applied: Applied, known: _Known) -> crossguard.Policy:
    """The mandatory half of a rule that mends: it judges what is deployed in the end.

    The engine loses what a policy mended when it replaces a resource (seen with CLI 3.259). Our own
    resources keep it (`remedied`), those of other providers are found here.
    """

    def validate(args: StackValidationArgs, report: Report) -> None:
        for resource in args.resources:
            for declared in _objects(resource, ()):
                for finding in _found(declared, applied, known.alone, known):
                    report(_message(declared, finding), resource.urn)

    said = {
        "name": f"{applied.rule.id}{DEPLOYED}",
        "enforcement_level": crossguard.EnforcementLevel.MANDATORY,
        "config_schema": None,
    }
    return crossguard.StackValidationPolicy(**_said(applied) | said, validate=validate)


def _said(applied: Applied) -> dict[str, Any]:
    """What CrossGuard is told of a rule."""
    rule = applied.rule
    schema = rule.parameters.model_json_schema()
    properties = schema.get("properties") or {}
    return {
        "name": rule.id,
        "description": rule.title,
        "display_name": rule.title,
        "enforcement_level": crossguard.EnforcementLevel(applied.enforcement.value),
        "severity": crossguard.Severity(applied.severity.value),
        "tags": list(rule.tags),
        "remediation_steps": rule.fix,
        "config_schema": crossguard.PolicyConfigSchema(properties) if properties else None,
    }


def _configured(applied: Applied, args: Any) -> Chosen:
    """The rule with the parameters that Pulumi's own configuration of the pack has for it.

    Raises:
        InvalidInput: They do not suit it.
    """
    given = policy_values.plain(args.get_config() or {})
    if not given:
        return applied
    known = applied.parameters.to_wire()
    return Chosen(applied.rule, applied.severity, applied.rule.parameters(**{**known, **given}))


def _message(declared: Declared, finding: Finding) -> str:
    return f"{_member(declared)}{message(finding)}"


def message(finding: Finding) -> str:
    """`<field>: <what>, got <value>; <fix> (<where it was seen>)`."""
    seen = f" (seen at {finding.seen_at})" if finding.seen_at else ""
    return f"{finding.problem('')}{seen}"


def _member(declared: Declared) -> str:
    return f"jobs.{declared.member}: " if declared.member else ""
