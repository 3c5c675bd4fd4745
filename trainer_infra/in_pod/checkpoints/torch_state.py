"""Modules of torch and their optimizers: saved as a distributed checkpoint, whatever divides them.

FSDP2, DDP and a single process write the same, so another number of processes can read it, and so can torch itself: the
folder `torch` is as its own reader of file systems wants it. Torch's planners say which process writes
and reads what; the processes plan together in the thread that trains, and each one writes by itself, so that a program
may leave its group of processes while a checkpoint is still being written. Interface: torch 2.4 or newer.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import functools
import io
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.distributed.checkpoint import default_planner, filesystem, planner
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)

from trainer_infra.in_pod.checkpoints import plain_state
from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, Writing, file_of
from trainer_infra.in_pod.checkpoints.ranks import OtherProcessError, Ranks, TorchRanks

TORCH = "torch"
METADATA = f"{TORCH}/.metadata"
MODELS, OPTIMIZERS = "models", "optimizers"


def names(state: Mapping[str, Any]) -> frozenset[str]:
    """Of the values of a state those that are saved here.

    An optimizer is only with all modules that it changes, and if no other one does. A tensor is each process's own.
    """
    modules = [each for each in state.values() if isinstance(each, torch.nn.Module)]
    free = {id(each) for module in modules for each in module.parameters()}
    found = set()
    for name, value in state.items():
        if isinstance(value, torch.optim.Optimizer):
            changed = {id(each) for group in value.param_groups for each in group["params"]}
            if changed <= free:
                free -= changed
                found.add(name)
        elif isinstance(value, torch.nn.Module):
            found.add(name)
    return frozenset(found)


class TorchState:
    """The part of a program's state that is torch's."""

    def __init__(self, state: Mapping[str, Any], ranks: Ranks) -> None:
        self._ranks = ranks
        modules = {name: each for name, each in state.items() if isinstance(each, torch.nn.Module)}
        # One root, so that an optimizer may have the parameters of several modules.
        self._root = torch.nn.ModuleDict(modules)
        self._optimizers = [
            each for each in state.values() if isinstance(each, torch.optim.Optimizer)
        ]

    def copied(self) -> TorchCopy:
        """What this process is to write, where no step of the training changes it; all processes call it."""
        made = default_planner.DefaultSavePlanner()
        made.set_up_planner(self._stepped(), is_coordinator=self._ranks.rank == 0)
        mine, plans, metadata = _planned(made, self._ranks)
        return TorchCopy(
            [_copied(made, each) for each in made.finish_plan(mine).items], plans, metadata
        )

    def read(self, stored: StoredCheckpoint) -> Callable[[], object]:
        """Read into the modules, and return what sets the rest; all processes call both.

        Raises:
            DamagedError: What this process needs is missing, or is not what was written.
            ValueError: It is of another model.
            OSError: The place cannot be read.
        """
        current = self._current()
        said = (stored.whole.more or {}).get(METADATA)
        if said is None:
            raise ValueError(f"{stored.whole.folder} has no values of torch")
        metadata = pickle.loads(stored.read(METADATA, said))  # noqa: S301  the run's own place
        _leave_out_unused(current, metadata)
        # Settings of an optimizer that only one of both has are left as they are; all else is compared here.
        made = default_planner.DefaultLoadPlanner(allow_partial_load=True)
        made.set_up_planner(current, metadata, is_coordinator=True)
        plain_state.refuse_another(_sizes(metadata), _sizes_of(made.state_dict))
        for item in made.finish_plan(made.create_local_plan()).items:
            _load(made, item, stored, metadata)
        return functools.partial(
            set_state_dict,
            self._root,
            self._optimizers,
            model_state_dict=current[MODELS],
            optim_state_dict=current[OPTIMIZERS],
            options=StateDictOptions(strict=False),
        )

    def _current(self) -> dict[str, Any]:
        models, optimizers = get_state_dict(self._root, self._optimizers)
        return {MODELS: models, OPTIMIZERS: optimizers}

    def _stepped(self) -> dict[str, Any]:
        """The same without what torch makes for an optimizer without a state: as if it had taken a step."""
        new = [each for each in self._optimizers if not each.state]
        current = self._current()
        for weight in get_state_dict(self._root, new)[1]["state"] if new else ():
            del current[OPTIMIZERS]["state"][weight]
        for each in new:
            each.state.clear()
        return current


class TorchCopy:
    """What one process writes of one step."""

    def __init__(self, items: list[Any], plans: list[Any], metadata: Metadata | None) -> None:
        self._items = items
        self._plans = plans
        self._metadata = metadata

    def write(self, writing: Writing) -> dict[str, Any]:
        """Write it, and return what is to be said of it: the length and checksum of each item.

        Raises:
            OSError: The place cannot be written.
        """
        said: list[tuple[int, int]] = []

        def contents() -> Iterator[bytes]:
            for item in self._items:
                content = _bytes(item)
                said.append((len(content), zlib.crc32(content)))
                yield content

        if self._items:
            writing.write(_file(writing.rank), contents())
        return {TORCH: said}

    def finish(self, writing: Writing, stored: StoredCheckpoint) -> dict[str, Any]:
        """Write where everything is, once all processes have written, and return what is to be said of that.

        Raises:
            OSError: The place cannot be written or read.
        """
        assert self._metadata is not None  # noqa: S101  the first process has planned
        places, checksums = {}, {}
        for rank, plan in enumerate(self._plans):
            start = 0
            for item, (length, checksum) in zip(plan.items, stored.part(rank)[TORCH]):
                file = _file(rank).rpartition("/")[2]
                places[item.index] = filesystem._StorageInfo(file, start, length)  # noqa: SLF001  torch reads it
                checksums[item.index] = checksum
                start += length
        self._metadata.storage_data = places
        self._metadata.checksums = checksums
        return {METADATA: writing.write(METADATA, [pickle.dumps(self._metadata)])}


def _planned(made: Any, ranks: Ranks) -> tuple[Any, list[Any], Metadata | None]:
    """The plan of this process, and, in the first one, those of all and what is known of the whole."""
    local = made.create_local_plan()
    if not isinstance(ranks, TorchRanks):
        # Of processes that are not torch's the first one has what all have.
        plans, metadata = made.create_global_plan([local])
        return (plans[0] if ranks.rank == 0 else planner.SavePlan([])), plans, metadata
    every = ranks.gathered(local)
    error, plans, metadata = None, [None] * len(every), None
    try:
        if every:
            plans, metadata = made.create_global_plan(every)
    except Exception as raised:  # noqa: BLE001  the others wait for their plan
        error = raised
    mine = ranks.scattered(plans)
    if error is not None:
        raise error
    if mine is None:
        raise OtherProcessError("the first process cannot save the values of torch, and says why")
    return mine, plans, metadata


def _copied(made: Any, item: Any) -> Any:
    value = made.resolve_data(item)
    if isinstance(value, io.BytesIO):
        return value.getvalue()
    return value.detach().to("cpu", copy=True)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    content = io.BytesIO()
    torch.save(value, content)
    return content.getvalue()


def _load(made: Any, item: Any, stored: StoredCheckpoint, metadata: Any) -> None:
    place = metadata.storage_data[item.storage_index]
    checksum = metadata.checksums[item.storage_index]
    file = f"{TORCH}/{place.relative_path}"
    content = io.BytesIO(stored.piece(file, place.offset, place.length, checksum))
    if item.type == planner.LoadItemType.BYTE_IO:
        made.load_bytes(item, content)
        return
    found = torch.load(content, map_location="cpu", weights_only=True)
    for dimension, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
        found = found.narrow(dimension, start, length)
    target = made.resolve_tensor(item).detach()
    target.copy_(found)
    made.commit_tensor(item, target)


def _leave_out_unused(current: Mapping[str, Any], metadata: Any) -> None:
    """Leave out the optimizer's state of weights that had none yet: no step had changed them."""
    states = current.get(OPTIMIZERS, {}).get("state", {})
    prefix = f"{OPTIMIZERS}.state."
    known = [name for name in metadata.state_dict_metadata if name.startswith(prefix)]
    for weight in [*states]:
        if not any(name.startswith(f"{prefix}{weight}.") for name in known):
            del states[weight]


def _sizes(metadata: Any) -> dict[str, str]:
    return {
        name: plain_state.shown(tuple(each.size))
        for name, each in metadata.state_dict_metadata.items()
        if hasattr(each, "size")
    }


def _sizes_of(state: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: plain_state.shown(tuple(each.shape))
        for name, each in state.items()
        if isinstance(each, torch.Tensor)
    }


def _file(rank: int) -> str:
    return f"{TORCH}/{file_of(rank, 'distcp')}"
