"""XGBoost: your own function, as one of the workers that boost trees together by `xgboost.train`."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.json_values import as_integer
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.libraries import installed_options, option_schema
from trainer_infra.trainers.libraries.option_schema import OptionSchema
from trainer_infra.trainers.pods import pod_arguments
from trainer_infra.trainers.trainer import PackedProgram

CONSTRAINTS: Final = "monotone_constraints"
_ROUNDS: Final = ("n_estimators", "num_boost_round", "num_round", "num_rounds", "nrounds")
"""What XGBoost's other interfaces call `rounds`."""


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
        given = option_schema.plain(self.parameters) or {}
        rounds = as_integer(as_python(self.rounds))
        schema = installed_options.option_schema_of("xgboost")
        problems = tuple(_framework_problems(schema, given, rounds))
        taken = {} if problems else {name: _taken(schema, name, given[name]) for name in given}
        settings = {"parameters": taken, "rounds": rounds}
        framework = PreparedFramework("xgboost", settings, ("parameters", "rounds"), ("xgboost",))
        return framework.packed(self, problems)


def _framework_problems(schema: OptionSchema, given: Any, rounds: Any) -> Iterator[Problem]:
    managed = dict.fromkeys(_ROUNDS, "give rounds= of the trainer")
    yield from schema.problems(given, "xgboost.train", managed, "parameters")
    if rounds is None:
        what, fix = "must be a whole number from 1, not None", "leave it out for 10"
        yield Problem("rounds", what, fix=fix, independent=True)
    yield from pod_arguments.whole_number("rounds", rounds)


def _taken(schema: OptionSchema, name: str, value: Any) -> Any:
    """A parameter as XGBoost reads it from JSON: it takes no 6.0 for 6, and constraints as the text of a tuple."""
    if schema.options[name].kind == option_schema.WHOLE:
        return as_integer(value)
    if name == CONSTRAINTS and isinstance(value, list):
        return f"({','.join(str(as_integer(each)) for each in value)})"
    return value
