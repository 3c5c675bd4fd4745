"""How the state of a program is copied, written and read: what is torch's as torch has it, the rest pickled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from trainer_infra.in_pod.checkpoints import plain_state
from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, Writing
from trainer_infra.in_pod.checkpoints.plain_state import PlainState
from trainer_infra.in_pod.checkpoints.ranks import Ranks

SHAPES = "shapes"


class Copy(Protocol):
    """What one process writes of one step. The training goes on meanwhile."""

    def write(self, writing: Writing) -> dict[str, Any]:
        """Write it, and return what is to be said of it.

        Raises:
            OSError: The place cannot be written.
        """

    def finish(self, writing: Writing, stored: StoredCheckpoint) -> dict[str, Any]:
        """In the first process, when all have written: write what is of the whole, and return what to say of it.

        Raises:
            OSError: The place cannot be written or read.
        """


class Format(Protocol):
    """A way to save a state, which all processes go together."""

    def copied(self, state: Any) -> Copy:
        """The state of now, where no step of the training changes it."""

    def read(self, stored: StoredCheckpoint, given: Any) -> Callable[[], Any]:
        """Read what this process needs, and return what puts it where it belongs.

        Raises:
            DamagedError: Some of it is missing, or is not what was written.
            ValueError: It is the state of another model.
            OSError: The place cannot be read.
        """


class ProgramFormat:
    """As a program gives its state to a `Checkpointer`: values by name.

    Raises:
        TypeError: One of them cannot be saved.
    """

    def __init__(self, state: Mapping[str, Any], ranks: Ranks) -> None:
        for name, each in state.items():
            if type(each).__module__.startswith("deepspeed."):
                raise TypeError(
                    f"state[{name!r}] is DeepSpeed's, which divides it; save it with save_checkpoint of its engine"
                )
        self._ranks = ranks
        self._ours: frozenset[str] = frozenset()
        if "torch" in sys.modules:
            from trainer_infra.in_pod.checkpoints import torch_state  # noqa: PLC0415  torch is there

            self._ours = torch_state.names(state)
        self._shapes = {**dict.fromkeys(state, ""), **plain_state.shapes(self._plain(state))}
        # What cannot be saved is found before the first step.
        self._torch(state)
        PlainState(self._plain(state))

    def copied(self, state: Mapping[str, Any]) -> Copy:
        """As in `Format`."""
        torch = self._torch(state)
        copied = torch.copied() if torch else None
        return _ProgramCopy(PlainState(self._plain(state)), copied, self._shapes)

    def read(
        self, stored: StoredCheckpoint, given: Mapping[str, Any]
    ) -> Callable[[], dict[str, Any]]:
        """As in `Format`."""
        part = stored.part(self._ranks.rank if self._ranks.rank < stored.whole.size else 0)
        plain_state.refuse_another(part[SHAPES], self._shapes)
        torch = self._torch(given)
        set_torch = torch.read(stored) if torch else None
        put = plain_state.read(stored, self._ranks.rank, self._plain(given))

        def put_all() -> dict[str, Any]:
            if set_torch:
                set_torch()
            found = put()
            return {name: found.get(name, each) for name, each in given.items()}

        return put_all

    def _plain(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in state.items() if name not in self._ours}

    def _torch(self, state: Mapping[str, Any]) -> Any:
        if not self._ours:
            return None
        from trainer_infra.in_pod.checkpoints import torch_state  # noqa: PLC0415  torch is there

        return torch_state.TorchState(
            {name: state[name] for name in sorted(self._ours)}, self._ranks
        )


class _ProgramCopy:
    def __init__(self, plain: PlainState, torch: Any, shapes: Mapping[str, str]) -> None:
        self._plain = plain
        self._torch = torch
        self._shapes = shapes

    def write(self, writing: Writing) -> dict[str, Any]:
        said = {SHAPES: self._shapes, **self._plain.write(writing)}
        return {**said, **self._torch.write(writing)} if self._torch else said

    def finish(self, writing: Writing, stored: StoredCheckpoint) -> dict[str, Any]:
        found: dict[str, Any] = self._torch.finish(writing, stored) if self._torch else {}
        return found
