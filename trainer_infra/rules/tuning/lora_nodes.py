"""lora-nodes: torchtune tunes adapters, and runs recipes for a single device, on one node.

For a command of just `tune run` the renderer refuses such a TrainJob itself; this is about recipes
that a runtime or a TrainJob names in full. Source: spec.trainer.numNodes in the reference's
validation of torchtune, KEP-2401.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity
from trainer_infra.rules.tuning import recipe


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = recipe.recipe_of(place.value)
    if found is None or not (found.is_lora or found.is_single_device):
        return
    total, where = nodes.total(context.subject), nodes.total_value(context.subject)
    if total > 1:
        is_ours = context.subject.kind == names.TRAIN_JOB
        if is_ours and where.is_inherited() and _is_own(place):
            where = context.subject.object.at("spec", "trainer", "numNodes")
        what = "LoRA" if found.is_lora else "a recipe for a single device"
        fix = "write 1, or train all weights with full_finetune_distributed"
        yield where.finding(f"must be 1: {what} is not for several nodes in torchtune", total, fix)


def _is_own(place: PodContainer) -> bool:
    """Whether the TrainJob itself says what is run."""
    return any(not place.value[key].is_inherited() for key in ("command", "args"))


RULE: Final = Rule(
    id="lora-nodes",
    title="LoRA fine-tuning with torchtune runs on one node",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("tuning", "torchtune", "nodes"),
    why="Each node fails at once, or tunes adapters of its own and overwrites those of the others.",
    fix="Use one node with more GPUs, or train all weights.",
    places=nodes.training_containers,
    check=_check,
)
