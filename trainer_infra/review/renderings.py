"""The ways in which a chart is rendered: with its values alone, with each further file of them, and as is said elsewhere."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trainer_infra.rules.configuration import ChartValues

OWN: Final = "values.yaml"
"""The chart's own file, whose values hold unless others are given."""
_CONFIGURED: Final = "charts"
_NAME: Final = re.compile(r"(?:^|[-_.])values(?:[-_.]|$)")
_FOLDER: Final = "values"


@dataclass(frozen=True, slots=True)
class ChartRendering:
    """One way in which helm renders a chart."""

    name: str = OWN
    """What findings call it."""
    values: tuple[str, ...] = ()
    """Whole paths of files, and JSON texts; the last one wins."""
    options: tuple[str, ...] = ()
    """Further options of helm: single values."""
    release: str = ""
    namespace: str = ""


HELMS_OWN: Final = ChartRendering()


@dataclass(frozen=True, slots=True)
class NamedRendering:
    """A rendering that an object asks for."""

    chart: str
    """The chart's folder, a whole path without links."""
    way: ChartRendering
    missing: str = ""
    """What it names and is not here, so that it cannot be made."""
    file: str = ""
    """Where that is said."""


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
    others = (_upon(first, each) for each in (*named, *alone))
    return tuple(dict.fromkeys((*(configured or [first]), *others)))


def _upon(first: ChartRendering, way: ChartRendering) -> ChartRendering:
    return replace(
        way,
        values=(*first.values, *way.values),
        options=(*first.options, *way.options),
        release=way.release or first.release,
        namespace=way.namespace or first.namespace,
    )


def is_for_values(file: Path, chart: Path) -> bool:
    """Whether a file of a chart seems to hold values for it, by its name or the folder that it is in.

    People write `values-prod.yaml`, `values.prod.yaml`, `prod-values.yaml`, `values/prod.yaml`.
    """
    below = file.relative_to(chart)
    if str(below) == OWN or below.name.endswith(".schema.json"):
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
            name = f"{_CONFIGURED}[{index}]"
            yield ChartRendering(name, (*files, *texts), (), each.release, each.namespace)
