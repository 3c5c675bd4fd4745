"""Torchtune: what a container has it do, which model that is, and what it cannot do.

The command is `tune run`, options of torchrun, the recipe, `--config <model>_<method>`, and items
that override those of the config (torchtune 0.6 documentation, "Command line interface").
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.render import torchtune
from trainer_infra.rules import pods
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_RECIPE: Final = re.compile(r"(\w*_)?(finetune|dpo)_(\w+)")
_CONFIG: Final = "--config"
_LORA_ITEM: Final = "model.lora_attn_modules"
_QUANTIZED: Final = "model.quantize_base=true"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What torchtune does."""

    name: str
    """The recipe, `full_finetune_distributed`."""
    config: str
    """The config, `llama3_2/1B_full`; empty where none is named."""
    words: tuple[str, ...]
    """The whole command line."""

    @property
    def is_lora(self) -> bool:
        """Whether it trains adapters: LoRA, QLoRA or DoRA."""
        return "lora" in self.name or any(each.startswith(_LORA_ITEM) for each in self.words)

    @property
    def is_quantized(self) -> bool:
        """Whether the weights that stay as they are have 4 bits: QLoRA."""
        return "qlora" in self.config or any(each.lower() == _QUANTIZED for each in self.words)

    @property
    def is_single_device(self) -> bool:
        """Whether it runs on one GPU, whatever there is."""
        return self.name.endswith("_single_device")

    def overrides(self, *items: str) -> bool:
        """Whether one of these items of the config, or something below it, is set."""
        starts = tuple(f"{each}{end}" for each in items for end in ("=", "."))
        return any(each.startswith(starts) for each in self.words)

    def setting(self, item: str) -> str:
        """What an item of the config is set to, in small letters; empty where it is not set."""
        pairs = (each.partition("=") for each in self.words)
        return next((value.lower() for key, _, value in pairs if key == item), "")


def recipe_of(container: Value) -> Recipe | None:
    """What a container has torchtune do; None where it runs something else."""
    lists = (container[key] for key in ("command", "args"))
    words = tuple(each.text() for one in lists if one.is_there() for each in one.items())
    name = next((each for each in words if _RECIPE.fullmatch(each)), "")
    if words[:2] != names.TUNE_RUN or not name:
        return None
    after = (value for key, value in itertools.pairwise(words) if key == _CONFIG)
    return Recipe(name, next(after, ""), words)


PARAMETERS: Final = {
    torchtune.LLAMA3_2_1B: 1_235_814_400,
    torchtune.LLAMA3_2_3B: 3_212_749_824,
    torchtune.LLAMA3_3_70B: 70_553_706_496,
    torchtune.QWEN2_5_1_5B: 1_543_714_304,
}
"""Weights of the models that the catalog trains, as torchtune names them: those of the published ones (model
cards of Llama 3.2, Llama 3.3 and Qwen 2.5)."""
_NAMED: Final = re.compile(
    r"(llama|qwen)[-_]?(\d)(?:[._]\d)?[-_/](\d{1,3}(?:\.\d)?)b(?![a-z0-9])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What two models must have in common for one to be loaded as the other."""

    family: str
    """`llama` or `qwen`."""
    generation: str
    """Its first number: 3.1 and 3.3 are built alike."""
    size: str
    """Billions of parameters, as names have it."""

    @override
    def __str__(self) -> str:
        """As people write it."""
        return f"{self.family.capitalize()} {self.generation} {self.size}B"


def model_shape(text: str) -> Shape | None:
    """The model that a config or a URI names; None where it names none that is known."""
    found = {Shape(*(part.lower() for part in each)) for each in _NAMED.findall(text)}
    return found.pop() if len(found) == 1 else None


def _check_nodes(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = recipe_of(place.value)
    if found is None or not (found.is_lora or found.is_single_device):
        return
    total, where = nodes.total(context.subject), nodes.total_value(context.subject)
    if total > 1:
        is_ours = context.subject.kind == names.TRAIN_JOB and where.is_inherited()
        if is_ours and any(not place.value[key].is_inherited() for key in ("command", "args")):
            where = context.subject.object.at("spec", "trainer", "numNodes")
        what = "LoRA" if found.is_lora else "a recipe for a single device"
        fix = "write 1, or train all weights with full_finetune_distributed"
        yield where.finding(f"must be 1: {what} is not for several nodes in torchtune", total, fix)


LORA_NODES: Final = Rule(
    id="lora-nodes",
    title="LoRA fine-tuning with torchtune must run on one node",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("tuning", "torchtune", "nodes"),
    why="Each node fails at once, or tunes its own adapters and overwrites those of the others.",
    fix="Use one node with more GPUs, or train all weights.",
    places=nodes.training_containers,
    check=_check_nodes,
)
"""For a command of just `tune run` the renderer refuses such a TrainJob itself; this is about recipes
that a runtime or a TrainJob names in full. Source: spec.trainer.numNodes in the reference's
validation of torchtune, KEP-2401.
"""


@dataclass(frozen=True, slots=True)
class FetchedModel:
    """A model that is fetched, and what trains it."""

    uri: Value
    """The variable with its storage URI."""
    trains: PodContainer


def _check_model(place: FetchedModel, _context: Context[Parameters]) -> Iterator[Finding]:
    found = recipe_of(place.trains.value)
    trained = None if found is None else model_shape(found.config)
    fetched = model_shape(place.uri.text())
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


MODEL_MATCHES_RUNTIME: Final = Rule(
    id="model-matches-runtime",
    title="The model that is fetched must be the one that the runtime trains",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("tuning", "torchtune", "models"),
    why="The weights do not fit the model, and the job fails once every GPU has loaded them.",
    fix="Use the runtime of that model, or its `storageUri`.",
    places=_places,
    check=_check_model,
)
