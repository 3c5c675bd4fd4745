"""The SDK's CustomTrainerContainer, and what its options say of a command."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from typing_extensions import override

from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.container_trainer import ContainerTrainer
from trainer_infra.trainers.kubeflow_sdk import pod_values
from trainer_infra.trainers.trainer import PackedTrainer

TYPE: Final = "CustomTrainerContainer"
EMPTY: Final = ("image", "num_nodes", "resources_per_node", "env")
"""Its fields, which are not given when they are empty."""


@dataclass(frozen=True, slots=True)
class ContainerOfSdk(ContainerTrainer):
    """Trains with an image; its command and its arguments are those of options, else the runtime's."""

    trainer_type: ClassVar[str] = TYPE

    @override
    def pack(self) -> PackedTrainer:
        """The trainer and its secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        given = pod_values.given_values(self, EMPTY)
        if problems := tuple(pod_values.mig_problems(given["resources_per_node"])):
            raise InvalidInput(problems)
        packed = ContainerTrainer.pack(replace(self, **given))
        # As they were written: Kubernetes replaces `$(NAME)` in both.
        words = {name: as_python(getattr(self, name)) for name in ("command", "args")}
        own = {name: list(each) for name, each in words.items() if each is not None}
        return replace(packed, trainer=packed.trainer | own)

    @override
    def spec_trainer(self, args: Sequence[str] = ()) -> JSONDict:
        """`spec.trainer` in wire form, with the arguments of its program."""
        return pod_values.spec_trainer(self, args)


def container_trainer(given: Any, words: dict[str, Any]) -> ContainerOfSdk:
    """Ours of the SDK's.

    Args:
        given: the SDK's; None where only options say something of a trainer.
        words: `command` and `args`, where options have them.
    """
    own = {} if given is None else {name: getattr(given, name) for name in EMPTY}
    return ContainerOfSdk(**own, **words)
