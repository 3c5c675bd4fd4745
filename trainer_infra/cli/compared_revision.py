"""The git revision that `check --changed-from` compares with: objects, costs, and what judged it."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from trainer_infra import words
from trainer_infra.cli import judge
from trainer_infra.cli.judge import Judge, PolicyFiles
from trainer_infra.cli.policy import CheckRequest
from trainer_infra.errors import InvalidInput, NotAvailable
from trainer_infra.review import (
    baseline,
    changed_files,
    costs,
    environments,
    inner_documents,
    revision,
    summary,
)
from trainer_infra.review.changed_files import BaseObjects
from trainer_infra.review.check import CheckScope, Reach
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Item, Report
from trainer_infra.review.revision import Span
from trainer_infra.rules import pack
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.finding import Severity

UNREAD: Final = "Could not be read before either, and this change does not touch it"
"""The title of what no tool could build or read, at the revision and now."""
_NAMED: Final = 3
"""Objects that are named of those with findings of one rule."""


@dataclass(frozen=True, slots=True)
class ComparedRevision:
    """What a revision has."""

    span: Span
    """The change since then."""
    base: BaseObjects
    """What it has below the paths that are checked."""
    documents: tuple[Document, ...]
    """Its objects, of the environment that is checked."""
    settled: ResolvedConfiguration
    """What held there."""
    judge: Judge
    """The revision's, with the pools of now: they say what there is, as queues do."""
    proposed: Judge | None
    """That of the change, where it is another one."""
    changed_policy: tuple[str, ...]
    """Files of the judge that are others now."""

    def split(self, problems: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
        """What could not be read because of the change, and a note on what it does not touch."""
        own = tuple(each for each in problems if self.base.touches(each))
        return own, {UNREAD: "\n".join(each for each in problems if each not in own)}

    def report(
        self,
        now: Sequence[Document],
        scope: CheckScope,
        checked: Callable[[Sequence[Document], CheckScope], Report],
    ) -> Report:
        """What the change makes, and of unchanged objects what others make of them."""
        reach = changed_files.reach_of_change(now, self.documents)
        report = checked(now, replace(scope, reach=reach))
        if not report.unseen and not any(each.is_unchanged for each in report.items):
            return report
        settled = replace(self.settled, is_whole=scope.settled.is_whole)
        then = replace(scope, settled=settled, reach=self._left(now, report), problems=())
        return changed_files.without_known(report, checked(self.documents, then))

    def _left(self, now: Sequence[Document], told: Report) -> Mapping[int, Reach]:
        """Of the revision's own objects those are judged that are as they were, and of which is told."""
        keys = {(each.kind, each.namespace, each.name) for each in told.items}
        keys |= {(each.kind, each.namespace, each.name) for each in told.unseen}
        found = changed_files.reach_of_change(self.documents, now)
        whole = inner_documents.with_inner_documents(self.documents)
        for position in found:
            inside = (position, *whole.inner[position])
            told_of = {environments.object_key(whole.all[each].value)[1:] for each in inside}
            if found[position] == Reach.CHANGED or keys.isdisjoint(told_of):
                found[position] = Reach.GONE
        return found

    def notes(
        self, now: Sequence[Document], report_by: Callable[[Judge], Report]
    ) -> dict[str, str]:
        """What the report says of costs then and now, and of a change of the policy.

        Args:
            now: the objects.
            report_by: what a judge says of all objects.
        """
        found = costs.cost_notes(now, self.documents, self.judge.settled)
        if not self.changed_policy:
            return found
        title, effects = "whose own cannot be used: the new one judged", list[str]()
        if self.proposed is not None:
            title = "whose own judged; in all files the new one"
            there, here = map(report_by, (self.judge, self.proposed))
            effects = [*_effects("lets pass", there, here), *_effects("finds", here, there)]
            effects = effects or ["finds the same"]
        lines = (*effects, *self.changed_policy)
        return {**found, f"The policy differs from {self.span.ref}, {title}": "\n".join(lines)}


def compared_revision(span: Span, asked: CheckRequest, here: Judge) -> ComparedRevision:
    """What the branch found at the revision.

    Raises:
        NotAvailable: There is no git, no repository or no such revision.
    """
    with TemporaryDirectory(prefix="trainer-infra-") as scratch:
        files = _files_there(span, Path(scratch))
        there, is_usable = _judge_there(asked, here, files)
        changed = tuple(_changed_policy(asked, (here, there), files))
    base = changed_files.objects_in_base(asked.paths or (), span, there.scope(asked.values or ()))
    settled = there.settled
    documents = environments.documents_of(
        asked.environment, base.found.documents, settled.folders, settled.root
    )
    proposed = here if changed and is_usable else None
    now = replace(there, settled=_with_pools(settled, here.settled))
    return ComparedRevision(span, base, documents, settled, now, proposed, changed)


def _files_there(span: Span, scratch: Path) -> PolicyFiles:
    """The files of the policy as the branch found them."""
    try:
        (repository,) = revision.by_repository([os.curdir])
    except NotAvailable:
        return PolicyFiles()
    return PolicyFiles(repository, revision.base_tree(repository, span), scratch)


def _judge_there(asked: CheckRequest, here: Judge, files: PolicyFiles) -> tuple[Judge, bool]:
    """The revision's judge, and whether it can be used; the one that is here where it cannot."""
    try:
        there = judge.judge_of(asked, files)
        for each in (there.settled, *there.settled.environments.values()):
            pack.pack_rules(each.pack)
    except InvalidInput:
        # It judged nothing; this change may mend it.
        return here, False
    return there, True


def _changed_policy(
    asked: CheckRequest, judges: tuple[Judge, Judge], there: PolicyFiles
) -> Iterator[str]:
    """Files of the judge that are others here than there, also those that are new, or gone."""
    folder = Path(asked.pack) if asked.pack else None
    modules = sorted(folder.rglob("*.py")) if folder and folder.is_dir() else []
    named = (*(each.file for each in judges), asked.config, asked.baseline, *map(str, modules))
    for each in dict.fromkeys(filter(None, named)):
        if PolicyFiles().read(each) != there.read(each):
            yield each


def _with_pools(then: ResolvedConfiguration, now: ResolvedConfiguration) -> ResolvedConfiguration:
    known = now.environments
    environments = {
        name: replace(each, pools=known[name].pools) if name in known else each
        for name, each in then.environments.items()
    }
    return replace(then, pools=now.pools, environments=environments)


def _effects(verb: str, one: Report, other: Report) -> Iterator[str]:
    """What one judge says and the other does not, a line for each rule, the worst first."""
    failing, counting = one.failing(), [e for e in one.items if e.counts and not one.fails(e)]
    lost = [
        *baseline.without(failing, other.failing()),
        *baseline.without(counting, (each for each in other.items if each.counts)),
    ]
    ranks = {each: rank for rank, each in enumerate(reversed(Severity))}
    by_rule: dict[str, list[Item]] = {}
    for each in sorted(lost, key=lambda each: ranks[each.severity]):
        by_rule.setdefault(f"{each.severity} {each.rule.id}", []).append(each)
    for rule, items in by_rule.items():
        named = words.listed(dict.fromkeys(map(summary.object_on_line, items)), most=_NAMED)
        yield f"{verb} {summary.count_text(len(items), 'finding')}: {rule} of {named}"
