"""What an update does with the run of one member of a batch: submit, replace, update, delete.

After an error, an interruption or a crash the state still has what the next update needs to go on:
a member that could not be replaced or updated is kept as it was, and a run that could not be
deleted is kept by its uid. Several are tried at a time, and one that fails stops no other; when the
cluster does not answer, or not this user, or Ctrl-C was pressed, those not begun are not tried.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import Final

from trainer_infra.deploy.operations import targets, train_job
from trainer_infra.deploy.operations.batch_properties import BatchProperties, MemberEntry
from trainer_infra.deploy.operations.properties import (
    DELETE_TIMEOUT,
    ResourceProperties,
    TrainJobProperties,
)
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import members
from trainer_infra.deploy.operations.train_jobs.members import Kept, MemberChange
from trainer_infra.errors import Bug, NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import NotKubernetes, Unauthorized, Unreachable
from trainer_infra.runs.target import Target

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


@dataclass(frozen=True, slots=True)
class MemberRuns:
    """Runs of the members of one batch; safe to use from several threads."""

    target: Target
    """Where they run."""
    warnings: list[str] = field(default_factory=list)
    """Sentences of deletes that worked, but left something."""

    def attempt(
        self,
        change: MemberChange,
        known: MemberEntry,
        old: TrainJobProperties | None,
        new: TrainJobProperties | None,
    ) -> Attempt:
        """What to do with a member, and what the state keeps where that fails.

        Args:
            change: what becomes of it.
            known: its entry in the state, with whose the run is; an empty one where there is none.
            old: its state as a TrainJob; None where there is none.
            new: its inputs as a TrainJob; None where the program has it no more.
        """
        submitted = ""
        if change is MemberChange.SUBMIT and new is not None:
            do, submitted = partial(self._submitted, new), new.name
            otherwise = partial(_without_run, new.json, new, known.replaced)
        elif change is MemberChange.DELETE or old is None or new is None:
            do = partial(self._delete, known, old)
            # Its run may still be there.
            left = (*known.replaced, *((known,) if known.has_run else ()))
            otherwise = partial(_without_run, None, known, left)
        else:
            do = partial(
                self._replace if change is MemberChange.REPLACE else self._update, old, new
            )
            # The engine keeps old secrets encrypted only where new ones are secret too.
            hidden = () if new.secret_data else ("secretData",)
            as_it_was = Kept(members.without_keys(old.json, hidden), members.entry_of(old.json))
            otherwise = partial(_with_error, _with(as_it_was, known.replaced))

        def swept() -> Kept:
            self._sweep(known, old, submitted)
            return do()

        return Attempt(swept, otherwise)

    def _submitted(self, job: TrainJobProperties) -> Kept:
        run = train_job.submit(job, self.target)
        state = train_job.outputs_of(job, run)
        return Kept(state, members.entry_of(state))

    def _replace(self, old: TrainJobProperties, new: TrainJobProperties) -> Kept:
        if (old.namespace, old.name) != (new.namespace, new.name):
            made = self._submitted(new)
            try:
                self._end(old, old)
            except TrainerInfraError as error:
                sentence = f"the run that it replaces cannot be deleted: {error}"
                return _with_error(_with(made, [old]), sentence)
            return made
        self._end(old, old)
        try:
            return self._submitted(new)
        except TrainerInfraError as error:
            return _without_run(new.json, new, (), str(error))

    def _update(self, old: TrainJobProperties, new: TrainJobProperties) -> Kept:
        state = train_job.update_run(old, new, self.target)
        return Kept(state, members.entry_of(state))

    def _delete(self, known: MemberEntry, old: TrainJobProperties | None) -> Kept:
        if known.has_run:
            self._end(known, old)
        return Kept(None, None)

    def _sweep(self, known: MemberEntry, old: TrainJobProperties | None, submitted: str) -> None:
        """Delete what earlier updates could not, and what one submitted without knowing it.

        A run whose name is the one that is to be submitted now is left.
        """
        for each in known.replaced:
            self._end(each, old)
        if known.has_run or known.name in {"", submitted}:
            return
        run = self.target.get(known.namespace, known.name)
        if run is not None and run.owner.is_same(known.owner):
            self._end(MemberEntry({**known.json, "uid": run.uid}), None)

    def _end(self, run: ResourceProperties, settings: TrainJobProperties | None) -> None:
        timeout = settings.delete_timeout if settings else DELETE_TIMEOUT
        if sentence := self.target.delete(run.key, timeout):
            self.warnings.append(sentence)


def run_all(
    attempts: Mapping[str, Attempt], batch: BatchProperties, verb: str, session: StackSession
) -> dict[str, Kept]:
    """What the state keeps of every member, in order, once each was tried.

    While it goes on a message says of how many the `verb` is true by now: `submitted`.
    """
    stop = _Stop(session.cancelled)
    # An engine that is gone ends this early: it can read nothing of what was not begun.
    pool = ThreadPoolExecutor(WORKERS[batch.target], thread_name_prefix="member")
    try:
        running = {name: pool.submit(_tried, each, stop) for name, each in attempts.items()}
        left, messages = set(running.values()), session.messages(batch.urn)
        while left:
            _, left = wait(left, SHOWN_EVERY)
            messages.status(f"{len(running) - len(left)} of {len(running)} {verb}")
        return {name: each.result() for name, each in running.items()}
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Stop:
    """Why members that were not begun are not tried; empty as long as they are."""

    cancelled: Event
    because: str = ""

    def judge(self) -> None:
        """Raise where nothing more is begun."""
        if self.cancelled.is_set():
            raise NotAvailable("was interrupted before it was tried")
        if self.because:
            raise NotAvailable(f"was not tried: {self.because}")


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


def _without_run(
    job: JSONObject | None,
    whose: ResourceProperties,
    left: Iterable[ResourceProperties],
    sentence: str,
) -> Kept:
    """A member that has no run or, where `job` is None, is not in the program, and runs that are left of it."""
    seen = {key: whose.json[key] for key in ("name", "namespace", "owner")} | {"error": sentence}
    return _with(Kept(job, MemberEntry(seen)), left)


def _with(kept: Kept, left: Iterable[ResourceProperties]) -> Kept:
    """The same with runs that are still to be deleted."""
    keys = ("namespace", "name", "uid", "owner")
    runs = [{key: each.json[key] for key in keys} for each in left]
    if not runs or kept.seen is None:
        return kept
    return Kept(kept.job, MemberEntry({**kept.seen.json, "replaced": runs}))


def _with_error(kept: Kept, sentence: str) -> Kept:
    seen = kept.seen.json if kept.seen else {}
    return Kept(kept.job, MemberEntry({**seen, "error": sentence}))
