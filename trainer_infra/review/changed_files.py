"""Which objects differ from a git revision: `check --changed-from REF` judges those.

The revision's files are written into a folder of ours and read as the ones that are there now are,
charts and kustomizations included; then objects are compared, not files, so that a renamed file, a
comment or another layout is not a change. What a change reaches in other objects is told by comparing
what rules say of them, there and here: `without_known` leaves out what was so before.
"""

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.runtime_key import RuntimeKey, runtime_key
from trainer_infra.review import (
    baseline,
    environments,
    inner_documents,
    recurrence,
    revision,
    source_objects,
    source_of_built,
    sources,
    summary,
)
from trainer_infra.review.check import Reach
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Report
from trainer_infra.review.revision import Span
from trainer_infra.review.source_objects import SourceObjects, SourceScope
from trainer_infra.rules import tree

_PLACE: Final = re.compile(r"(.*?)(?::\d+)*: ", re.DOTALL)
"""What a sentence begins with that says what could not be read."""
KNOWN: Final = "Known findings of objects that this change does not touch"
"""The title of how many there are."""
_LOCAL: Final = b"file://"
"""A dependency of a chart that is in another folder."""


@dataclass(frozen=True, slots=True)
class BaseObjects:
    """What a revision has below the paths."""

    found: SourceObjects
    """The objects, named as those of now; and what could not be read."""
    changed: frozenset[str]
    """Files that are others now, or gone, or new: whole paths."""

    def touches(self, problem: str) -> bool:
        """Whether what could not be read may be so because of the change."""
        place = _PLACE.match(problem)
        if place is None or problem not in self.found.problems or not Path(place[1]).exists():
            return True
        folder = Path(os.path.realpath(place[1]))
        if not folder.is_dir():
            return str(folder) in self.changed
        return any(self._is_below(each) for each in _built_from(folder))

    def _is_below(self, folder: str) -> bool:
        return any(f"{each}/".startswith(f"{folder}/") for each in self.changed)


def objects_in_base(
    paths: Sequence[str], span: Span, wanted: SourceScope = source_objects.ALL
) -> BaseObjects:
    """The objects below the paths as the branch found them: where its commits part from a revision's.

    Args:
        paths: as for `sources.read_sources`; stdin has no revision.
        span: the change.
        wanted: what is read; files of values of the repository as they were.

    Raises:
        NotAvailable: There is no git, no repository or no such revision; one sentence.
    """
    parts: list[SourceObjects] = []
    changed: set[str] = set()
    named = [each for each in paths if each != source_objects.STDIN]
    for repository, own in revision.by_repository(named).items():
        base = revision.base_tree(repository, span)
        now = revision.tree_of(repository, span.now) if span.now else None
        parts.append(objects_in_tree(repository, base, own, wanted))
        changed |= {
            os.path.realpath(Path(repository, each))
            for each in revision.changed_paths(repository, base, now)
        }
    return BaseObjects(source_objects.joined_sources(parts), frozenset(changed))


def objects_in_tree(
    repository: str, found: str, paths: Mapping[str, str], wanted: SourceScope = source_objects.ALL
) -> SourceObjects:
    """The objects that a tree of a repository has at some paths, with the names that these have now."""
    with tempfile.TemporaryDirectory(prefix="trainer-infra-") as scratch:
        revision.write_manifests(repository, found, paths.values(), Path(scratch))
        there = wanted.moved(repository, scratch)
        parts = (
            _renamed(sources.read_sources([each], there), each, path)
            for path, inside in paths.items()
            if os.path.lexists(each := os.path.normpath(Path(scratch, inside)))
        )
        return source_objects.joined_sources(parts)


def objects_now(
    paths: Sequence[str],
    span: Span,
    wanted: SourceScope = source_objects.ALL,
) -> SourceObjects:
    """The objects that there are, of the revision that has them or the index."""
    return source_objects.joined_sources(
        objects_in_tree(repository, revision.tree_of(repository, str(span.now)), own, wanted)
        for repository, own in revision.by_repository(paths).items()
    )


def of_files(documents: Sequence[Document], files: Iterable[str]) -> dict[int, Reach]:
    """The objects that are written or changed in some files; the others are only around them."""
    named = {os.path.realpath(each) for each in files}
    found = {}
    for position, each in enumerate(documents):
        own = (each.file, *each.layers)
        is_there = any(os.path.realpath(one) in named for one in own)
        found[position] = Reach.CHANGED if is_there else Reach.GONE
    return found


