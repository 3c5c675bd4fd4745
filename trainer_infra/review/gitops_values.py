"""Objects of Argo CD and Flux -> how they render the charts that are here.

Sources: `spec.source.helm` of Argo CD's Applications and ApplicationSets, `spec` of Flux' HelmReleases. Their paths are
relative to the repository, of which only a part may be here.
"""

import base64
import binascii
import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput
from trainer_infra.review import environments
from trainer_infra.review.documents import Document, items_at, value_at
from trainer_infra.review.helm import ChartRendering

Bound = Mapping[str, str]
"""Values of an ApplicationSet's parameters."""
_ARGO: Final = "argoproj.io"
_FLUX: Final = "helm.toolkit.fluxcd.io"
_PARAMETER: Final = re.compile(r"\{\{-?\s*\.?([^{}]*?)\s*-?\}\}")
_UNKNOWN: Final = "values that only Argo CD knows"


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


def object_renderings(
    documents: Sequence[Document], charts: Iterable[Path]
) -> Iterator[NamedRendering]:
    """What objects among the documents ask for, for charts that are here."""
    known = frozenset(map(os.path.realpath, charts))
    for each in documents if known else ():
        group, kind, namespace, name = environments.object_key(each.value)
        spec = value_at(each.value, ("spec",))
        called = _Caller(f"{kind} {name}", each.file, known)
        if (group, kind) == (_ARGO, "Application"):
            yield from called.of_application(spec, {})
        elif (group, kind) == (_ARGO, "ApplicationSet"):
            template = value_at(spec, ("template", "spec"))
            for bound in tuple(_elements(value_at(spec, ("generators",)))) or ({},):
                yield from called.of_application(template, bound)
        elif (group, kind) == (_FLUX, "HelmRelease"):
            yield from called.of_release(spec, (namespace, name), documents)


@dataclass(frozen=True, slots=True)
class _Caller:
    """An object that names charts."""

    name: str
    file: str
    charts: frozenset[str]

    def of_application(self, spec: Any, bound: Bound) -> Iterator[NamedRendering]:
        """What an Application's sources ask for; with parameters, once for each that fits the files."""
        one = value_at(spec, ("source",))
        for source in (one,) if isinstance(one, Mapping) else items_at(spec, "sources"):
            helm = value_at(source, ("helm",))
            for root, chart, known in self._charts(_text(source, "path"), bound):
                for found, values, missing in _files(helm, (root, chart), known):
                    named = ", ".join(dict.fromkeys(found.values()))
                    way = ChartRendering(
                        f"{self.name}: {named}" if named else self.name,
                        values,
                        tuple(_options(helm, (root, chart), found)),
                        _filled(_text(helm, "releaseName"), found) or self.name.partition(" ")[2],
                        _filled(
                            _text(helm, "namespace") or _text(spec, "destination", "namespace"),
                            found,
                        ),
                    )
                    yield NamedRendering(chart, way, missing, self.file)

    def of_release(
        self, spec: Any, whose: tuple[str, str], documents: Sequence[Document]
    ) -> Iterator[NamedRendering]:
        """What a HelmRelease asks for."""
        namespace, name = whose
        chart_of = _object(value_at(spec, ("chartRef",)), namespace, documents)
        asked = value_at(spec, ("chart", "spec")) or value_at(chart_of, ("spec",))
        target = _text(spec, "targetNamespace")
        for root, chart, _ in self._charts(_text(asked, "chart"), {}):
            named = (*items_at(asked, "valuesFiles"), value_at(asked, ("valuesFile",)))
            files = [os.path.realpath(Path(root, each)) for each in named if isinstance(each, str)]
            values, options = [*filter(os.path.isfile, files)], list[str]()
            missing = [os.path.relpath(each, root) for each in files if each not in values]
            missing = [] if value_at(asked, ("ignoreMissingValuesFiles",)) else missing
            for each in items_at(spec, "valuesFrom"):
                text = _referred(each, namespace, documents)
                path, inline = _text(each, "targetPath"), _json(text)
                if path and text is not None:
                    options += ("--set", f"{path}={text}")
                elif inline:
                    values.append(inline)
                elif not value_at(each, ("optional",)):
                    missing.append(f"{_text(each, 'kind')} {_text(each, 'name')}")
            values += filter(None, (_json(value_at(spec, ("values",))),))
            release = _text(spec, "releaseName") or "-".join(filter(None, (target, name)))
            way = ChartRendering(
                self.name, tuple(values), tuple(options), release, target or namespace
            )
            yield NamedRendering(chart, way, ", ".join(missing), self.file)

    def _charts(self, path: str, bound: Bound) -> Iterator[tuple[str, str, Bound]]:
        """Charts that a path means: the folder that it is relative to, the chart, and its parameters."""
        if not path:
            return
        for folder in reversed(Path(os.path.realpath(self.file)).parents):
            root = str(folder)
            below = {os.path.relpath(each, root): each for each in sorted(self.charts)}
            found = list(_fitting(os.path.normpath(path.lstrip("/")), below, bound))
            if found:
                yield from ((root, below[text], known) for text, known in found)
                return


