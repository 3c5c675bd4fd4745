"""ContainerTrainer: a program that is in an image already, in place of `CustomTrainerContainer` of the kubeflow SDK."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from trainer_infra.api.input import Input
from trainer_infra.errors import InvalidInput, independent
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.pods import env_and_args
from trainer_infra.trainers.pods.pod_arguments import PodArguments
from trainer_infra.trainers.trainer import PackedTrainer


@dataclass(frozen=True, slots=True)
class ContainerTrainer(PodArguments):
    """Trains with what an image brings: its own command, or the one that you give."""

    image: Input[str | None] = None
    """Container image; the runtime's when not given."""
    command: Input[Sequence[Input[str]] | None] = None
    """What starts, in place of the runtime's command, handed over exactly."""
    args: Input[Sequence[Input[str]] | None] = None
    """Its arguments, handed over exactly."""
    _: KW_ONLY

    def pack(self) -> PackedTrainer:
        """The trainer and its secrets, as `PackableTrainer.pack`."""
        command, args = as_python(self.command), as_python(self.args)
        problems = list(self.shape_problems()) or [
            *independent(env_and_args.text_list_problems("command", command)),
            *independent(env_and_args.text_list_problems("args", args)),
            *self.pod_problems(),
        ]
        if problems:
            raise InvalidInput(problems)
        words = [env_and_args.literal_text(each) for each in command or ()]
        start: dict[str, Any] = {"command": words} if words else {}
        return PackedTrainer(None, start | self.spec_trainer(args or ()), self.secret_data())
