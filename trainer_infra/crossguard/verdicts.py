"""What rules say of the resources of a deployment, found at once for all of their policies.

The engine asks one policy after the other about the same resource or stack (`server`); the first
that is asked has it judged by all rules.

A GpuNodePool of the platform registers what it comes to as its output `pool`. Only stack policies see it:
outputs of a component come after its inputs were judged.
"""

import threading
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

from pulumi_policy import PolicyResource, ResourceValidationArgs, StackValidationArgs

from trainer_infra.catalog.runtime_key import RuntimeKey
from trainer_infra.crossguard import declared_objects
from trainer_infra.crossguard.declared_objects import DeclaredObject
from trainer_infra.crossguard.values import plain_value
from trainer_infra.rules import exemption, judge, tree, world
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.exemption import Exemption, ExemptionBook, State
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict
from trainer_infra.rules.pack import PackRule
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.subject import AnyRuntime, Subject
from trainer_infra.rules.world import World

GPU_NODE_POOL: Final = "trainer:index:GpuNodePool"
"""Type of the platform's component."""
POOL: Final = "pool"
"""Its output, in wire form."""

Verdict = tuple[DeclaredObject, RuleVerdict]
_OF_CLUSTERS: Final = frozenset(
    {"supply-chain", "pod-security", "capacity", "scheduling", "admission", "volumes", "rbac"}
)
"""Tags of rules about clusters: they say nothing of what the local target runs."""
_OF_PROGRAMS: Final = frozenset({"literal-secrets"})
"""Rules with such a tag that say something of every program."""


@dataclass(frozen=True, slots=True)
class JudgedResource:
    """What the engine asks about: a resource or a stack."""

    sent: Any
    """As it was sent: the same object for each policy that is asked about it."""
    objects: tuple[DeclaredObject, ...]
    """What it declares."""
    worlds: Mapping[str | None, World]
    """What rules see beside an object, by its provider: clusters have objects of the same name."""
    verdicts: Mapping[str, Sequence[Verdict]]
    """What each rule says with the parameters that the pack gives it, by id."""
    given: list[Verdict] = field(default_factory=list)
    """Verdicts of the policies that were asked as yet, with the exempt and the unseen."""


class _Last(threading.local):
    """What this thread was asked about last: all policies are asked in one thread."""

    asked: JudgedResource | None = None


