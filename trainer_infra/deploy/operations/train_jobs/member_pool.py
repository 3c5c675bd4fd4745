"""Doing something with every member of a batch, several at a time, and saying how far it is.

Called by `train_jobs`. A member that fails stops no other; when the cluster does not answer, or not
this user, or Ctrl-C was pressed, those not begun are not tried.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.deploy import boundary
from trainer_infra.deploy.boundary import Messages
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.train_jobs.members import Kept
from trainer_infra.errors import Bug, NotAvailable, TrainerInfraError
from trainer_infra.kube.refusals import NotKubernetes, Unauthorized, Unreachable

WORKERS: Final[Mapping[str, int]] = {targets.LOCAL: 4, targets.KUBERNETES: 32}
"""Members that are tried at the same time, by target."""
SAID_EVERY: Final = 0.5
"""Seconds between two messages."""


@dataclass(frozen=True, slots=True)
class Try:
    """One member's part."""

    do: Callable[[], Kept]
    """What to do; may raise."""
    otherwise: Callable[[str], Kept]
    """What the state keeps when it raised, given the sentence."""


@dataclass(slots=True)
class _Stop:
    """Why members that were not begun are not tried; empty as long as they are."""

    because: str = field(default="")

    def judge(self) -> None:
        """Raise where nothing more is begun."""
        if boundary.CANCELLED.is_set():
            raise NotAvailable("was interrupted before it was tried")
        if self.because:
            raise NotAvailable(f"was not tried: {self.because}")


def all_of(tries: Mapping[str, Try], target: str, messages: Messages, verb: str) -> dict[str, Kept]:
    """What the state keeps of every member, in order, once each was tried.

    Args:
        tries: By member.
        target: Where its runs are, one of `targets.TARGETS`.
        messages: Takes a status message while it goes on.
        verb: What was done, for that message: `submitted`.
    """
    stop = _Stop()
    # An engine that is gone ends this early: what was not begun would be told to nobody.
    pool = ThreadPoolExecutor(WORKERS[target], thread_name_prefix="member")
    try:
        running = {member: pool.submit(_tried, each, stop) for member, each in tries.items()}
        _said(tuple(running.values()), messages, verb)
        return {member: each.result() for member, each in running.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def _said(running: tuple[Future[Kept], ...], messages: Messages, verb: str) -> None:
    left = set(running)
    while left:
        _, left = wait(left, SAID_EVERY)
        messages.status(f"{len(running) - len(left)} of {len(running)} {verb}")


def _tried(one: Try, stop: _Stop) -> Kept:
    try:
        stop.judge()
        return one.do()
    except (Unreachable, NotKubernetes, Unauthorized) as error:
        stop.because = str(error)
        return one.otherwise(str(error))
    except TrainerInfraError as error:
        return one.otherwise(str(error))
    except Exception as error:  # noqa: BLE001  one member's bug must not lose the others' runs
        return one.otherwise(str(Bug(f"a member failed with {error!r}")))
