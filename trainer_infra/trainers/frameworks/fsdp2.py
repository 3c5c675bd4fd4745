"""Fsdp2: your own function, with a mesh of all processes and a function that shards a model over it.

Source: PyTorch's `torch.distributed.fsdp.fully_shard`.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, get_args

from typing_extensions import override

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.libraries import option_schema
from trainer_infra.trainers.trainer import PackedProgram

Precision = Literal["bfloat16", "float16"]
PRECISIONS: Final[tuple[str, ...]] = get_args(Precision)


@dataclass(frozen=True, slots=True)
class Fsdp2(CustomTrainer):
    """Trains with your own function on a torch runtime; the weights are divided among all processes.

    The function may take `mesh`, a DeviceMesh with the dimensions `data` and `tensor`, and `shard`, which takes
    your model and returns it sharded over `data`: `def train(mesh, shard, epochs): ...`.
    """

    _: KW_ONLY
    tensor_parallel: Input[int] = 1
    """Processes that share each layer, by a plan that your function gives `parallelize_module`."""
    precision: Input[Precision | None] = None
    """In which the layers compute; gradients are added in float32. None computes as the weights are."""
    cpu_offload: Input[bool] = False
    """Keeps the weights in the memory of the host while they are not needed."""
    reshard_after_forward: Input[bool] = True
    """Frees the whole weights of a layer after its forward pass: less memory, more traffic."""

    @override
    def pack(self) -> PackedProgram:
        names = ("tensor_parallel", "precision", "cpu_offload", "reshard_after_forward")
        settings = {name: as_python(getattr(self, name)) for name in names}
        framework = PreparedFramework("fsdp2", settings, ("mesh", "shard"))
        return framework.packed(self, self._framework_problems())

    def _framework_problems(self) -> Iterator[Problem]:
        tensor, processes = as_python(self.tensor_parallel), as_python(self.num_proc_per_node)
        if type(tensor) is not int or tensor < 1:
            what = "must be a whole number from 1"
            yield Problem("tensor_parallel", what, tensor, independent=True)
        elif type(processes) is int and processes % tensor and tensor % processes:
            what = f"does not divide the {processes} processes of a node"
            yield Problem("tensor_parallel", what, got=tensor)
        precision = as_python(self.precision)
        if precision is not None and precision not in PRECISIONS:
            fix = option_schema.nearest(str(precision), PRECISIONS)
            yield Problem("precision", "cannot be computed in", precision, fix, independent=True)
        for name in ("cpu_offload", "reshard_after_forward"):
            if not isinstance(value := getattr(self, name), bool):
                yield Problem(name, "must be true or false", value, independent=True)