def _renamed(found: SourceObjects, there: str, path: str) -> SourceObjects:
    """What was read of a folder of ours, with the names that its files have for the user."""

    def name(place: str) -> str:
        return os.path.normpath(Path(path, os.path.relpath(place, there)))

    def sentence(words: str) -> str:
        inside = "" if path == os.curdir else f"{os.path.normpath(path)}{os.sep}"
        return words.replace(f"{there}{os.sep}", inside).replace(there, path)

    def text(one: Document) -> Document:
        return replace(one, file=name(one.file))

    documents = (
        replace(
            text(each),
            folders=tuple(map(name, each.folders)),
            layers=tuple(map(name, each.layers)),
            parts=tuple(replace(part, text=text(part.text)) for part in each.parts),
            values=tuple(map(text, each.values)),
            is_editable=False,
        )
        for each in found.documents
    )
    files = (replace(each, path=name(each.path), why=sentence(each.why)) for each in found.files)
    problems = tuple(map(sentence, found.problems))
    return SourceObjects(tuple(documents), problems, tuple(files))


def reach_of_change(now: Sequence[Document], then: Iterable[Document]) -> dict[int, Reach]:
    """How far the change from `then` to `now` reaches each of `now`, by position.

    A copy in another folder is new. With both exchanged it says which of `then` are still there.
    """
    before = tuple(then)
    marks = [[(_said(each), folder) for folder in each.deployed_from] for each in now]
    was_there = iter(
        recurrence.recurrences(
            [mark for each in marks for mark in each],
            [(_said(each), folder) for each in before for folder in each.deployed_from],
        )
    )
    whole, whole_before = map(inner_documents.with_inner_documents, (now, before))
    runtimes_before, runtimes_now = _runtimes(whole_before.all), _runtimes(whole.all)
    found = {}
    for index in range(len(now)):
        known = [next(was_there) for _ in marks[index]]
        inside = (index, *whole.inner[index])
        runs_on = (tree.runtime_reference(whole.all[each].value) for each in inside)
        is_same = all(
            each is None or runtimes_before.get(each) == runtimes_now.get(each) for each in runs_on
        )
        unchanged = Reach.AROUND if is_same else Reach.RUNTIME
        found[index] = unchanged if all(known) else Reach.CHANGED
    return found


def without_known(now: Report, then: Report) -> Report:
    """The report without what rules said of the same unchanged objects before; a note says how much.

    `then` is the report on them as they were, with what was around them.
    """
    reached = [each for each in now.items if each.is_unchanged]
    new = {*map(id, baseline.without(reached, then.items))}
    left = [each for each in reached if id(each) not in new]
    files = {each.place.file for each in left}
    said = f"{summary.count_text(len(left), 'finding')} in {summary.count_text(len(files), 'file')}"
    return replace(
        now,
        items=tuple(each for each in now.items if not each.is_unchanged or id(each) in new),
        unseen=tuple(each for each in now.unseen if each not in then.unseen),
        notes={**now.notes, **({KNOWN: said} if left else {})},
    )


def _built_from(folder: Path) -> Iterator[str]:
    """Files and folders that a chart or a kustomization is built from; the root for what is not known."""
    from trainer_infra.review import helm, kustomize  # noqa: PLC0415  few checks need it

    yield str(folder)
    for each, uses in kustomize.used_kustomizations([folder]).items():
        yield from (each, *uses.files, *uses.data, *uses.charts)
    chart = folder / helm.NAME
    if chart.is_file() and _LOCAL in chart.read_bytes():
        yield ""


def _runtimes(found: Iterable[Document]) -> dict[RuntimeKey, set[str]]:
    """What there is of each runtime: several environments may have one of its name."""
    said: dict[RuntimeKey, set[str]] = {}
    for each in found:
        _, kind, namespace, name = environments.object_key(each.value)
        if kind in names.RUNTIMES:
            said.setdefault(runtime_key(kind, namespace, name), set()).add(_said(each))
    return said


def _said(document: Document) -> str:
    """What is compared: the object, and what is wrong with its YAML."""
    return source_of_built.canonical_json([document.value, *map(str, document.findings())])
