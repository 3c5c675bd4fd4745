"""Jax: your own function, with the processes of all nodes as one and a mesh of their devices."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field

from typing_extensions import override

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.trainer import PackedProgram


@dataclass(frozen=True, slots=True)
class Jax(CustomTrainer):
    """Trains with your own function on a jax runtime.

    The function may take `mesh`, a jax.sharding.Mesh of the devices of all nodes: `def train(mesh, epochs): ...`.
    """

    _: KW_ONLY
    axes: Input[Mapping[str, Input[int]]] = field(default_factory=lambda: {"data": -1})
    """Axes of the mesh with the devices of each; -1 takes those that the others leave."""

    @override
    def pack(self) -> PackedProgram:
        framework = PreparedFramework("jax", {"axes": as_python(self.axes)}, ("mesh",), ("jax",))
        return framework.packed(self, self._framework_problems())

    def _framework_problems(self) -> Iterator[Problem]:
        axes = as_python(self.axes)
        are_named = isinstance(axes, Mapping) and all(isinstance(key, str) for key in axes)
        if not axes or not are_named:
            fix = 'give {"data": -1}'
            yield Problem("axes", "must be a mapping of names to numbers of devices", axes, fix)
            return
        for name, size in axes.items():
            if type(size) is not int or (size < 1 and size != -1):
                what = "must be a whole number from 1, or -1"
                yield Problem(f"axes.{name}", what, size, independent=True)
        if list(axes.values()).count(-1) > 1:
            yield Problem("axes", "can have -1 only once", got=dict(axes))
