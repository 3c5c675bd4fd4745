"""Doing something with every member of a batch, several at a time, and showing how far it is.

A member that fails stops no other; when the cluster does not answer, or not this user, or Ctrl-C
was pressed, those not begun are not tried.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import Final

from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.batch_properties import BatchProperties
from trainer_infra.deploy.operations.session import Messages, StackSession
from trainer_infra.deploy.operations.train_jobs.members import Kept
from trainer_infra.errors import Bug, NotAvailable, TrainerInfraError
from trainer_infra.kube.refusals import NotKubernetes, Unauthorized, Unreachable

WORKERS: Final[Mapping[str, int]] = {targets.LOCAL: 4, targets.KUBERNETES: 32}
"""Members that are tried at the same time, by target."""
SHOWN_EVERY: Final = 0.5
"""Seconds between two messages."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One member's part."""

    do: Callable[[], Kept]
    """What to do; may raise."""
    otherwise: Callable[[str], Kept]
    """What the state keeps when it raised, given the sentence."""


@dataclass(slots=True)
class _Stop:
    """Why members that were not begun are not tried; empty as long as they are."""

    cancelled: Event
    because: str = field(default="")

    def judge(self) -> None:
        """Raise where nothing more is begun."""
        if self.cancelled.is_set():
            raise NotAvailable("was interrupted before it was tried")
        if self.because:
            raise NotAvailable(f"was not tried: {self.because}")


def run_all(
    attempts: Mapping[str, Attempt], batch: BatchProperties, verb: str, session: StackSession
) -> dict[str, Kept]:
    """What the state keeps of every member, in order, once each was tried.

    Args:
        attempts: By member.
        batch: Its inputs or its state.
        verb: What was done, for a status message while it goes on: `submitted`.
        session: Of its stack.
    """
    stop = _Stop(session.cancelled)
    # An engine that is gone ends this early: it can read nothing of what was not begun.
    pool = ThreadPoolExecutor(WORKERS[batch.target], thread_name_prefix="member")
    try:
        running = {name: pool.submit(_tried, each, stop) for name, each in attempts.items()}
        _show(tuple(running.values()), session.messages(batch.urn), verb)
        return {name: each.result() for name, each in running.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def _show(running: tuple[Future[Kept], ...], messages: Messages, verb: str) -> None:
    left = set(running)
    while left:
        _, left = wait(left, SHOWN_EVERY)
        messages.status(f"{len(running) - len(left)} of {len(running)} {verb}")


def _tried(attempt: Attempt, stop: _Stop) -> Kept:
    try:
        stop.judge()
        return attempt.do()
    except (Unreachable, NotKubernetes, Unauthorized) as error:
        stop.because = str(error)
        return attempt.otherwise(str(error))
    except TrainerInfraError as error:
        return attempt.otherwise(str(error))
    except Exception as error:  # noqa: BLE001  one member's bug must not lose the others' runs
        return attempt.otherwise(str(Bug(f"a member failed with {error!r}")))
