"""A state at one step, copied so that the training can go on while it is written."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints import plain_state
from trainer_infra.in_pod.checkpoints.ranks import Ranks
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf, Whole

TORCH = "torch"
PLAIN = "plain"


class Format:
    """How a program's state is written and read: what is torch's by torch, the rest pickled by each process."""

    def __init__(self, state: Mapping[str, Any], ranks: Ranks) -> None:
        self._ranks = ranks
        self._shapes = plain_state.shapes(state)
        self._names: frozenset[str] = frozenset()
        if "torch" in sys.modules:
            from trainer_infra.in_pod.checkpoints import torch_state  # noqa: PLC0415  torch is there

            self._names = frozenset(key for key, each in state.items() if torch_state.is_ours(each))

    def copied(self, state: Mapping[str, Any]) -> Snapshot:
        """The state of now."""
        torch = self._of_torch(state)
        rest = {key: each for key, each in state.items() if key not in self._names}
        return Snapshot(plain_state.dumped(rest), torch, torch.copied() if torch else {})

    def write(self, snapshot: Snapshot, shelf: Shelf, whole: Whole) -> None:
        """Write what this process has of it, and, as the first one, that it is whole.

        Raises:
            OSError: It could not be written.
        """
        rank, step = self._ranks.rank, whole.step
        said = shelf.write(step, _plain_file(rank), [snapshot.plain])
        if snapshot.torch is not None:
            snapshot.torch.save(snapshot.copied, shelf.place, shelf.name(step, TORCH))
        part = {PLAIN: said, "shapes": self._shapes, TORCH: sorted(self._names)}
        shelf.write_object(shelf.name(step, whole.part(rank)), part)

    def read(self, shelf: Shelf, step: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """The state of a checkpoint, in what was given: modules and optimizers are changed themselves.

        Raises:
            DamagedError: Something of it is missing or is not what was written.
            ValueError: It is the state of another model.
        """
        whole = shelf.read_whole(step)
        # Of fewer processes than now the first one's values stand for those that are new.
        rank = self._ranks.rank if self._ranks.rank < whole.size else 0
        part = shelf.read_object(shelf.name(step, whole.part(rank)))
        if different := plain_state.differences(part["shapes"], self._shapes):
            raise ValueError(_of_another(shelf, step, different))
        content = shelf.read(step, _plain_file(rank), part[PLAIN])
        rest = {key: each for key, each in given.items() if key not in self._names}
        torch = self._of_torch(given)
        if torch is not None:
            torch.load(shelf.place, shelf.name(step, TORCH))
        try:
            found = plain_state.loaded(content, rest)
        except (AttributeError, ImportError, EOFError) as error:
            raise DamagedError(f"{shelf.name(step, _plain_file(rank))}: {error}") from error
        return {key: found.get(key, each) for key, each in given.items()}

    def _of_torch(self, state: Mapping[str, Any]) -> Any:
        if not self._names:
            return None
        from trainer_infra.in_pod.checkpoints import torch_state  # noqa: PLC0415  torch is there

        values = {key: state[key] for key in sorted(self._names)}
        return torch_state.TorchState(values, getattr(self._ranks, "saving_group", None))


class Snapshot:
    """What is written of one step."""

    def __init__(self, plain: bytes, torch: Any, copied: Mapping[str, Any]) -> None:
        self.plain = plain
        self.torch = torch
        self.copied = copied


def _plain_file(rank: int) -> str:
    return f"rank-{rank:05}.pickle"


def _of_another(shelf: Shelf, step: int, different: list[str]) -> str:
    shown = "; ".join(different[:3])
    more = f"; {len(different) - 3} more" if len(different) > 3 else ""  # noqa: PLR2004  as shown
    return (
        f"the checkpoint of step {step} in {shelf.address} is of another model: {shown}{more}. "
        "Give this run another uri, or resume=False"
    )
