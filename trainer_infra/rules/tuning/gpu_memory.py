"""gpu-memory: what a fine-tuning job holds at least fits into the memory of its GPUs.

A lower bound of what each GPU holds, so that what is found cannot work:

    full, several GPUs   (weights + gradients + two AdamW states) / GPUs
    full, single device  weights
    LoRA, DoRA           weights / GPUs
    QLoRA                weights in 4 bits / GPUs

Weights, gradients and states have 2 bytes per parameter each (torchtune's bf16), 4 with
`dtype=fp32`. FSDP shards all of them over the GPUs of all nodes: Rajbhandari et al., "ZeRO", 2020
(Pos+g+p), which torchtune's distributed recipes use. Its configs for a single device step
the optimizer in the backward pass with paged 8-bit states (torchtune, "Memory Optimization
Overview"), so that weights alone count there. Activations, adapters and buffers come on top.

Nothing is said where model, recipe or accelerator is not known, nor with `fsdp_cpu_offload`, which
the config llama3_3/70B_full has; of what an override of the optimizer changes nothing counts. GPUs
have what their data sheet says.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from trainer_infra import names
from trainer_infra.catalog import accelerators
from trainer_infra.rules.placement import amounts, machines, nodes
from trainer_infra.rules.pods import Pod, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.tuning import torchtune
from trainer_infra.rules.tuning.torchtune import Recipe

_GIB: Final = 2**30
_OFFLOAD: Final = "fsdp_cpu_offload"
_OFFLOADED: Final = ("llama3_3/70B_full",)
"""Configs that keep what is sharded in the memory of the machine."""
_SLICE: Final = re.compile(r"nvidia\.com/mig-\dg\.(?P<memory>\d{1,3})gb(\.\w+)*", re.ASCII)
_STATES: Final = 2
"""What AdamW keeps of each parameter: its mean and its variance."""


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = torchtune.recipe_of(place.value)
    own = None if found is None else amounts.gpus_of(place.value)
    needed = None if found is None else _needed(found)
    if own is None or found is None or needed is None:
        return
    most = _of_slices(own.place) or _memory(place.pod, context)
    if most is None:
        return
    used = Decimal(1) if found.is_single_device else own.count * nodes.total(context.subject)
    if used > 0 and needed / used > most:
        least = f"at least {needed / used:.0f} GiB of {found.config}"
        what = f"puts {least} on each GPU, which has {most} GiB"
        yield own.place.finding(what, own.place.raw, _fix(found, needed, most))


def _needed(found: Recipe) -> Decimal | None:
    """GiB that all GPUs together hold at least; None where that is not known."""
    parameters = torchtune.PARAMETERS.get(f"{found.config.partition('B_')[0]}B")
    by_default = "true" if found.config in _OFFLOADED else ""
    if parameters is None or (found.setting(_OFFLOAD) or by_default) == "true":
        return None
    size = Decimal(4 if found.setting("dtype") == "fp32" else 2)
    if found.is_lora:
        return parameters * (Decimal("0.5") if found.is_quantized else size) / _GIB
    kept = 1
    if not found.is_single_device:
        kept += 0 if found.setting("optimizer_in_bwd") == "true" else 1
        kept += 0 if found.overrides("optimizer") else _STATES
    return parameters * size * kept / _GIB


def _of_slices(place: Value) -> int:
    """GiB of a MIG slice, which its resource is named for; 0 of whole GPUs."""
    found = _SLICE.fullmatch(str(place.path[-1]))
    return int(found["memory"]) if found else 0


def _memory(pod: Pod, context: Context[Parameters]) -> int | None:
    """GiB of the largest accelerator that the pod may get; None where one is not known."""
    called = machines.accelerators(pod, context.subject, context.world)
    found = [accelerators.find_accelerator(each) for each in called]
    known = [each.memory for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None


def _fix(found: Recipe, needed: Decimal, most: int) -> str:
    at_least = int(needed / most) + 1
    lora = "" if found.is_lora else ", or train adapters with LoRA"
    if found.is_single_device:
        return f"use {at_least} GPUs and the recipe for several{lora}"
    return f"use at least {at_least} GPUs in all{lora}"


RULE: Final = Rule(
    id="gpu-memory",
    title="A fine-tuning job must fit into the memory of its GPUs",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("tuning", "torchtune", "gpu", "memory"),
    why="The job runs out of memory after it has downloaded and loaded the model.",
    fix="Use more or larger GPUs, or a method that needs less memory.",
    places=nodes.training_containers,
    check=_check,
    looks_around=True,
)
