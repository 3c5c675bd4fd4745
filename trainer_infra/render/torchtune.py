"""TorchTune, a mode of torch's plugin: `tune run` becomes a recipe, its config and overrides.

Pure. A TrainJob without spec.trainer keeps the runtime's own command. Rules: reference behaviour
3.3, KEP-2401.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import endpoints, resolve, resources, trainer_env
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

LLAMA3_2_1B: Final = "llama3_2/1B"
LLAMA3_2_3B: Final = "llama3_2/3B"
LLAMA3_3_70B: Final = "llama3_3/70B"
QWEN2_5_1_5B: Final = "qwen2_5/1.5B"
MODELS: Final = (LLAMA3_2_1B, LLAMA3_2_3B, LLAMA3_3_70B, QWEN2_5_1_5B)
"""Models with a config for every recipe below, as torchtune names them."""
OUTPUT: Final = "output_dir"
"""Where the model is written: ours lets a TrainJob say it, for what the runtime names goes with the run."""
MANAGED: Final = (OUTPUT, "tokenizer.path", "tokenizer.merges_file", "checkpointer.checkpoint_dir")
"""Config items that the runtime's command sets and a TrainJob may not, in the reference."""
_SOURCES: Final = ("dataset.source", "dataset.data_dir", "dataset.data_files")
"""Items that say together where a dataset is."""
_COMPONENT: Final = "._component_"
_FULL: Final = "_full"
_LORA: Final = "_lora"
_QLORA: Final = "_qlora"
_NAME_FIELDS: Final = 3


def asked_for(draft: Draft) -> bool:
    """Whether the TrainJob's command is `tune run`."""
    return draft.trainer_spec.command == names.TUNE_RUN


def model_of_runtime(runtime_name: str) -> str:
    """The model that a runtime's name stands for: `torchtune-llama3.2-1b` is `llama3_2/1B`.

    Empty when the name has not three parts.
    """
    parts = runtime_name.split("-")
    if len(parts) != _NAME_FIELDS:
        return ""
    return f"{parts[1].replace('.', '_')}/{parts[2].upper()}"


def tune_command(draft: Draft, processes: int | str) -> tuple[str, ...]:
    """The trainer's command; the draft has the node count, `processes` may be torchrun's `auto`."""
    nodes = draft.trainer.count if draft.trainer else 1
    gpus = resources.accelerators(draft)
    several = processes > 1 if isinstance(processes, int) else gpus > 1
    address = f"--rdzv_endpoint={endpoints.head(draft)}:{names.RENDEZVOUS_PORT}"
    recipe, suffix = _recipe(draft, nodes, processes)
    return (
        *names.TUNE_RUN,
        *((address,) if nodes > 1 or several else ()),
        recipe,
        "--config",
        f"{model_of_runtime(draft.job.spec.runtime_ref.name)}{suffix}",
        *_overrides(draft),
    )


def torchtune_problems(draft: Draft) -> Iterable[Problem]:
    """What torchtune cannot run, in the reference's order and words."""
    name = model_of_runtime(draft.job.spec.runtime_ref.name)
    if name not in MODELS:
        yield _of_runtime(
            draft,
            f"must have a supported pretrained model, invalid model configured: {name}",
            fix=f"name a runtime of one of {', '.join(MODELS)}, as torchtune-llama3.2-1b",
        )
    nodes = _nodes(draft)
    if nodes > 1 and name != LLAMA3_3_70B:
        yield Problem("spec.trainer.numNodes", f"must be 1 for {name} model", got=nodes)
    yield from _of_qlora(draft, name, nodes)
    args = draft.trainer_spec.args or ()
    if nodes > 1 and _tuned(args) != _FULL:
        yield Problem(
            "spec.trainer.numNodes",
            "LoRA fine-tuning is not supported for multi-node training in TorchTune",
            got=nodes,
        )
    for position, arg in enumerate(args):
        key = arg.partition("=")[0]
        if key in MANAGED and not (key == OUTPUT and draft.ours(Deviation.TORCHTUNE)):
            yield Problem(
                f"spec.trainer.args[{position}]",
                f'must not set immutable config "{key}" in trainer args; '
                "it is managed by the runtime",
                got=arg,
            )