class Verdicts:
    """The resources of a deployment, as they were last judged.

    Stack policies find here what the inputs rendered to: a state has less.
    """

    def __init__(self, settled: ResolvedConfiguration, rules: Iterable[PackRule]) -> None:
        self.alone: Final = World(pools=settled.pools)
        self._settled = settled
        self._rules = tuple(rules)
        self._limits = exemption.exemption_limits(self._rules)
        self._last = _Last()
        self._declared: dict[str, tuple[DeclaredObject, ...]] = {}
        self._told: dict[Hashable, tuple[str, str]] = {}
        self._runtimes: dict[RuntimeKey, AnyRuntime] = {}

    def of_resource(self, args: ResourceValidationArgs) -> JudgedResource:
        """What is known of a resource."""
        last = self._last.asked
        if last is None or last.sent is not args.props:
            runtimes = self._runtimes
            found = self._declared[args.urn] = declared_objects.declared_objects(args, runtimes)
            runtimes.update(declared_objects.runtimes_among(found))
            worlds = dict.fromkeys((each.provider for each in found), self.alone)
            last = self._last.asked = self._asked(args.props, found, worlds, is_of_stack=False)
        return last

    def of_stack(self, args: StackValidationArgs) -> JudgedResource:
        """What is known of a stack."""
        last = self._last.asked
        if last is None or last.sent is not args.resources:
            last = self._last.asked = self._stack(args.resources)
        return last

    def findings_of_rule(
        self, asked: JudgedResource, applied: PackRule, chosen: ConfiguredRule
    ) -> list[tuple[DeclaredObject, Finding]]:
        """What a rule of the pack says, as it is chosen: with its parameters or others; unless it is exempt."""
        found = asked.verdicts.get(applied.rule.id, ())
        if chosen is not applied:
            found = tuple(_judged(asked.objects, asked.worlds, [chosen]))
        asked.given.extend(found)
        return [(one, each) for one, said in found for each in self.counted_findings(one, said)]

    def counted_findings(
        self, declared: DeclaredObject, verdict: RuleVerdict
    ) -> tuple[Finding, ...]:
        """The findings that no exemption covers."""
        excused = self.active_exemption(declared.subject, verdict.chosen)
        return () if excused else verdict.findings

    def tells(self, declared: DeclaredObject, rule: str, finding: Finding) -> bool:
        """Whether an advisory finding is said of this object: of its runtime it is said once.

        The first TrainJob that Pulumi asks about says it, whenever it is asked about.
        """
        same = of_runtime(declared, finding)
        who = (declared.urn, declared.member)
        return same is None or self._told.setdefault((rule, same), who) == who

    def active_exemption(self, subject: Subject, chosen: ConfiguredRule) -> Exemption | None:
        """The exemption that holds for a rule's findings."""
        today = datetime.now(UTC).date()
        own = exemption.annotated_exemptions(subject).exemptions
        configured = self._settled.exemptions
        book = ExemptionBook(subject, own, configured, self._limits, today)
        found = book.excusing(chosen.rule.id, chosen.severity)
        return found if found and found.state(today) == State.ACTIVE else None

    def _stack(self, resources: Sequence[PolicyResource]) -> JudgedResource:
        """Objects of the stack as they were judged; each TrainJob with all of its runtimes."""
        # The end of a preview or an update: the next one tells all anew.
        self._told.clear()
        declared, settled = self._declared, self._settled
        known = {
            each.urn: declared[each.urn]
            if each.urn in declared
            else declared_objects.declared_objects(each)
            for each in resources
        }
        runtimes = declared_objects.runtimes_among(chain.from_iterable(known.values()))
        for each in resources:
            if declared_objects.is_plain(each.resource_type):
                known[each.urn] = declared_objects.declared_objects(each, runtimes)
        objects = tuple(chain.from_iterable(known.values()))
        nodes = (each for each in resources if each.resource_type == GPU_NODE_POOL)
        found = (plain_value(each.props).get(POOL) for each in nodes)
        its_own = (Pool.model_validate(each) for each in found if isinstance(each, Mapping))
        pools = (*settled.pools, *its_own)
        worlds = {
            provider: world.world_of(subjects, pools, is_whole=settled.is_whole)
            for provider, subjects in _by_cluster(objects).items()
        }
        return self._asked(resources, objects, worlds, is_of_stack=True)

    def _asked(
        self,
        sent: Any,
        objects: tuple[DeclaredObject, ...],
        worlds: Mapping[str | None, World],
        *,
        is_of_stack: bool,
    ) -> JudgedResource:
        rules = [each for each in self._rules if each.rule.looks_around == is_of_stack]
        verdicts: dict[str, list[Verdict]] = {}
        for declared, verdict in _judged(objects, worlds, rules):
            verdicts.setdefault(verdict.chosen.rule.id, []).append((declared, verdict))
        return JudgedResource(sent, objects, worlds, verdicts)


def _by_cluster(objects: Sequence[DeclaredObject]) -> dict[str | None, list[Subject]]:
    """What is deployed together, by provider.

    Runs are on the cluster of the default provider; where a program uses none, on any of its clusters.
    """
    providers = dict.fromkeys(each.provider for each in objects)
    theirs = {None, ""} if "" in providers else {*providers}
    clusters = {each: {each} if each else theirs for each in providers}
    whole = [each for each in objects if not each.is_patch]
    return {
        provider: [each.subject for each in whole if each.provider in cluster]
        for provider, cluster in clusters.items()
    }


def of_runtime(declared: DeclaredObject, finding: Finding) -> Hashable | None:
    """What is the same of all TrainJobs that have a finding from one runtime; None for another's."""
    runtime = tree.runtime_reference(declared.subject.object.raw) if finding.inherited else None
    return None if runtime is None else (runtime, finding.what, repr(finding.got), finding.fix)


def judged_object(
    declared: DeclaredObject, around: World, rules: Iterable[ConfiguredRule]
) -> Iterator[RuleVerdict]:
    """What each rule says of an object, where it makes sense to ask."""
    asked = (
        each
        for each in rules
        if not declared.is_local
        or each.rule.id in _OF_PROGRAMS
        or _OF_CLUSTERS.isdisjoint(each.rule.tags)
    )
    return judge.judge(declared.subject, around, asked, datetime.now(UTC).date())


def _judged(
    objects: Iterable[DeclaredObject],
    worlds: Mapping[str | None, World],
    rules: Sequence[ConfiguredRule],
) -> Iterator[Verdict]:
    for declared in objects:
        for verdict in judged_object(declared, worlds[declared.provider], rules):
            yield declared, verdict
