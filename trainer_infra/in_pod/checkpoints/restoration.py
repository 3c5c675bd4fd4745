"""From which checkpoint a program resumes: the newest whole one that is not damaged, or the one that was asked for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints.arrangement import LATEST
from trainer_infra.in_pod.checkpoints.ranks import Ranks
from trainer_infra.in_pod.checkpoints.shelf import DamagedError, Shelf
from trainer_infra.in_pod.checkpoints.snapshot import Format

NONE = -1


def restored(
    shelf: Shelf, form: Format, ranks: Ranks, given: Mapping[str, Any], resume: str | int | bool
) -> tuple[int, dict[str, Any]]:
    """The step of the checkpoint, and its state; -1 and what was given where nothing is to resume from.

    Raises:
        OSError: The place cannot be read, or no checkpoint in it can.
        ValueError: The checkpoint is of another model; or there is none where one was asked for.
    """
    if resume is False:
        return NONE, dict(given)
    wanted = None if isinstance(resume, str) else int(resume)
    damaged = 0
    limit = float("inf")
    while (step := _next(shelf, ranks, limit, wanted)) != NONE:
        limit = step
        try:
            found = form.read(shelf, step, given)
            is_damaged = False
        except DamagedError as error:
            is_damaged = True
            say(f"the checkpoint of step {step} is damaged, and the one before is looked for: {error}")
        if not ranks.most(is_damaged)[0]:
            if ranks.rank == 0:
                say(f"the training goes on from step {step}, from {shelf.address}")
            return step, found
        damaged += 1
    if damaged:
        which = "the only checkpoint" if damaged == 1 else f"each of the {damaged} checkpoints"
        raise OSError(f"{which} in {shelf.address} is damaged; resume=False begins anew")
    if wanted is not None or resume != LATEST:
        raise ValueError(_no_such(shelf, wanted))
    return NONE, dict(given)


def _next(shelf: Shelf, ranks: Ranks, limit: float, wanted: int | None) -> int:
    """The newest whole step before the limit, as the first process sees it; -1 where there is none."""
    found = NONE
    if ranks.rank == 0:
        steps = [step for step in shelf.whole_steps() if step < limit]
        found = next((step for step in steps if wanted in {None, step}), NONE)
    return int(ranks.most(found)[0])


def _no_such(shelf: Shelf, wanted: int | None) -> str:
    steps = ", ".join(str(step) for step in reversed(shelf.whole_steps())) or "none"
    what = "no whole checkpoint" if wanted is None else f"no whole checkpoint of step {wanted}"
    return f"{shelf.address} has {what} to resume from; it has {steps}"


def say(sentence: str) -> None:
    """Say it in the program's log."""
    if sys.stderr is not None:
        print(f"trainer_infra.checkpoint: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  its log
