"""Charts of a folder -> what they render to, each in all the ways in which it is deployed, and what became of their files."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from trainer_infra.review import documents, gitops_values, helm, renderings, source_objects
from trainer_infra.review.documents import Document
from trainer_infra.review.inventory import SourceFile, Use
from trainer_infra.review.renderings import ChartRendering, NamedRendering
from trainer_infra.review.source_objects import SourceObjects, SourceScope

_UNRENDERED: Final = "a template of which helm renders no object with these values"
_LIBRARY: Final = "a template of a library chart, which helm renders only as a part of others"
_ALONE: Final = "a chart that helm does not render with its own values alone, but with others"
_MISSING: Final = "asks for a chart with {}, which is not here: that rendering was not judged"
_UNABLE: Final = re.compile(
    r"cannot be rendered: .*(execution error|nil pointer|don't meet|[.]Values)"
)
_HINT: Final = "values that it needs go under `charts` in trainer-policy.yaml"
_PASSES: Final = 3
"""Times that charts are searched for objects that name charts: those of one may name another."""

Charts = Mapping[Path, Sequence[Path]]
"""Charts, each with the files that helm may make objects of."""


def read_charts(
    charts: Charts,
    others: Sequence[Document],
    data: Sequence[Path],
    wanted: SourceScope,
    elsewhere: Mapping[str, str],
) -> tuple[tuple[SourceObjects, ...], Mapping[str, str]]:
    """The objects of charts, and which other files are a part of which chart, by whole paths without links.

    Args:
        charts: those that helm renders by themselves.
        others: what else is there; Argo CD and Flux may say there how they render a chart.
        data: files without objects, some of which may hold values.
        wanted: what a user asks for.
        elsewhere: charts that a kustomization has rendered, and which one, by whole paths without links.
    """
    ways: dict[Path, tuple[ChartRendering, ...]] = {}
    found: dict[tuple[Path, ChartRendering], SourceObjects] = {}
    named = tuple(gitops_values.object_renderings(others, charts))
    for _ in range(_PASSES):
        ways = {each: _ways(each, named, data, wanted) for each in charts}
        for chart, own in ways.items():
            for way in own:
                if (chart, way) not in found:
                    found[chart, way] = _rendered(chart, way, wanted)
        rendered = (each for part in found.values() for each in part.documents)
        more = tuple(gitops_values.object_renderings((*others, *rendered), charts))
        if more == named or wanted.values:
            break
        named = more
    made = (
        _objects(each, parts, made, elsewhere.get(os.path.realpath(each), ""))
        for each, parts in charts.items()
        for made in [{way: found[each, way] for way in ways[each]}]
    )
    missing = (
        SourceFile(each.file, Use.JUDGED, _MISSING.format(each.missing))
        for each in named
        if each.missing
    )
    return (*made, SourceObjects(files=tuple(missing))), _parts(ways)


def _ways(
    chart: Path, named: Sequence[NamedRendering], data: Iterable[Path], wanted: SourceScope
) -> tuple[ChartRendering, ...]:
    """The ways in which a chart is rendered; none for a library."""
    if helm.is_library(chart):
        return ()
    if wanted.values:
        given = tuple(map(os.path.realpath, wanted.values))
        return (ChartRendering(", ".join(wanted.values), given),)
    real = os.path.realpath(chart)
    configured = tuple(
        renderings.configured_renderings(chart, wanted.charts, wanted.exclusion.root)
    )
    own = [each.way for each in named if each.chart == real and not each.missing]
    below = (each for each in data if each.is_relative_to(chart))
    files = [each for each in below if renderings.is_for_values(each, chart)]
    # A file may be that of another chart, which stands in this one.
    files = [each for each in files if next(filter(helm.is_one, each.parents)) == chart]
    # What is not YAML is text for another tool, and no helm takes it.
    files = [each for each in files if documents.yaml_of_file(os.fspath(each))]
    return renderings.chart_renderings(chart, configured, own, files)


def _rendered(chart: Path, way: ChartRendering, wanted: SourceScope) -> SourceObjects:
    """What helm renders in one way, without the templates that are left out."""
    found = source_objects.made(chart, partial(helm.read_chart, way=way))
    kept = (each for each in found.documents if not wanted.exclusion.has(each.file))
    return replace(found, documents=tuple(kept))


def _objects(
    chart: Path, parts: Sequence[Path], made: Mapping[ChartRendering, SourceObjects], by: str
) -> SourceObjects:
    """What a chart renders to, and the files of it that render to nothing and can be read as they are.

    It may be rendered by a kustomization, too.
    """
    good = [way for way, found in made.items() if not found.problems]
    rendered = source_objects.joined_sources(
        replace(found, documents=tuple(_called(found.documents, way, len(good))))
        for way, found in made.items()
    )
    alone = made.get(ChartRendering())
    if (good or by) and alone and alone.problems:
        # Its own values are often defaults that lack what every deployment has to give.
        kept = (found for found in made.values() if found is not alone)
        problems = tuple(dict.fromkeys(each for found in kept for each in found.problems))
        note = SourceFile(os.fspath(chart / helm.NAME), Use.DATA, _ALONE)
        rendered = replace(rendered, problems=problems, files=(note,))
    elif not good and rendered.problems and _UNABLE.search(rendered.problems[-1]):
        *others, last = rendered.problems
        rendered = replace(rendered, problems=(*others, f"{last}; {_HINT}"))
    known = {os.path.normpath(each.file) for each in rendered.documents}
    state = _state(chart, made, is_broken=bool(rendered.problems))
    state = (Use.BUILT, by) if by and state[0] == Use.PASSED_OVER else state
    files = (_file(each, chart, known, state) for each in parts)
    return source_objects.joined_sources((rendered, *files))


def _called(found: Iterable[Document], way: ChartRendering, count: int) -> Iterator[Document]:
    """Documents of one of several ways, which say so."""
    for each in found:
        yield replace(each, renderings=(way.name,)) if count > 1 else each


def _state(
    chart: Path, made: Mapping[ChartRendering, SourceObjects], *, is_broken: bool
) -> tuple[Use, str]:
    """What becomes of templates that render to no object."""
    if is_broken:
        return Use.UNREAD, os.fspath(chart)
    return Use.PASSED_OVER, _UNRENDERED if made else _LIBRARY


def _file(file: Path, chart: Path, known: set[str], state: tuple[Use, str]) -> SourceObjects:
    if os.path.normpath(file) in known:
        return SourceObjects(files=(SourceFile(os.fspath(file), Use.BUILT, os.fspath(chart)),))
    if helm.is_template(file):
        return SourceObjects(files=(SourceFile(os.fspath(file), *state),))
    return source_objects.read_file(file)


def _parts(ways: Mapping[Path, Iterable[ChartRendering]]) -> Mapping[str, str]:
    """Files of charts that are no templates: by which chart they are used."""
    found: dict[str, str] = {}
    for chart, own in ways.items():
        names = [helm.NAME, renderings.OWN, *helm.SETTINGS]
        files = [*(os.path.realpath(chart / each) for each in names)]
        for file in (*files, *(value for way in own for value in way.values)):
            found.setdefault(file, os.fspath(chart))
    return found
