"""Modules, optimizers and tensors of torch: saved by its distributed checkpoints, whatever divides them.

FSDP2, DDP and a single process write the same, so another number of processes can read it.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

from trainer_infra.in_pod.checkpoints.place import Place
from trainer_infra.in_pod.checkpoints.shelf import DamagedError
from trainer_infra.in_pod.checkpoints.torch_storage import Reader, Writer

MODELS, OPTIMIZERS, TENSORS = "models", "optimizers", "tensors"


def is_ours(value: Any) -> bool:
    """Whether a value of a state is saved here."""
    return isinstance(value, (torch.nn.Module, torch.optim.Optimizer, torch.Tensor))


class TorchState:
    """The part of a state that is torch's, and a group of processes in which it is saved and loaded."""

    def __init__(self, state: Mapping[str, Any], group: Any) -> None:
        self._group = group
        modules = {name: each for name, each in state.items() if isinstance(each, torch.nn.Module)}
        # One root, so that an optimizer may have the parameters of several modules.
        self._root = torch.nn.ModuleDict(modules)
        self._optimizers = [
            each for each in state.values() if isinstance(each, torch.optim.Optimizer)
        ]
        self._tensors = {
            name: each for name, each in state.items() if isinstance(each, torch.Tensor)
        }

    def copied(self) -> dict[str, Any]:
        """What is to be saved, in the processor's memory, where no step of the training changes it."""
        return _copied(self._current())

    def save(self, copied: Mapping[str, Any], place: Place, folder: str) -> None:
        """Save a copy; all processes call it, not necessarily in the thread that trains.

        Raises:
            OSError: A process could not write.
        """
        try:
            checkpoint.save(
                dict(copied),
                storage_writer=Writer(place, folder),
                process_group=self._group,
                no_dist=self._group is None,
            )
        except checkpoint.CheckpointException as error:
            raise OSError(_first_cause(error)) from error

    def load(self, place: Place, folder: str) -> None:
        """Load into the modules, optimizers and tensors themselves; all processes call it.

        Raises:
            DamagedError: What a process needs is missing, or is not what was written.
        """
        current = self._current()
        try:
            checkpoint.load(
                current,
                storage_reader=Reader(place, folder),
                process_group=self._group,
                no_dist=self._group is None,
            )
        except checkpoint.CheckpointException as error:
            raise DamagedError(_first_cause(error)) from error
        if len(self._root):
            set_state_dict(
                self._root,
                self._optimizers,
                model_state_dict=current[MODELS],
                optim_state_dict=current[OPTIMIZERS],
            )

    def _current(self) -> dict[str, Any]:
        current: dict[str, Any] = {TENSORS: dict(self._tensors)}
        if len(self._root):
            current[MODELS], current[OPTIMIZERS] = get_state_dict(self._root, self._optimizers)
        return current


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        detached = value.detach()
        return detached.clone() if detached.device.type == "cpu" else detached.cpu()
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(each) for each in value)
    return value


def _first_cause(error: Any) -> str:
    """Of the failures of all processes, the first one in its own words."""
    for failure in error.failures.values():
        return str(failure[0])
    return str(error)
