"""DeepSpeed: your own function, with a configuration for `deepspeed.initialize` made of judged settings.

ZeRO: Rajbhandari et al. 2020, arXiv 1910.02054.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, Literal, get_args

from typing_extensions import override

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.libraries import installed_options, option_schema
from trainer_infra.trainers.pods.pod_arguments import mapping_problems
from trainer_infra.trainers.trainer import PackedProgram

Offload = Literal["optimizer", "parameters"]
OFFLOADS: Final[tuple[str, ...]] = get_args(Offload)
STAGES: Final = (0, 1, 2, 3)
WITH_PARAMETERS: Final = 3
"""The stage that divides the parameters too, which it then can offload."""
ZERO: Final = "zero_optimization"
_CPU: Final = {"device": "cpu"}


@dataclass(frozen=True, slots=True)
class DeepSpeed(CustomTrainer):
    """Trains with your own function and DeepSpeed, on a torch runtime, or on `deepspeed-distributed`.

    The function may take `config`, for `deepspeed.initialize`: `def train(config): ...`.
    """

    _: KW_ONLY
    zero: Input[Literal[0, 1, 2, 3]] = 2
    """What ZeRO divides among the processes: from 1 the optimizer's state, from 2 the gradients too, from 3 the
    parameters too; 0 divides nothing."""
    offload: Input[Offload | None] = None
    """What is kept in the memory of the host: the optimizer's state, or with stage 3 the parameters too."""
    config: Input[Mapping[str, Any] | None] = None
    """The rest of DeepSpeed's configuration, as its JSON file has it."""

    @override
    def pack(self) -> PackedProgram:
        given = option_schema.plain(self.config) or {}
        problems = tuple(self._framework_problems(given))
        whole = {} if problems else {**given, ZERO: {**self._zero(), **dict(given.get(ZERO) or {})}}
        framework = PreparedFramework("deepspeed", {"config": whole}, ("config",), ("torch", "mpi"))
        return framework.packed(self, problems)

    def _zero(self) -> dict[str, Any]:
        offloaded = {"offload_optimizer": _CPU} if self.offload else {}
        parameters = {"offload_param": _CPU} if self.offload == "parameters" else {}
        return {"stage": option_schema.plain(self.zero), **offloaded, **parameters}

    def _framework_problems(self, given: Any) -> Iterator[Problem]:
        stage, offload = option_schema.plain((self.zero, self.offload))
        if type(stage) is not int or stage not in STAGES:
            what, fix = "is not a stage of ZeRO", "use 0, 1, 2 or 3"
            yield Problem("zero", what, stage, fix, independent=True)
        if offload is not None and offload not in OFFLOADS:
            fix = option_schema.nearest(str(offload), OFFLOADS)
            yield Problem("offload", "cannot be offloaded", offload, fix, independent=True)
        elif offload == "parameters" and stage != WITH_PARAMETERS:
            what = "can offload parameters with stage 3 only, which divides them"
            yield Problem("offload", what, got=offload, fix="give zero=3")
        if misshapen := tuple(mapping_problems("config", given)):
            yield from misshapen
            return
        yield from mapping_problems(f"config.{ZERO}", given.get(ZERO))
        schema = installed_options.option_schema_of("deepspeed")
        managed = {f"{ZERO}.stage": "give zero= of the trainer"}
        yield from schema.problems(_flat(given), "deepspeed.initialize", managed, "config")


def _flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with the items of ZeRO beside the others, by dotted names."""
    zero = config.get(ZERO)
    if not isinstance(zero, Mapping):
        return dict(config)
    rest = {name: each for name, each in config.items() if name != ZERO}
    return rest | {f"{ZERO}.{name}": each for name, each in zero.items()}
