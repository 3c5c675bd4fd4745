"""`trainer-infra render`: documents -> every object of every TrainJob, as text.

Called by `main`. The objects of a TrainJob come in apply order, runtime snapshot first and JobSet
last; TrainJobs come in input order.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from trainer_infra import names
from trainer_infra.api import yamltext
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cli import documents
from trainer_infra.cli.runtimes import Given
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.lifecycle import admission
from trainer_infra.render import listed
from trainer_infra.render.phases import Plugin
from trainer_infra.trainers import compose
from trainer_infra.trainers.compose import Composition

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What TrainJobs become."""

    objects: tuple[JSON, ...]
    """Every object, in the order in which the TrainJobs were given."""
    warnings: tuple[str, ...]
    """Sentences about TrainJobs that nothing stops."""


def rendered(sources: Sequence[str], plugins: Sequence[str], *, like_reference: bool) -> Rendered:
    """Every object of every TrainJob in files, folders and stdin.

    Args:
        sources: the files and folders; `-` is stdin.
        plugins: listed plugins, as `render.listed` takes them.
        like_reference: render without our named deviations from the reference.

    Raises:
        InvalidInput: holds every problem of every document.
    """
    render = partial(_composed, plugins=listed.registry(plugins), like_reference=like_reference)
    found = documents.read(sources)
    given = Given(found.documents)
    problems = [*found.problems, *given.problems()]
    objects: list[JSON] = []
    warnings: list[str] = []
    for document in given.documents:
        job = document.object
        if not isinstance(job, TrainJob) or not job.metadata.name:
            continue
        if job.spec.runtime_ref.name in found.unread:
            continue
        try:
            made = render(job, given)
            objects += made.objects
            said = admission.warnings(job, made.runtime, like_reference=like_reference)
            warnings += (f"TrainJob {job.metadata.name}: {each}" for each in said)
        except InvalidInput as error:
            problems += given.located(document, error.problems)
    if not objects and not problems:
        problems = [Problem("", f"no document of {', '.join(sources)} is a TrainJob")]
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    return Rendered(tuple(shown(each) for each in objects), tuple(warnings))


def written(objects: Sequence[JSON], output: str) -> str:
    """The objects as YAML documents, or as one JSON List."""
    if output == "yaml":
        return yamltext.dump(objects)
    whole = {"apiVersion": "v1", "kind": "List", "items": objects}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def shown(item: JSON) -> JSON:
    """The object; of a Secret not the contents, which are made when it is created."""
    if item["kind"] != "Secret":
        return item
    contents = {
        part: dict.fromkeys(item[part], names.GENERATED_SHOWN)
        for part in ("data", "stringData")
        if part in item
    }
    return {**item, **contents}


def _composed(
    job: TrainJob, given: Given, *, plugins: tuple[Plugin, ...], like_reference: bool
) -> Composition:
    return compose.compose(
        job.to_wire(),
        given.runtime_of(job),
        None,
        (),
        like_reference=like_reference,
        plugins=plugins,
    )
