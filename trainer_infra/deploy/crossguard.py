"""Rules as CrossGuard policies: what `pulumi preview` and `pulumi up` judge before they deploy.

A policy pack's `__main__.py` calls `serve`, which does not return. Each rule is a policy of its own,
so that Pulumi's own configuration of packs can switch it, and set its parameters; rules that look at
other objects are stack policies.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pulumi
import pulumi_policy as crossguard
from pulumi_policy import ResourceValidationArgs, StackValidationArgs

from trainer_infra import names
from trainer_infra.api.finding import path_text
from trainer_infra.deploy import policy_subjects, policy_values, remediation
from trainer_infra.deploy.policy_subjects import Judged
from trainer_infra.rules import configuration, exemption, judge, pack, world
from trainer_infra.rules.configuration import Configuration, Settled
from trainer_infra.rules.exemption import Exemption
from trainer_infra.rules.finding import Change, Finding
from trainer_infra.rules.judge import Chosen
from trainer_infra.rules.pack import Applied, Enforcement, Pack
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.world import World

Report = Callable[..., None]
"""Called with a message, and for a stack with the URN that it is about."""

UNSEEN: Final = "not-known-yet"
"""Policy that says what the others could not see."""
EXEMPT: Final = "exempt"
"""Policy that says who answers for what the others would have said."""
DEPLOYED: Final = "-deployed"
"""Ends the name of the policy that judges what a mending one left."""
_ADVISORY: Final = crossguard.EnforcementLevel.ADVISORY


def serve(chosen: Pack, file: str | None = None, environment: str | None = None) -> None:
    """Serve a pack to the engine until that ends; does not return.

    Args:
        chosen: The pack.
        file: Its configuration, beside the pack; None for none.
        environment: One of the configuration; None for that of the stack's name, if there is one.

    Raises:
        InvalidInput: Configuration or pack cannot be used; has every problem.
    """
    found = configuration.read(Path(file).read_text("utf-8"), file) if file else Configuration()
    stack = pulumi.get_stack()
    where = environment or (stack if stack in found.environments else None)
    settled = configuration.settled(found, where, chosen)
    crossguard.PolicyPack(
        chosen.name,
        policies=list(policies(settled)),
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
        UNSEEN: ("What rules cannot see as long as it is not known", known.unseen),
        EXEMPT: ("What is exempt from rules, and who answers for it", known.exempt),
    }
    for name, (description, validate) in said.items():
        yield crossguard.ResourceValidationPolicy(
            name, description, _validating(validate, rules, known), _ADVISORY
        )


class _Known:
    """The resources of a deployment, as they were last judged.

    The engine asks one policy after the other about a resource; a policy that asks again is asked about
    other properties of it. Stack policies find here what the inputs rendered to: a state has less.
    """

    def __init__(self, settled: Settled) -> None:
        self.settled = settled
        self.alone = World(pools=settled.pools)
        self._judged: dict[str, tuple[tuple[Judged, ...], set[str]]] = {}

    def of(self, args: Any, policy: str) -> tuple[Judged, ...]:
        """The objects of a resource."""
        found = self._judged.get(args.urn)
        if found is None or policy in found[1]:
            before = [judged for judged, _ in tuple(self._judged.values())]
            found = (_objects(args, _runtimes(before)), set())
            self._judged[args.urn] = found
        found[1].add(policy)
        return found[0]

    def of_stack(self, resources: Sequence[Any]) -> Mapping[str, tuple[Judged, ...]]:
        """The objects of all resources, by URN; each TrainJob with the runtimes of the whole stack."""
        known = {
            each.urn: self._judged[each.urn][0] if each.urn in self._judged else _objects(each, ())
            for each in resources
        }
        runtimes = _runtimes(known.values())
        return {
            each.urn: _objects(each, runtimes)
            if policy_subjects.is_plain(each.resource_type)
            else known[each.urn]
            for each in resources
        }

    def unseen(self, subject: Subject, rules: Sequence[Applied]) -> Iterator[str]:
        """What the rules cannot see of an object."""
        missed: dict[str, None] = {}
        ids: dict[str, None] = {}
        for judged in judge.judge(subject, self.alone, rules):
            missed |= dict.fromkeys(path_text(path) for path in judged.unseen)
            ids |= dict.fromkeys([judged.chosen.rule.id] if judged.unseen else [])
        if missed:
            yield f"{', '.join(missed)}: not known yet, and so not judged by {', '.join(ids)}"

    def exempt(self, subject: Subject, rules: Sequence[Applied]) -> Iterator[str]:
        """What is exempt."""
        for judged in judge.judge(subject, self.alone, rules):
            excusing = self.excusing(subject, judged.chosen.rule.id)
            if excusing and judged.findings:
                yield (
                    f"{excusing.rule} is broken in {len(judged.findings)} places; {excusing.owner} "
                    f"answers for it until {excusing.expires}: {excusing.reason}"
                )
        for problem in exemption.annotated(subject).problems:
            yield str(problem)

    def excusing(self, subject: Subject, rule: str) -> Exemption | None:
        """The exemption that holds for a rule's findings."""
        today = datetime.now(UTC).date()
        exemptions = (*exemption.annotated(subject).exemptions, *self.settled.exemptions)
        found = exemption.excusing(exemptions, rule, subject, today)
        return found if found and found.state(today) == exemption.State.ACTIVE else None

    def findings(self, judged: Judged, chosen: Chosen, around: World) -> Iterator[Finding]:
        """What one rule says of an object, unless it is exempt."""
        if self.excusing(judged.subject, chosen.rule.id) is None:
            for each in judge.judge(judged.subject, around, [chosen]):
                yield from each.findings


