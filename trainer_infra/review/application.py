"""A folder -> the objects that Argo CD or Flux applies of it, and no others.

`sources` reads all that stands in a folder, for reviews. A gate judges what is applied: of a folder with a
kustomization what it builds, of a chart what it renders, of others the manifests in it.
Sources: Argo CD's tool detection and its plugins' environment; Flux's generation of kustomizations.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import helm, kustomize, source_objects, sources
from trainer_infra.review.documents import Document
from trainer_infra.review.helm import ChartRendering
from trainer_infra.review.inventory import SourceFile, Use
from trainer_infra.review.source_objects import SourceObjects, SourceScope

ARGO_CD: Final = "argocd"
FLUX: Final = "flux"
_FILES: Final = "values-files"
_PARAMETERS: Final = "helm-parameters"
_ENVIRONMENT: Final = "ARGOCD_ENV_"
"""How Argo CD begins the name of a variable that an application sets."""
_BELOW: Final = "is not applied: Argo CD reads no folders below an application's"
_BREAKS: Final = str.maketrans(
    {each: f"\\u{ord(each):04x}" for each in "\x7f\x85\u2028\u2029\ufeff"}
)
"""What YAML takes for the end of a line, or does not take at all, where JSON does."""


@dataclass(frozen=True, slots=True)
class Application:
    """What an application is built with."""

    tool: str
    """What applies it."""
    way: ChartRendering = field(default_factory=ChartRendering)
    """Of a chart."""


def application_of(tool: str, variables: Mapping[str, str]) -> Application:
    """The application that a tool asks for by variables.

    Raises:
        InvalidInput: They ask for what is not done here: what is judged would not be what was meant.
    """
    if tool != ARGO_CD:
        return Application(tool)
    given = _parameters(variables)
    unknown = [each for each in given if each not in {_FILES, _PARAMETERS}]
    unknown += [each for each in variables if each.startswith(_ENVIRONMENT)]
    if unknown:
        fix = f"use the parameters {_FILES} and {_PARAMETERS}"
        what = "has settings that the check cannot build with"
        raise InvalidInput([Problem("spec.source.plugin", what, ", ".join(unknown), fix)])
    options = [
        f"--set={key}={value}".replace(",", "\\,")
        for key, value in (given.get(_PARAMETERS, {}).get("map") or {}).items()
    ]
    for option, name in (("kube-version", "KUBE_VERSION"), ("api-versions", "KUBE_API_VERSIONS")):
        options += (f"--{option}={each}" for each in variables.get(name, "").split(",") if each)
    top = _top(variables.get("ARGOCD_APP_SOURCE_PATH", ""))
    files = [_inside(each, top) for each in given.get(_FILES, {}).get("array") or ()]
    way = ChartRendering(
        ", ".join(files),
        tuple(map(os.path.realpath, files)),
        tuple(options),
        variables.get("ARGOCD_APP_NAME", ""),
        variables.get("ARGOCD_APP_NAMESPACE", ""),
    )
    return Application(tool, way)


def read_applied(folder: str, application: Application, wanted: SourceScope) -> SourceObjects:
    """What is applied of a folder; what cannot be told is a problem.

    Args:
        folder: of the application.
        application: what it is built with.
        wanted: files that are not applied, and further files of values, which are weaker.
    """
    where = Path(folder)
    is_chart, is_kustomization = helm.is_one(where), kustomize.is_one(where)
    if not where.is_dir():
        return source_objects.unread(folder, f"{folder}: is not a folder")
    if is_chart and is_kustomization:
        said = "has a chart and a kustomization; which of them is applied is not certain"
        return source_objects.unread(folder, f"{folder}: {said}")
    if is_kustomization:
        return source_objects.made(where, kustomize.read_kustomization)
    if is_chart:
        weaker = map(os.path.realpath, wanted.values)
        way = replace(application.way, values=(*weaker, *application.way.values))
        return source_objects.made(where, lambda it: helm.read_chart(it, way))
    if application.tool == FLUX:
        # Flux generates a kustomization of all manifests below it.
        return sources.read_sources([folder], wanted)
    return _plain(where, wanted)


def _plain(folder: Path, wanted: SourceScope) -> SourceObjects:
    """The manifests of a folder without those of folders in it, as Argo CD reads it."""
    inside = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    files = [
        str(each) for each in inside if each.suffix in source_objects.SUFFIXES and each.is_file()
    ]
    programs = (
        source_objects.unread(str(each), f"{each}: is Jsonnet, which the check cannot build")
        for each in inside
        if each.suffix in {".jsonnet", ".libsonnet"}
    )
    folders = tuple(
        SourceFile(str(each), Use.PASSED_OVER, _BELOW)
        for each in inside
        if each.is_dir() and any(one.suffix in source_objects.SUFFIXES for one in each.rglob("*"))
    )
    found = sources.read_sources(files, replace(wanted, values=()))
    broken = _broken(found.files)
    return source_objects.joined_sources((found, *broken, *programs, SourceObjects(files=folders)))


def _broken(files: Iterable[SourceFile]) -> Iterator[SourceObjects]:
    """Files that Argo CD cannot read, also those without an object: it renders nothing then."""
    for each in files:
        if each.use in {Use.DATA, Use.PASSED_OVER} and each.why != source_objects.EXCLUDED:
            try:
                yaml_source.read_yaml(*source_objects.text_of(each.path))
            except InvalidInput as error:
                yield source_objects.unread(each.path, *map(str, error.problems))


def objects_text(documents: Iterable[Document]) -> str:
    """The objects as a stream of YAML documents, each of them one line of JSON."""
    texts = (json.dumps(each.value, ensure_ascii=False).translate(_BREAKS) for each in documents)
    return "".join(f"---\n{each}\n" for each in texts)


def _parameters(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The parameters of an application's plugin, by name."""
    text = variables.get("ARGOCD_APP_PARAMETERS") or "[]"
    try:
        return {each["name"]: {**each} for each in json.loads(text) or ()}
    except (ValueError, TypeError, KeyError):
        what = "must be the list of parameters that Argo CD writes"
        raise InvalidInput([Problem("ARGOCD_APP_PARAMETERS", what, text)]) from None


def _top(path: str) -> Path:
    """The folder of the repository, by the path of the application in it, in which the check runs."""
    here = Path.cwd()
    parts = [each for each in Path(path).parts if each not in {os.curdir, os.sep}]
    return here.parents[len(parts) - 1] if 0 < len(parts) <= len(here.parents) else here


def _inside(file: str, top: Path) -> str:
    """A file of values, which is of the repository."""
    if not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(top)):
        what, fix = (
            "must be a file of the repository",
            "write its path from the application's folder",
        )
        raise InvalidInput([Problem(f"spec.source.plugin: {_FILES}", what, file, fix)])
    return file
