"""The SDK's CustomTrainer: ours of the same function, with what the SDK takes for given.

What it does not do as the SDK: docs/kubeflow-sdk.md.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from typing_extensions import override

from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.kubeflow_sdk import pod_values
from trainer_infra.trainers.trainer import PackedProgram

TYPE: Final = "CustomTrainer"
FIELDS: Final = ("func", "func_args", "pip_index_urls")
EMPTY: Final = ("image", "packages_to_install", "num_nodes", "resources_per_node", "env")
"""Fields that are not given when they are empty."""
INDEXES: Final = "DEFAULT_PIP_INDEX_URLS"
"""Variable of the SDK with the indexes of those who name none."""


@dataclass(frozen=True, slots=True)
class FunctionOfSdk(CustomTrainer):
    """Trains with a function that stands in the SDK's CustomTrainer."""

    trainer_type: ClassVar[str] = TYPE

    @override
    def packed_with(self, provided: Collection[str]) -> PackedProgram:
        """The code, the trainer and the secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        given = pod_values.given_values(self, EMPTY)
        if problems := tuple(pod_values.mig_problems(given["resources_per_node"])):
            raise InvalidInput(problems)
        given["pip_index_urls"] = self._indexes() if given["packages_to_install"] else None
        return CustomTrainer.packed_with(replace(self, **given), provided)

    @override
    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
        """`spec.trainer` in wire form, with the arguments of its program."""
        return pod_values.spec_trainer(self, args)

    def _indexes(self) -> Any:
        """Indexes that the user has chosen, here or for every trainer; else the installer has its own."""
        from kubeflow.trainer.constants import constants  # noqa: PLC0415  loaded by who made the trainer

        indexes = as_python(self.pip_index_urls)
        is_chosen = INDEXES in os.environ or indexes != constants.DEFAULT_PIP_INDEX_URLS
        return indexes if is_chosen else None


def custom_trainer(given: Any) -> FunctionOfSdk:
    """Ours of the SDK's; values are taken as they are, Outputs too."""
    return FunctionOfSdk(**{name: getattr(given, name) for name in (*FIELDS, *EMPTY)})