def _objects(resource: Any, runtimes: Sequence[Any]) -> tuple[Judged, ...]:
    properties = policy_values.plain(resource.props)
    return policy_subjects.of(resource.resource_type, properties, runtimes)


def _runtimes(judged: Iterable[tuple[Judged, ...]]) -> tuple[Any, ...]:
    every = (each.subject for objects in judged for each in objects)
    return tuple(each.object.raw for each in every if each.kind in names.RUNTIMES)


def _validating(
    say: Callable[[Subject, Sequence[Applied]], Iterator[str]],
    rules: Sequence[Applied],
    known: _Known,
) -> Callable[[ResourceValidationArgs, Report], None]:
    def validate(args: ResourceValidationArgs, report: Report) -> None:
        for judged in known.of(args, say.__name__):
            for each in say(judged.subject, rules):
                report(f"{_member(judged)}{each}")

    return validate


def _of_resource(applied: Applied, known: _Known) -> crossguard.Policy:
    def validate(args: ResourceValidationArgs, report: Report) -> None:
        for judged in known.of(args, applied.rule.id):
            for finding in known.findings(judged, _configured(applied, args), known.alone):
                report(_message(judged, finding))

    def remediate(args: ResourceValidationArgs) -> Mapping[str, Any] | None:
        properties = policy_values.plain(args.props)
        changes: list[Change] = []
        for judged in policy_subjects.of(args.resource_type, properties):
            for finding in known.findings(judged, _configured(applied, args), known.alone):
                changes += finding.patch
        if not changes:
            return None
        return remediation.remedied(args.resource_type, args.props, changes)

    # CrossGuard's annotations know coroutines only; its code takes properties as well.
    mends: Any = remediate if applied.rule.remediates else None
    return crossguard.ResourceValidationPolicy(**_said(applied), validate=validate, remediate=mends)


def _of_stack(applied: Applied, known: _Known) -> crossguard.Policy:
    def validate(args: StackValidationArgs, report: Report) -> None:
        found = known.of_stack(args.resources)
        subjects = (judged.subject for each in found.values() for judged in each)
        settled = known.settled
        around = world.of(subjects, settled.pools, is_whole=settled.is_whole)
        for urn, each in found.items():
            for judged in each:
                for finding in known.findings(judged, _configured(applied, args), around):
                    report(_message(judged, finding), urn)

    return crossguard.StackValidationPolicy(**_said(applied), validate=validate)


def _after_all(applied: Applied, known: _Known) -> crossguard.Policy:
    """The mandatory half of a rule that mends: it judges what is deployed in the end.

    The engine loses what a policy mended when it replaces a resource (seen with CLI 3.259). Our own
    resources keep it (`remedied`), those of other providers are found here.
    """

    def validate(args: StackValidationArgs, report: Report) -> None:
        for resource in args.resources:
            properties = policy_values.plain(resource.props)
            for judged in policy_subjects.of(resource.resource_type, properties):
                for finding in known.findings(judged, applied, known.alone):
                    report(_message(judged, finding), resource.urn)

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


def _message(judged: Judged, finding: Finding) -> str:
    """`<member>: <field>: <what>, got <value>; <fix> (<where it was seen>)`."""
    seen = f" (seen at {finding.seen_at})" if finding.seen_at else ""
    return f"{_member(judged)}{finding.problem('')}{seen}"


def _member(judged: Judged) -> str:
    return f"jobs.{judged.member}: " if judged.member else ""
