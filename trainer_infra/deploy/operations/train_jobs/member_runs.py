"""What an update does with the run of one member of a batch: submit, replace, update, delete.

After an error, an interruption or a crash the state still has what the next update needs to go on:
a member that could not be replaced or updated is kept as it was, and a run that could not be
deleted is kept by its uid.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from trainer_infra.deploy.operations import train_job
from trainer_infra.deploy.operations.batch_properties import MemberEntry
from trainer_infra.deploy.operations.properties import (
    DELETE_TIMEOUT,
    ResourceProperties,
    TrainJobProperties,
)
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs.member_pool import Attempt
from trainer_infra.deploy.operations.train_jobs.members import (
    Kept,
    MemberChange,
    entry_of,
    without_keys,
)
from trainer_infra.errors import TrainerInfraError
from trainer_infra.runs.target import Target


@dataclass(frozen=True, slots=True)
class MemberRun:
    """One member before and after an update."""

    old: TrainJobProperties | None
    """Its state as a TrainJob; None where there is none."""
    known: MemberEntry
    """Its entry in the state, with whose the run is; an empty one where there is none."""
    new: TrainJobProperties | None
    """Its inputs as a TrainJob; None where the program has it no more."""


@dataclass(frozen=True, slots=True)
class MemberRuns:
    """Runs of the members of one batch; safe to use from several threads."""

    target: Target
    """Where they run."""
    session: StackSession
    """Of the batch's stack."""
    warnings: list[str] = field(default_factory=list)
    """Sentences of deletes that worked, but left something."""

    def attempt(self, member: MemberRun, change: MemberChange) -> Attempt:
        """What to do with a member, and what the state keeps where that fails."""
        if change is MemberChange.SUBMIT and member.new is not None:
            new = member.new
            return Attempt(
                lambda: self._submit(member, new), lambda error: _failed(member, new, error)
            )
        if change is MemberChange.DELETE or member.old is None or member.new is None:
            return Attempt(lambda: self._delete(member), lambda error: _undeleted(member, error))
        old, new = member.old, member.new
        # The engine keeps old secrets encrypted only where new ones are secret too.
        hidden = frozenset() if new.secret_data else frozenset({"secretData"})
        as_it_was = Kept(without_keys(old.json, hidden), entry_of(old.json))
        as_it_was = _with(as_it_was, member.known.replaced)
        do = self._replace if change is MemberChange.REPLACE else self._update
        return Attempt(lambda: do(member, old, new), lambda error: _with_error(as_it_was, error))

    def _submit(self, member: MemberRun, new: TrainJobProperties) -> Kept:
        self._sweep(member, new.name)
        return self._submitted(new)

    def _submitted(self, job: TrainJobProperties) -> Kept:
        run = train_job.submit(job, self.target)
        state = train_job.outputs_of(job, run)
        return Kept(state, entry_of(state))

    def _replace(self, member: MemberRun, old: TrainJobProperties, new: TrainJobProperties) -> Kept:
        self._sweep(member)
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
            return _failed(MemberRun(None, MemberEntry({}), new), new, str(error))

    def _update(self, member: MemberRun, old: TrainJobProperties, new: TrainJobProperties) -> Kept:
        self._sweep(member)
        state = train_job.update_run(old, new, self.session)
        return Kept(state, entry_of(state))

    def _delete(self, member: MemberRun) -> Kept:
        self._sweep(member)
        if member.known.has_run:
            self._end(member.known, member.old)
        return Kept(None, None)

    def _sweep(self, member: MemberRun, unless: str = "") -> None:
        """Delete what earlier updates could not, and what one submitted without knowing it.

        Args:
            member: whose runs.
            unless: name of a run that is to be submitted now, and so is left.
        """
        known = member.known
        for each in known.replaced:
            self._end(each, member.old)
        if known.has_run or known.name in {"", unless}:
            return
        run = self.target.get(known.namespace, known.name)
        if run is not None and run.owner.is_same(known.owner):
            self._end(MemberEntry({**known.json, "uid": run.uid}), None)

    def _end(self, run: ResourceProperties, settings: TrainJobProperties | None) -> None:
        timeout = settings.delete_timeout if settings else DELETE_TIMEOUT
        sentence = self.target.delete(run.key, timeout)
        if sentence:
            self.warnings.append(sentence)


def _failed(member: MemberRun, new: TrainJobProperties, sentence: str) -> Kept:
    """A member that has no run."""
    seen = {key: new.json[key] for key in ("name", "namespace", "owner")} | {"error": sentence}
    return _with(Kept(new.json, MemberEntry(seen)), member.known.replaced)


def _undeleted(member: MemberRun, sentence: str) -> Kept:
    """A member that the program has no more, and whose run may still be there."""
    known = member.known
    seen = {key: known.json[key] for key in ("name", "namespace", "owner")} | {"error": sentence}
    left = (*known.replaced, *((known,) if known.has_run else ()))
    return _with(Kept(None, MemberEntry(seen)), left)


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