def _of_qlora(draft: Draft, name: str, nodes: int) -> Iterable[Problem]:
    count = draft.trainer_spec.num_proc_per_node
    processes = "auto" if count is None else count
    _, suffix = _recipe(draft, nodes, processes)
    if not suffix.startswith(_QLORA):
        return
    if name == QWEN2_5_1_5B:
        yield _of_runtime(draft, f"QLoRA is not supported for {name} model")
    if suffix == _QLORA and name in (LLAMA3_2_1B, LLAMA3_2_3B):
        yield Problem(
            "spec.trainer.numProcPerNode",
            f"must be auto or 1 for {name} model when using QLoRA",
            got=processes,
        )
        yield Problem(
            "spec.trainer.resourcesPerNode",
            f"must have gpu resource with value 1 for {name} model when using QLoRA",
            got=draft.trainer_spec.resources_per_node,
        )


def _of_runtime(draft: Draft, what: str, fix: str = "") -> Problem:
    name = draft.job.spec.runtime_ref.name
    return Problem("spec.runtimeRef.name", what, got=name, fix=fix)


def _recipe(draft: Draft, nodes: int, processes: int | str) -> tuple[str, str]:
    """The recipe, and what follows the model in the config's name."""
    tuned = _tuned(draft.trainer_spec.args or ())
    if nodes > 1:
        return "full_finetune_distributed", "_full_multinode"
    if nodes < 1:
        return "full_finetune_distributed", _FULL
    method = "full" if tuned == _FULL else "lora"
    if processes == 1 or resources.accelerators(draft) == 1:
        return f"{method}_finetune_single_device", f"{tuned}_single_device"
    return f"{method}_finetune_distributed", tuned


def _tuned(args: tuple[str, ...]) -> str:
    """How much of the model is trained, as configs name it."""
    if _switched_on(args, "model.quantize_base") and not _switched_on(args, "model.use_dora"):
        return _QLORA
    return _LORA if any("model.lora_attn_modules" in arg for arg in args) else _FULL


def _switched_on(args: tuple[str, ...], item: str) -> bool:
    pairs = (arg.partition("=") for arg in args)
    return any(item in key and value.strip().lower() == "true" for key, _, value in pairs)


def _nodes(draft: Draft) -> int:
    # The reference's validation leaves the runtime's mlPolicy.numNodes out (reference behaviour 3.3).
    if draft.ours(Deviation.TORCHTUNE):
        return trainer_env.nodes(draft)
    return 1 if draft.trainer_spec.num_nodes is None else draft.trainer_spec.num_nodes


def _overrides(draft: Draft) -> Iterable[str]:
    """Items of the runtime's own command that hold: in the reference, where model and output are.

    Ours keeps all that the TrainJob's arguments do not set, such as the dataset that an initializer fetched.
    """
    if draft.ours(Deviation.TORCHTUNE):
        return runtime_items(draft.spec, draft.trainer_spec.args or ())
    return (each for each in _words(draft.spec) if each.partition("=")[0] in MANAGED)


def runtime_items(spec: JSONObject, args: Iterable[str]) -> Iterable[str]:
    """Config items of the command in a JobSet's spec that a TrainJob's arguments do not set."""
    given = {_key(each) for each in args if "=" in each}
    if given & {*_SOURCES}:
        given |= {*_SOURCES}
    items = (each for each in _words(spec) if "=" in each and not each.startswith("-"))
    return (each for each in items if _key(each) not in given)


def _words(spec: JSONObject) -> Iterable[str]:
    for _, container in resolve.trainer_containers(spec):
        yield from container.get("command") or ()


def _key(item: str) -> str:
    """What an item sets; a component has two names."""
    return item.partition("=")[0].removesuffix(_COMPONENT)
