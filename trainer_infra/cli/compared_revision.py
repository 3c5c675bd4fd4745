"""The git revision that `check --changed-from` compares with: objects, costs, and the policy itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer_infra.cli.policy import CheckRequest
from trainer_infra.review import changed_files, costs, environments
from trainer_infra.review.documents import Document
from trainer_infra.review.source_objects import SourceScope
from trainer_infra.rules.configuration import ResolvedConfiguration


@dataclass(frozen=True, slots=True)
class ComparedRevision:
    """What a revision has."""

    documents: tuple[Document, ...]
    """Its objects below the paths that are checked."""
    changed_policy: Mapping[str, str]
    """Which files that say what is judged how are others now: a note of the report."""
    settled: ResolvedConfiguration

    def is_judged(self, now: Sequence[Document]) -> Mapping[int, bool]:
        """Positions of the objects, and whether they differ from those of the revision."""
        return changed_files.is_judged(now, self.documents)

    def notes(self, now: Sequence[Document]) -> dict[str, str]:
        """What the report says of the policy, and of costs now and then."""
        return {**self.changed_policy, **costs.cost_notes(now, self.documents, self.settled)}


def compared_revision(
    ref: str, asked: CheckRequest, settled: ResolvedConfiguration, wanted: SourceScope
) -> ComparedRevision:
    """The revision to compare with: a commit, a branch or a tag."""
    there = changed_files.objects_in_base(asked.paths or (), ref, wanted)
    documents = environments.documents_of(asked.environment, there, settled.folders)
    return ComparedRevision(documents, _changed_policy(ref, asked), settled)


def _changed_policy(ref: str, asked: CheckRequest) -> dict[str, str]:
    folder = Path(asked.pack) if asked.pack else None
    modules = sorted(folder.rglob("*.py")) if folder and folder.is_dir() else []
    files = (asked.policy_file(), asked.baseline, *map(str, modules))
    changed = changed_files.changed_among([each for each in files if each], ref)
    title = f"The policy itself differs from {ref}, and what it lets pass may be new"
    return {title: "\n".join(changed)} if changed else {}
