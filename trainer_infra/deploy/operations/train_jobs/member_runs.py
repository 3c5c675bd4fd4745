"""What an update does with the run of one member of a batch: submit, replace, update, delete.

Called by `batch`, which runs the `Attempt` of each member. After an error, an interruption or a
crash the state still has what the next update needs to go on: a member that could not be replaced
or updated is kept as it was, and a run that could not be deleted is kept by its uid.
"""

from dataclasses import dataclass, field
from typing import Any

from trainer_infra.deploy.operations import train_job
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs.member_pool import Attempt
from trainer_infra.deploy.operations.train_jobs.members import (
    Kept,
    MemberChange,
    entry_of,
    without_keys,
)
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import owner_from_json
from trainer_infra.runs.target import Target


@dataclass(frozen=True, slots=True)
class MemberRun:
    """One member before and after an update."""

    old: JSONObject | None
    """Its state as a TrainJob; None where there is none."""
    known: JSONObject
    """Its entry in `members` of the state, with whose the run is; empty where there is none."""
    new: JSONObject | None
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
        hidden = frozenset() if new.get("secretData") else frozenset({"secretData"})
        as_it_was = Kept(without_keys(old, hidden), entry_of(old))
        as_it_was = _with(as_it_was, member.known.get("replaced"))
        do = self._replace if change is MemberChange.REPLACE else self._update
        return Attempt(lambda: do(member, old, new), lambda error: _with_error(as_it_was, error))

    def _submit(self, member: MemberRun, new: JSONObject) -> Kept:
        self._sweep(member, new["name"])
        return self._submitted(new)

    def _submitted(self, new: JSONObject) -> Kept:
        job = TrainJobProperties(new)
        run = self.target.submit(train_job.submission_of(job, self.target), adopt=job.adopts)
        state = train_job.outputs_of(job, run)
        return Kept(state, entry_of(state))

    def _replace(self, member: MemberRun, old: JSONObject, new: JSONObject) -> Kept:
        self._sweep(member)
        if _full_name(old) != _full_name(new):
            made = self._submitted(new)
            try:
                self._end(_run(old), old)
            except TrainerInfraError as error:
                sentence = f"the run that it replaces cannot be deleted: {error}"
                return _with_error(_with(made, [_run(old)]), sentence)
            return made
        self._end(_run(old), old)
        try:
            return self._submitted(new)
        except TrainerInfraError as error:
            return _failed(MemberRun(None, {}, new), new, str(error))

    def _update(self, member: MemberRun, old: JSONObject, new: JSONObject) -> Kept:
        self._sweep(member)
        state = train_job.update_run(TrainJobProperties(old), TrainJobProperties(new), self.session)
        return Kept(state, entry_of(state))

    def _delete(self, member: MemberRun) -> Kept:
        self._sweep(member)
        if "uid" in member.known:
            self._end(_run(member.known), member.old or {})
        return Kept(None, None)

    def _sweep(self, member: MemberRun, unless: str = "") -> None:
        """Delete what earlier updates could not, and what one submitted without knowing it.

        Args:
            member: whose runs.
            unless: name of a run that is to be submitted now, and so is left.
        """
        for each in member.known.get("replaced") or ():
            # An earlier release wrote none with its owner.
            self._end({"owner": member.known["owner"], **each}, member.old or {})
        if not member.known or "uid" in member.known or member.known["name"] == unless:
            return
        run = self.target.get(member.known["namespace"], member.known["name"])
        if run is not None and run.owner.is_same(owner_from_json(member.known["owner"])):
            key = {"namespace": run.namespace, "name": run.name, "uid": run.uid}
            self._end({**key, "owner": member.known["owner"]}, {})

    def _end(self, run: JSONObject, settings: JSONObject) -> None:
        ended, timeout = TrainJobProperties(run), TrainJobProperties(settings).delete_timeout
        sentence = self.target.delete(*ended.key, timeout, owner=ended.owner)
        if sentence:
            self.warnings.append(sentence)


def _run(state: JSONObject) -> dict[str, Any]:
    """What finds the run of a state again."""
    return {key: state[key] for key in ("namespace", "name", "uid", "owner")}


def _full_name(properties: JSONObject) -> tuple[Any, Any]:
    return properties["namespace"], properties["name"]


def _failed(member: MemberRun, new: JSONObject, sentence: str) -> Kept:
    """A member that has no run."""
    seen = {key: new[key] for key in ("name", "namespace", "owner")} | {"error": sentence}
    return _with(Kept(new, seen), member.known.get("replaced"))


def _undeleted(member: MemberRun, sentence: str) -> Kept:
    """A member that the program has no more, and whose run may still be there."""
    known = member.known
    left = [*(known.get("replaced") or ()), *([_run(known)] if "uid" in known else [])]
    seen = {key: known[key] for key in ("name", "namespace", "owner")} | {"error": sentence}
    return _with(Kept(None, seen), left)


def _with(kept: Kept, left: Any) -> Kept:
    if not left or kept.seen is None:
        return kept
    return Kept(kept.job, {**kept.seen, "replaced": list(left)})


def _with_error(kept: Kept, sentence: str) -> Kept:
    return Kept(kept.job, {**(kept.seen or {}), "error": sentence})
