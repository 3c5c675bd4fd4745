"""The SDK's CustomTrainer and CustomTrainerContainer: ours of the same, with what the SDK takes for given.

What the first does not do as the SDK: docs/kubeflow-sdk.md.
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from typing_extensions import override

from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.container_trainer import ContainerTrainer
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.kubeflow_sdk import pod_values
from trainer_infra.trainers.trainer import PackedProgram, PackedTrainer

TYPE: Final = "CustomTrainer"
FIELDS: Final = ("func", "func_args", "pip_index_urls")
EMPTY: Final = ("image", "packages_to_install", "num_nodes", "resources_per_node", "env")
"""Fields that are not given when they are empty."""
INDEXES: Final = "DEFAULT_PIP_INDEX_URLS"
"""Variable of the SDK with the indexes of those who name none."""
CONTAINER_TYPE: Final = "CustomTrainerContainer"
CONTAINER_FIELDS: Final = ("image", "num_nodes", "resources_per_node", "env")
"""Its fields, which are not given when they are empty."""


@dataclass(frozen=True, slots=True)
class FunctionOfSdk(CustomTrainer):
    """Trains with a function that stands in the SDK's CustomTrainer."""

    trainer_type: ClassVar[str] = TYPE

    @override
    def packed_with(self, provided: Collection[str]) -> PackedProgram:
        given = pod_values.given_values(self, EMPTY)
        if problems := tuple(pod_values.mig_problems(given["resources_per_node"])):
            raise InvalidInput(problems)
        given["pip_index_urls"] = self._indexes() if given["packages_to_install"] else None
        return CustomTrainer.packed_with(replace(self, **given), provided)

    @override
    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
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


@dataclass(frozen=True, slots=True)
class ContainerOfSdk(ContainerTrainer):
    """Trains with an image; its command and its arguments are those of options, else the runtime's."""

    trainer_type: ClassVar[str] = CONTAINER_TYPE

    @override
    def pack(self) -> PackedTrainer:
        given = pod_values.given_values(self, CONTAINER_FIELDS)
        if problems := tuple(pod_values.mig_problems(given["resources_per_node"])):
            raise InvalidInput(problems)
        packed = ContainerTrainer.pack(replace(self, **given))
        # As they were written: Kubernetes replaces `$(NAME)` in both.
        words = {name: as_python(getattr(self, name)) for name in ("command", "args")}
        own = {name: list(each) for name, each in words.items() if each is not None}
        return replace(packed, trainer=packed.trainer | own)

    @override
    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
        return pod_values.spec_trainer(self, args)


def container_trainer(given: Any, words: dict[str, Any]) -> ContainerOfSdk:
    """Ours of the SDK's, with the `command` and `args` that options have; None where only these say something."""
    own = {} if given is None else {name: getattr(given, name) for name in CONTAINER_FIELDS}
    return ContainerOfSdk(**own, **words)