def _elements(generators: Any) -> Iterator[Bound]:
    """The elements of lists among generators, also of those inside a matrix or a merge."""
    for each in generators if isinstance(generators, list) else ():
        for element in items_at(value_at(each, ("list",)), "elements"):
            if isinstance(element, Mapping):
                yield {str(key): str(value) for key, value in element.items()}
        for outer in ("matrix", "merge"):
            yield from _elements(value_at(each, (outer, "generators")))


def _files(
    helm: Any, where: tuple[str, str], bound: Bound
) -> Iterator[tuple[Bound, tuple[str, ...], str]]:
    """Parameters, values, and what of them is not here."""
    ways: list[tuple[Bound, tuple[str, ...]]] = [(bound, ())]
    missing = ""
    for each in items_at(helm, "valueFiles"):
        further: list[tuple[Bound, tuple[str, ...]]] = [
            ({**known, **more}, (*files, *found))
            for known, files in ways
            for found, more in _found_files(str(each), where, known)
        ]
        if further:
            ways = further
        elif not value_at(helm, ("ignoreMissingValueFiles",)):
            missing = str(each)
    for known, files in ways:
        inline = value_at(helm, ("valuesObject",)) or value_at(helm, ("values",))
        text = _filled(json.dumps(inline), known) if inline else ""
        values = _json(json.loads(text)) if text else ""
        unknown = _UNKNOWN if text and (not values or _PARAMETER.search(text)) else ""
        yield known, (*files, *filter(None, (values,))), missing or unknown


def _found_files(
    text: str, where: tuple[str, str], bound: Bound
) -> Iterator[tuple[tuple[str, ...], Bound]]:
    """Files that a name or a pattern means, for all values of parameters that are not bound yet.

    `/` and `$ref/` begin at the repository's folder.
    """
    root, chart = where
    is_of_root = text.startswith(("/", "$"))
    below = text.partition("/")[2] if is_of_root else text
    folder = root if is_of_root else chart
    filled = _filled(below, bound)
    pattern = _PARAMETER.sub("*", filled)
    there = {
        os.path.normpath(each): os.path.realpath(Path(folder, each))
        for each in sorted(glob.glob(pattern, root_dir=folder))  # noqa: PTH207  it may begin with ../
        if Path(folder, each).is_file()
    }
    if pattern != filled:
        for name, known in _fitting(os.path.normpath(filled), there, bound):
            yield (there[name],), known
    elif there:
        yield tuple(there.values()), {}


def _options(helm: Any, where: tuple[str, str], bound: Bound) -> Iterator[str]:
    for each in items_at(helm, "parameters"):
        option = "--set-string" if value_at(each, ("forceString",)) else "--set"
        yield from (option, f"{_text(each, 'name')}={_filled(_text(each, 'value'), bound)}")
    for each in items_at(helm, "fileParameters"):
        for files, _ in _found_files(_text(each, "path"), where, bound):
            yield from ("--set-file", f"{_text(each, 'name')}={files[0]}")


def _fitting(text: str, names: Iterable[str], bound: Bound) -> Iterator[tuple[str, Bound]]:
    """Which of the names a text with parameters may be, and with what values of them."""
    parts = _PARAMETER.split(_filled(text, bound))
    groups = {f"p{index}": key for index, key in enumerate(parts[1::2])}
    pattern = "".join(
        f"(?P<p{index // 2}>.+)" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
    for name in names:
        found = re.fullmatch(pattern, name)
        if found:
            yield name, {**bound, **{groups[key]: each for key, each in found.groupdict().items()}}


def _filled(text: str, bound: Bound) -> str:
    return _PARAMETER.sub(lambda each: bound.get(each[1], each[0]), text)


def _object(reference: Any, namespace: str, documents: Sequence[Document]) -> Any:
    """The object that a HelmRelease refers to; None where it is not here."""
    kind, name = _text(reference, "kind"), _text(reference, "name")
    wanted = (kind, _text(reference, "namespace") or namespace, name)
    keys = ((environments.object_key(each.value), each.value) for each in documents)
    return next((value for (_, *key), value in keys if (*key,) == wanted), None)


def _referred(reference: Any, namespace: str, documents: Sequence[Document]) -> str | None:
    """The text that a ConfigMap or a Secret has for a HelmRelease; None where it is not here."""
    key = _text(reference, "valuesKey") or "values.yaml"
    found = _object(reference, namespace, documents)
    text, coded = (value_at(found, (field, key)) for field in ("stringData", "data"))
    if text is None and coded is not None and value_at(found, ("kind",)) == "Secret":
        return _plain(coded)
    said: str | None = coded if text is None else text
    return said


def _plain(text: Any) -> str | None:
    try:
        return base64.b64decode(str(text)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _json(values: Any) -> str:
    """Values as a JSON text; empty where they are none."""
    try:
        if isinstance(values, str):
            values = next((each.value for each in yaml_source.read_yaml(values, "")), None)
    except InvalidInput:
        return ""
    return json.dumps(values) if values and isinstance(values, Mapping) else ""


def _text(value: Any, *path: str) -> str:
    found = value_at(value, path)
    return found if isinstance(found, str) else ""
