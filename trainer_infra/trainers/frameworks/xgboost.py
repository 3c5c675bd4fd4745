"""XGBoost: your own function, as one of the workers that boost trees together.

Users construct it; the deploy room calls `pack`. The parameters are those of `xgboost.train`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.input import Input
from trainer_infra.trainers.libraries import installed_options
from trainer_infra.trainers.pods import pod_resources
from trainer_infra.trainers.trainer import PackedProgram


@dataclass(frozen=True, slots=True)
class XGBoost(CustomTrainer):
    """Trains with your own function on an xgboost runtime, each node with its part of the rows.

    The function may take `parameters` and `rounds`, for `xgboost.train`: `def train(parameters, rounds): ...`.
    """

    _: KW_ONLY
    parameters: Input[Mapping[str, Any] | None] = None
    """Parameters of XGBoost by name, such as `{"objective": "binary:logistic", "max_depth": 6}`."""
    rounds: Input[int] = 10
    """Trees, or layers of a forest, that are added one after the other."""

    @override
    def pack(self) -> PackedProgram:
        """As `CustomTrainer.pack`, with the framework's part."""
        settings = {
            "parameters": as_python(self.parameters) or {},
            "rounds": as_python(self.rounds),
        }
        framework = PreparedFramework("xgboost", settings, ("parameters", "rounds"), ("xgboost",))
        return framework.packed(self, self._framework_problems())

    def _framework_problems(self) -> Iterator[Problem]:
        schema = installed_options.option_schema_of("xgboost")
        given = as_python(self.parameters) or {}
        yield from schema.problems(given, "xgboost.train", {}, "parameters")
        yield from pod_resources.whole_number("rounds", as_python(self.rounds))
