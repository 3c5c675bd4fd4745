"""`trainer-infra render`: documents -> every object of every TrainJob, as text.

The objects of a TrainJob come in apply order, runtime snapshot first and JobSet last; TrainJobs
come in input order.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.api import crd, manifests, yamltext
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cli import documents
from trainer_infra.cli.documents import CommandDocuments
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import REFERENCE, Behaviour
from trainer_infra.render.deviation import ALL
from trainer_infra.trainers import compose
from trainer_infra.words import listed


@dataclass(frozen=True, slots=True)
class RenderedObjects:
    """What TrainJobs become."""

    objects: tuple[JSONObject, ...]
    """Every object, in the order in which the TrainJobs were given."""
    warnings: tuple[str, ...]
    """Sentences about TrainJobs that nothing stops."""


def render_documents(
    sources: Sequence[str], plugins: Sequence[str], *, like_reference: bool
) -> RenderedObjects:
    """Every object of every TrainJob in files, folders and (`-`) stdin.

    Raises:
        InvalidInput: holds every problem of every document.
    """
    deviations = REFERENCE.deviations if like_reference else ALL
    behaviour = Behaviour(plugin_registry.plugins_with(plugins), deviations)
    found = documents.read_documents(sources)
    given = CommandDocuments(found.documents)
    problems = [*found.problems, *given.problems(behaviour.deviations)]
    objects: list[JSONObject] = []
    warnings: list[str] = []
    for document in given.documents:
        job = document.object
        if not isinstance(job, TrainJob) or not job.metadata.name:
            continue
        if job.spec.runtime_ref.name in found.unread:
            continue
        try:
            runtime = given.runtime_of(job)
            made = compose.compose(job.to_wire(), runtime, None, (), behaviour)
            objects += made.objects
            warnings += made.warnings
        except InvalidInput as error:
            problems += given.located(document, error.problems)
    if not objects and not problems:
        problems = [Problem("", f"no document of {', '.join(sources)} is a TrainJob")]
    if problems:
        # A runtime's problem is found in its document, and again for each TrainJob on it.
        raise InvalidInput({str(each): each for each in problems}.values())
    return RenderedObjects(tuple(warnings_shown(each) for each in objects), tuple(warnings))


def objects_text(objects: Sequence[JSONObject], output: str) -> str:
    """The objects as YAML documents, or as one JSON List."""
    if output == "yaml":
        return yamltext.dump_yaml(objects)
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def warnings_shown(item: JSONObject) -> JSONObject:
    """The object; of a Secret not the contents, which are made when it is created."""
    if item["kind"] != "Secret":
        return item
    parts = (part for part in ("data", "stringData") if part in item)
    return {**item, **{part: dict.fromkeys(item[part], names.GENERATED_SHOWN) for part in parts}}


def crds_text(kinds: Sequence[str], output: str) -> str:
    """The CRDs of these kinds, or of all of ours, as YAML documents or as one JSON List.

    Raises:
        InvalidInput: a name is not one of these.
    """
    unknown = [kind for kind in kinds if kind not in manifests.KINDS]
    if unknown:
        raise InvalidInput(
            Problem("", "no such kind", kind, f"use {listed(manifests.KINDS, 'or')}")
            for kind in unknown
        )
    return objects_text(crd.crd_definitions(kinds or manifests.KINDS), output)
