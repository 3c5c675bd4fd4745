"""model-matches-runtime: the weights that are fetched are of the model that torchtune trains."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.tuning import model, recipe


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is fetched, and what trains it."""

    uri: Value
    """The variable with its storage URI."""
    trains: PodContainer
    """The container that trains."""


def _check(place: FetchedModel, _context: Context[Parameters]) -> Iterator[Finding]:
    found = recipe.recipe_of(place.trains.value)
    trained = None if found is None else model.model_shape(found.config)
    fetched = model.model_shape(place.uri.text())
    if found is not None and trained and fetched and trained != fetched:
        what = f"names weights of {fetched}, but {found.config} is trained: {trained}"
        fix = f"fetch {trained}, or use the runtime of {fetched}"
        yield place.uri.finding(what, place.uri.text(), fix)


def _places(subject: Subject) -> Iterator[FetchedModel]:
    training = subject.once(nodes.training_containers)
    for container in pods.containers(subject):
        if container.pod.step == names.MODEL_INITIALIZER:
            for each in container.value["env"].items():
                if each["name"].raw == names.STORAGE_URI:
                    yield from (FetchedModel(each["value"], trains) for trains in training)


RULE: Final = Rule(
    id="model-matches-runtime",
    title="The model that is fetched is the one that the runtime trains",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("tuning", "torchtune", "models"),
    why="The weights do not fit the model, and the job fails once they are loaded on every GPU.",
    fix="Use the runtime of that model, or its `storageUri`.",
    places=_places,
    check=_check,
)
