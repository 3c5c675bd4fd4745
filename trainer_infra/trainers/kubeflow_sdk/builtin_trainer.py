"""The SDK's BuiltinTrainer: `tune run` with the arguments that the SDK makes of a TorchTuneConfig.

The SDK's own function writes the arguments, so they are the same; they are judged before by what
torchtune takes (`libraries.torchtune`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Final

from trainer_infra import names
from trainer_infra.api.input import Input
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.kubeflow_sdk import pod_values
from trainer_infra.trainers.kubeflow_sdk.sdk_type import sdk_type
from trainer_infra.trainers.libraries.library_program import ProgramSetting, setting_problems
from trainer_infra.trainers.libraries.torchtune import schema_of_runtimes
from trainer_infra.trainers.pods.pod_arguments import PodArguments
from trainer_infra.trainers.trainer import PackedTrainer

TYPE: Final = "BuiltinTrainer"
CONFIG: Final = "TorchTuneConfig"
EMPTY: Final = ("num_nodes", "resources_per_node")
PARTS: Final = {
    "peft_config": "LoraConfig",
    "dataset_preprocess_config": "TorchTuneInstructDataset",
}
"""Fields of a TorchTuneConfig that are types of the SDK themselves."""
ENUMERATIONS: Final = {
    "dtype": "DataType",
    "loss": "Loss",
    "dataset_preprocess_config.source": "DataFormat",
}
"""Fields that hold a member of one, whose value is the argument."""
_OF_LORA: Final = (
    *("apply_lora_to_mlp", "apply_lora_to_output", "lora_rank", "lora_alpha", "lora_dropout"),
    *("lora_attn_modules", "quantize_base", "use_dora"),
)
JUDGED: Final = {
    "batch_size": "batch_size",
    "epochs": "epochs",
    **{f"peft_config.{name}": f"model.{name}" for name in _OF_LORA},
}
"""Fields whose values are judged -> items of a configuration of torchtune."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningOfSdk(PodArguments):
    """Fine-tunes on a `torchtune-*` runtime, with what stands in the SDK's TorchTuneConfig."""

    trainer_type: ClassVar[str] = TYPE

    config: Mapping[str, Any]
    """Fields of the TorchTuneConfig that are about no pods; its parts as mappings too."""
    dataset: Input[str | None] = None
    """Where the dataset of the SDK's HuggingFaceDatasetInitializer is, which arguments name."""

    def pack(self) -> PackedTrainer:
        """The trainer and its secrets, as `PackableTrainer.pack`."""
        pods = replace(self, **pod_values.given_values(self, EMPTY))
        of_pods = tuple(pods.shape_problems()) or (
            *pod_values.mig_problems(pods.resources_per_node),
            *pods.pod_problems(),
        )
        problems = (
            *self._problems(),
            *(replace(each, path=f"config.{each.path}") for each in of_pods),
        )
        if problems:
            raise InvalidInput(problems)
        args = self._arguments()
        trainer = {"command": list(names.TUNE_RUN), **pods.spec_trainer(), "args": args}
        return PackedTrainer(None, trainer, {})

    def _problems(self) -> Iterator[Problem]:
        values = dict(_leaves(as_python(self.config)))
        for path, kind in ENUMERATIONS.items():
            value = values.get(path)
            if value and sdk_type(value) != kind:
                yield Problem(f"config.{path}", f"must be one of {kind} of the kubeflow SDK", value)
        schema = schema_of_runtimes(lora=self.config.get("peft_config") is not None)
        settings = (
            # The SDK writes no empty list.
            ProgramSetting(f"config.{path}", item, values.get(path) or None)
            for path, item in JUDGED.items()
        )
        yield from setting_problems(schema, settings, "tune run")

    def _arguments(self) -> list[str]:
        from kubeflow.trainer.backends.kubernetes import utils  # noqa: PLC0415  loaded by who made the trainer
        from kubeflow.trainer.types import types  # noqa: PLC0415  the same

        given = as_python(self.config)
        parts = {
            name: getattr(types, kind)(**given[name])
            for name, kind in PARTS.items()
            if given.get(name) is not None
        }
        fetched, place = None, as_python(self.dataset)
        if place is not None:
            fetched = types.Initializer(types.HuggingFaceDatasetInitializer(place))
        config = types.TorchTuneConfig(**{**given, **parts})
        return list(utils.get_args_using_torchtune_config(config, fetched))


def _leaves(config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values of a configuration by their paths, those of its parts too."""
    for name, value in config.items():
        if name in PARTS and isinstance(value, Mapping):
            yield from ((f"{name}.{each}", inner) for each, inner in value.items())
        else:
            yield name, value


def builtin_trainer(given: Any, dataset: Any) -> TuningOfSdk:
    """Ours of the SDK's, whose dataset the given initializer fetches, if anything does.

    Raises:
        InvalidInput: Its configuration is of another type.
    """
    if sdk_type(given.config) != CONFIG:
        what = f"must be a {CONFIG} of the kubeflow SDK"
        raise InvalidInput([Problem("config", what, got=type(given.config).__name__)])
    values = _fields(given.config)
    for name, kind in PARTS.items():
        part = values[name]
        if part is not None and sdk_type(part) != kind:
            what = f"must be a {kind} of the kubeflow SDK"
            raise InvalidInput([Problem(f"config.{name}", what, got=part)])
        values[name] = None if part is None else _fields(part)
    pods = {name: values.pop(name) for name in EMPTY}
    from_hub = sdk_type(dataset) == "HuggingFaceDatasetInitializer"
    return TuningOfSdk(config=values, dataset=dataset.storage_uri if from_hub else None, **pods)


def _fields(value: Any) -> dict[str, Any]:
    return {each.name: getattr(value, each.name) for each in fields(value)}
