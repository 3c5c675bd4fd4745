"""Storage of torch's distributed checkpoints in any place: one file for each process, checked as it is read.

Interface: `StorageWriter` and `StorageReader` of torch.distributed.checkpoint, torch 2.4 or newer.
"""

# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.distributed.checkpoint import planner, storage
from torch.futures import Future

from trainer_infra.in_pod.checkpoints.place import Place
from trainer_infra.in_pod.checkpoints.shelf import DamagedError

METADATA = "metadata"


class Writer(storage.StorageWriter):
    """Writes what this process is to write, one item after another."""

    def __init__(self, place: Place, folder: str) -> None:
        self._place = place
        self._folder = folder

    def reset(self, checkpoint_id: Any = None) -> None:
        """The place is known already."""

    def set_up_storage_writer(self, is_coordinator: bool, *_: Any, **__: Any) -> None:
        """A place needs none."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """The place is known already."""
        del checkpoint_id
        return True

    def prepare_local_plan(self, plan: Any) -> Any:
        """What the planner says is written as it says."""
        return plan

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        """Give each process its file."""
        return [
            replace(plan, storage_data=f"rank-{rank:05}.bin") for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: Any, planner: Any) -> Future[list[Any]]:
        """Write the items of this process."""
        written = []

        def contents() -> Iterator[bytes]:
            start = 0
            for item in plan.items:
                content = _bytes(planner.resolve_data(item))
                place = (plan.storage_data, start, len(content), zlib.crc32(content))
                written.append(storage.WriteResult(item.index, len(content), place))
                start += len(content)
                yield content

        if plan.items:
            self._place.write(f"{self._folder}/{plan.storage_data}", contents())
        done: Future[list[Any]] = Future()
        done.set_result(written)
        return done

    def finish(self, metadata: Any, results: list[list[Any]]) -> None:
        """Write where everything is, when all processes have written."""
        metadata.storage_data = {each.index: each.storage_data for every in results for each in every}
        self._place.write(f"{self._folder}/{METADATA}", [pickle.dumps(metadata)])


class Reader(storage.StorageReader):
    """Reads the parts that this process needs."""

    def __init__(self, place: Place, folder: str) -> None:
        self._place = place
        self._folder = folder
        self._stored: dict[Any, Any] = {}

    def reset(self, checkpoint_id: Any = None) -> None:
        """The place is known already."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """The place is known already."""
        del checkpoint_id
        return True

    def read_metadata(self, *_: Any, **__: Any) -> Any:
        """Where everything is.

        Raises:
            DamagedError: It cannot be read.
        """
        try:
            return pickle.loads(self._read(METADATA, 0, None))  # noqa: S301  written by this module
        except (pickle.UnpicklingError, EOFError) as error:
            raise DamagedError(f"{self._folder}/{METADATA} is not what was written") from error

    def set_up_storage_reader(self, metadata: Any, is_coordinator: bool, *_: Any, **__: Any) -> None:
        """Remember where everything is."""
        self._stored = metadata.storage_data

    def prepare_local_plan(self, plan: Any) -> Any:
        """What the planner says is read as it says."""
        return plan

    def prepare_global_plan(self, plans: list[Any]) -> list[Any]:
        """The same."""
        return plans

    def read_data(self, plan: Any, planner: Any) -> Future[None]:
        """Read the items of this process.

        Raises:
            DamagedError: One is not what was written.
        """
        for item in plan.items:
            content = io.BytesIO(self._item(item.storage_index))
            if item.type == planner_types.BYTE_IO:
                planner.load_bytes(item, content)
                continue
            found = torch.load(content, map_location="cpu", weights_only=True)
            for dimension, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
                found = found.narrow(dimension, start, length)
            target = planner.resolve_tensor(item).detach()
            target.copy_(found)
            planner.commit_tensor(item, target)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def _item(self, index: Any) -> bytes:
        file, start, length, checksum = self._stored[index]
        content = self._read(file, start, length)
        if len(content) != length or zlib.crc32(content) != checksum:
            raise DamagedError(f"{self._folder}/{file} is not what was written")
        return content

    def _read(self, file: str, start: int, length: int | None) -> bytes:
        try:
            return self._place.read(f"{self._folder}/{file}", start, length)
        except OSError as error:
            raise DamagedError(f"{self._folder}/{file} cannot be read: {error}") from error


planner_types = planner.LoadItemType


def _bytes(value: Any) -> bytes:
    if isinstance(value, io.BytesIO):
        return value.getvalue()
    content = io.BytesIO()
    # A view would take all of its storage along.
    torch.save(value.detach().cpu().clone(), content)
    return content.getvalue()
