"""Charts of a folder -> what they render to, each in all the ways in which it is deployed, and what became of their files.

A chart is rendered with its values alone, with each further file of them, and as objects and the configuration say.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from trainer_infra.review import documents, file_text, gitops_values, helm, source_objects
from trainer_infra.review.documents import Document
from trainer_infra.review.gitops_values import NamedRendering
from trainer_infra.review.helm import ChartRendering
from trainer_infra.review.inventory import Roles, SourceFile, Use
from trainer_infra.review.source_objects import SourceObjects, SourceScope

if TYPE_CHECKING:
    from trainer_infra.rules.configuration import ChartValues

_UNRENDERED: Final = "a template of which helm renders no object with these values"
_LIBRARY: Final = "a template of a library chart, which helm renders only as a part of others"
_ALONE: Final = "a chart that helm does not render with its own values alone, but with others"
_MISSING: Final = "asks for a chart with {}, which is not here: that rendering was not judged"
_UNABLE: Final = re.compile(
    r"cannot be rendered: .*(execution error|nil pointer|don't meet|[.]Values)"
)
_HINT: Final = "values that it needs go under `charts` in trainer-policy.yaml"
_PASSES: Final = 5
"""Times that charts are searched for objects that name charts: those of one may name another."""
_NAME: Final = re.compile(r"(?:^|[-_.])values(?:[-_.]|$)")
_FOLDER: Final = "values"


def read_charts(
    charts: Mapping[Path, Sequence[Path]],
    others: Sequence[Document],
    data: Sequence[Path],
    wanted: SourceScope,
    roles: Roles,
) -> tuple[SourceObjects, ...]:
    """The objects of charts.

    Args:
        charts: those that helm renders by themselves, each with the files that it may make objects of.
        others: what else is there; Argo CD and Flux may say there how they render a chart.
        data: files without objects, some of which may hold values.
        wanted: what a user asks for.
        roles: charts that a kustomization has rendered; gets the other files of charts.
    """
    ways: dict[Path, tuple[ChartRendering, ...]] = {}
    found: dict[tuple[Path, ChartRendering], SourceObjects] = {}
    named: tuple[NamedRendering, ...] | None = None
    for _ in range(_PASSES):
        rendered = (each for part in found.values() for each in part.documents)
        more = tuple(gitops_values.object_renderings((*others, *rendered), charts))
        if more == named:
            break
        named = more
        ways = {each: _ways(each, named, data, wanted) for each in charts}
        for chart, way in ((chart, way) for chart, own in ways.items() for way in own):
            if (chart, way) not in found:
                found[chart, way] = _rendered(chart, way, wanted)
    made = []
    for chart, own in ways.items():
        _, by = roles.get(os.path.realpath(chart), (Use.DATA, ""))
        made.append(_objects(chart, charts[chart], {way: found[chart, way] for way in own}, by))
        names = (helm.NAME, helm.VALUES, *helm.SETTINGS)
        files = (os.path.realpath(chart / each) for each in names)
        for file in (*files, *(value for way in own for value in way.values)):
            roles.setdefault(file, (Use.DATA, os.fspath(chart)))
    missing = (
        SourceFile(each.file, Use.JUDGED, _MISSING.format(each.missing))
        for each in named or ()
        if each.missing
    )
    return (*made, SourceObjects(files=tuple(missing)))


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
    configured = tuple(configured_renderings(chart, wanted.charts, wanted.exclusion.root))
    own = [each.way for each in named if each.chart == real and not each.missing]
    below = (each for each in data if each.is_relative_to(chart))
    files = [each for each in below if is_for_values(each, chart)]
    # A file may be that of another chart, which stands in this one.
    files = [each for each in files if next(filter(helm.is_one, each.parents)) == chart]
    # What is not YAML is text for another tool, and no helm takes it.
    files = [each for each in files if documents.yaml_of_file(os.fspath(each))]
    return chart_renderings(chart, configured, own, files)


def chart_renderings(
    chart: Path,
    configured: Sequence[ChartRendering],
    named: Sequence[ChartRendering],
    files: Iterable[Path],
) -> tuple[ChartRendering, ...]:
    """All ways in which a chart is rendered.

    Args:
        chart: its folder.
        configured: what the configuration says; the first one holds in all others too.
        named: what objects say.
        files: files that hold values for it; what a named way has is not rendered alone.
    """
    first = configured[0] if configured else ChartRendering()
    asked = {value for each in (*configured, *named) for value in each.values}
    wholes = {os.path.realpath(each): os.path.relpath(each, chart) for each in files}
    alone = (ChartRendering(name, (file,)) for file, name in wholes.items() if file not in asked)
    others = (
        replace(
            each,
            values=(*first.values, *each.values),
            options=(*first.options, *each.options),
            release=each.release or first.release,
            namespace=each.namespace or first.namespace,
        )
        for each in (*named, *alone)
    )
    return tuple(dict.fromkeys((*(configured or [first]), *others)))


def is_for_values(file: Path, chart: Path) -> bool:
    """Whether a file of a chart seems to hold values for it, by its name or the folder that it is in.

    People write `values-prod.yaml`, `values.prod.yaml`, `prod-values.yaml`, `values/prod.yaml`.
    """
    below = file.relative_to(chart)
    if str(below) == helm.VALUES or below.name.endswith(".schema.json"):
        return False
    return _FOLDER in below.parts[:-1] or bool(_NAME.search(below.stem))


def configured_renderings(
    chart: Path, configured: "Sequence[ChartValues]", root: str
) -> Iterator[ChartRendering]:
    """Those of the configuration for a chart; paths there are relative to the folder `root`."""
    below = os.path.relpath(chart, root)
    for index, each in enumerate(configured):
        if fnmatchcase(below, os.path.normpath(each.path)):
            files = (os.path.realpath(Path(root, file)) for file in each.values)
            texts = (json.dumps(each.inline),) if each.inline else ()
            name = f"charts[{index}]"
            yield ChartRendering(name, (*files, *texts), (), each.release, each.namespace)


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
    alone = made.get(ChartRendering())
    # Its own values are often defaults that lack what every deployment has to give.
    is_unable = bool((good or by) and alone and alone.problems)
    rendered = source_objects.joined_sources(
        _called(found, way) if len(good) > 1 else found
        for way, found in made.items()
        if not (is_unable and found is alone)
    )
    if is_unable:
        note = SourceFile(os.fspath(chart / helm.NAME), Use.DATA, _ALONE)
        rendered = replace(rendered, files=(note,))
    elif not good and rendered.problems and _UNABLE.search(rendered.problems[-1]):
        *others, last = rendered.problems
        rendered = replace(rendered, problems=(*others, f"{last}; {_HINT}"))
    state = (Use.BUILT, by) if by else (Use.PASSED_OVER, _UNRENDERED if made else _LIBRARY)
    state = (Use.UNREAD, os.fspath(chart)) if rendered.problems else state
    known = {os.path.normpath(each.file) for each in rendered.documents}
    files = (_file(each, chart, known, state) for each in parts)
    return source_objects.joined_sources((rendered, *files))


def _called(found: SourceObjects, way: ChartRendering) -> SourceObjects:
    """What is rendered in one of several ways, which it says."""
    named = (replace(each, renderings=(way.name,)) for each in found.documents)
    return replace(found, documents=tuple(named))


def _file(file: Path, chart: Path, known: set[str], state: tuple[Use, str]) -> SourceObjects:
    if os.path.normpath(file) in known:
        state = (Use.BUILT, os.fspath(chart))
    elif not file_text.is_manifest(file.name):
        state = (Use.DATA, "")
    elif not helm.is_template(file):
        return source_objects.read_file(file)
    return SourceObjects(files=(SourceFile(os.fspath(file), *state),))
