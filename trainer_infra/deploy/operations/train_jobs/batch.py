"""What the engine asks about a batch of TrainJobs: check, diff, create, read, update, delete.

Every member is judged, rendered and named as the TrainJob that it is (`members`); `member_runs`
acts on them, several at the same time. Rules: design rule 6.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from trainer_infra import names
from trainer_infra.deploy import backend
from trainer_infra.deploy.operations import declared_run, gate, targets, train_job
from trainer_infra.deploy.operations.answers import CheckAnswer, CreateAnswer, Difference, Present
from trainer_infra.deploy.operations.batch_properties import BatchProperties, MemberEntry
from trainer_infra.deploy.operations.place import place_of_runs
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.rendering import Preview
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import complete_members, member_runs, members
from trainer_infra.deploy.operations.train_jobs.member_runs import MemberRuns
from trainer_infra.deploy.operations.train_jobs.members import Kept, MemberChange
from trainer_infra.deploy.operations.values import differing, is_unknown
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.target import Target

REPLACING: Final = ("target", "engine")
"""Inputs of which another value makes every member another run."""


def check(olds: JSONObject, news: JSONObject, session: StackSession) -> CheckAnswer:
    """Validate every member, and fill in their names, runtimes and renderings."""
    news = {**news, "owner": backend.with_backend(news["owner"])}
    if choice := tuple(targets.choice_problems(news)):
        return CheckAnswer(news, choice)
    before, target = members.members_of(olds), session.target(BatchProperties(news))
    checked = {
        name: train_job.checked_run(before.get(name, {}), one, target)
        for name, one in members.members_of(news).items()
    }
    if news.get("keepComplete"):
        kept = complete_members.kept_inputs(olds, news, session)
        checked |= {
            name: train_job.CheckedRun(one, checked[name].problems) for name, one in kept.items()
        }
    found = [(name, each) for name, one in checked.items() for each in one.problems]
    known = {name: one.preview.inputs for name, one in checked.items() if one.preview}
    found += [
        (n, each) for n, one in known.items() for each in train_job.shared_place(one, session)
    ]
    problems = [*members.member_problems(found, str(news["resource"]))]
    named = {name: one.inputs for name, one in checked.items() if "name" in one.inputs}
    problems += [*members.same_names(named), *_parallelism(BatchProperties(news), named)]
    filled = members.batch_inputs(news, {name: one.inputs for name, one in checked.items()})
    if not problems:
        previews = {name: one.preview for name, one in checked.items() if one.preview}
        _tell(BatchProperties(news), previews, before, session)
        filled = {**filled, **_kept_members(filled, olds, target)}
    return CheckAnswer(filled, tuple(problems))


def _kept_members(news: JSONObject, olds: JSONObject, target: Target) -> JSONObject:
    """What the outputs say of members that an update in place leaves as they are."""
    jobs = _jobs_of(news)
    is_known = not any(is_unknown(each.json) for each in jobs.values())
    runs = train_job.runs_kept(members.members_of(olds), jobs, target) if is_known else {}
    if not runs:
        return {}
    kept = {
        name: Kept(None, members.entry_of(train_job.outputs_of(jobs[name], run)))
        for name, run in runs.items()
    }
    shown = members.batch_outputs(news, next(iter(runs.values())).host, kept)
    return {key: shown[key] for key in ("members", "host")}


def _parallelism(news: BatchProperties, named: Mapping[str, JSONObject]) -> Iterator[Problem]:
    """Problems of `max_parallel`: it is not a number, or Kueue decides how many members run."""
    limit, where = news.max_parallel, news.shown
    if limit is None or is_unknown(limit):
        return
    if not isinstance(limit, int) or limit < 1:
        yield Problem("max_parallel", "must be a whole number from 1", limit, where=where)
    for name, one in named.items():
        queued = one["rendered"].get(names.TRAIN_JOB) or one["rendered"][names.JOBSET]
        queue = (queued["metadata"].get("labels") or {}).get(names.KUEUE_QUEUE_LABEL)
        if queue and news.target == targets.KUBERNETES:
            what = f"cannot be kept: Kueue starts {name}, which is in queue {queue}"
            fix = "leave it out and let the queue's quota decide, or leave the queue out"
            yield Problem("max_parallel", what, fix=fix, where=where)
            return


def _tell(
    news: BatchProperties,
    previews: Mapping[str, Preview],
    before: Mapping[str, JSONObject],
    session: StackSession,
) -> None:
    """Say what is worth knowing at preview though nothing is wrong, in one message of each kind."""
    messages, declared = session.messages(news.urn), members.members_of(news.json)
    kept, failed, warned, said = [], [], [], []
    objects: list[JSONObject] = []
    for name, preview in previews.items():
        if preview.is_kept:
            now, old = map(TrainJobProperties, (declared[name], before[name]))
            kept += [(name, declared_run.older_runtime(now, old))]
            if not news.has_gate:
                failed += [(name, train_job.failure_of(preview.inputs, session))]
            continue
        warned += [(name, each) for each in preview.warnings]
        said += [(name, each) for each in preview.remarks]
        objects += preview.inputs.rendered.values()
    runs = {name: MemberEntry(each.inputs.json) for name, each in previews.items()}
    told_by = (
        (messages.info, kept),
        (messages.warn, warned),
        (messages.warn, failed),
        (messages.info, said),
    )
    for say, told in told_by:
        if lines := members.member_lines(told, runs):
            say(lines)
    of_target = session.target(news).warnings(tuple(objects)) if objects else ()
    for remark in session.new_remarks(of_target):
        messages.warn(remark)


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Another target is another batch; all else is an update, which may replace members."""
    known = BatchProperties(olds)
    drift = (
        (name, ", ".join(f"{at}: {now}" for at, now in each.items()))
        for name, each in known.drift.items()
    )
    if lines := members.member_lines(drift, known.runs):
        # The engine shows what the program changed; of this it would show nothing.
        said = f"to be repaired, another writer changed them:\n{lines}"
        session.messages(BatchProperties(news).urn).info(said)
    replaces = differing(REPLACING, olds, news)
    paths = dict.fromkeys(replaces, "UPDATE_REPLACE") | members.shown_differences(olds, news)
    changes = members.member_changes(olds, news)
    complete_members.tell_anew(olds, news, changes, session)
    changed = any(each is not MemberChange.NONE for each in changes.values())
    if _is_unlimited(olds, news):
        paths["maxParallel"] = "DELETE"
        changed = True
    return Difference(bool(replaces) or changed, replaces, paths=paths)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Submit every member; succeeds once each was tried, with an error for those that failed."""
    outputs = _applied({}, given, session)
    made = BatchProperties(outputs)
    session.created.update(made.uids)
    return CreateAnswer(made.resource, outputs)


def update(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """Bring every member that changed to what the program says, and no other; the outputs."""
    known = BatchProperties(olds)
    place = place_of_runs(known, session)
    target = place.required()
    if _is_unlimited(olds, news):
        # No gate starts those whose turn did not come.
        for key in known.keys:
            run = target.get(*key.address)
            if run is not None and gate.is_held(run):
                target.suspend(key, False)
    return {**_applied(olds, news, session), "host": place.host}


def _is_unlimited(olds: JSONObject, news: JSONObject) -> bool:
    """Whether `max_parallel` was taken away: no gate starts the members that are left then."""
    limits = [BatchProperties(each).max_parallel for each in (olds, news)]
    return bool(limits[0]) and limits[1] is None


def _applied(olds: JSONObject, news: JSONObject, session: StackSession) -> JSONObject:
    """The state once every changed member was tried; where the target does not answer, none is."""
    declared = BatchProperties(news)
    target, messages = session.target(declared), session.messages(declared.urn)
    before, after, entries = _jobs_of(olds), _jobs_of(news), BatchProperties(olds).runs
    namespace = next((each.namespace for each in after.values()), "")
    host, runs = target.host(namespace), MemberRuns(target)
    changes = members.member_changes(olds, news)
    kept: dict[str, Kept] = {}
    attempts = {}
    for name, change in changes.items():
        if change is MemberChange.NONE:
            kept[name] = Kept(after[name].json, entries[name])
        else:
            known = entries.get(name, MemberEntry({}))
            attempts[name] = runs.attempt(change, known, before.get(name), after.get(name))
    kept |= member_runs.run_all(attempts, declared, "done" if olds else "submitted", session)
    state = members.batch_outputs(news, host, {name: kept[name] for name in changes})
    now, uids = BatchProperties(state), BatchProperties(olds).uids
    for warning in runs.warnings:
        messages.warn(warning)
    if errors := [(name, each.error) for name, each in now.runs.items() if each.error]:
        count = f"{len(errors)} of {len(now.runs)} TrainJobs failed"
        again = "the next `pulumi up` tries these again, and no other"
        messages.warn(f"{count}; {again}\n{members.member_lines(errors, now.runs)}")
    if new := [each for each in now.runs.values() if each.has_run and each.uid not in uids]:
        messages.info(sentences.submitted_line([each.key for each in new]))
    return state


def read(state: JSONObject, session: StackSession) -> Present | None:
    """Every member as it is now; those that are gone are left out, and so are made again.

    So is a member whose run another owner took over; one that cannot be read stays as last seen.
    """
    known = BatchProperties(state)
    place, messages = place_of_runs(known, session), session.messages(known.urn)
    if place.elsewhere:
        messages.warn(f"{place.elsewhere}; they are kept as last seen")
        lost = {"lastSeen": f"unknown (on {known.host})"}
        unseen = {
            name: {**each, **lost} if "uid" in each else each
            for name, each in state["members"].items()
        }
        return Present({**state, "members": unseen})
    before, entries = _jobs_of(state), known.runs
    # A cluster answers so many at once from one list of each kind.
    with ThreadPoolExecutor(member_runs.WORKERS[known.target]) as pool:
        looks = pool.map(lambda name: _read(place.target, before.get(name), entries[name]), entries)
        now = dict(zip(entries, looks, strict=True))
    kept = {name: each for name, (each, _) in now.items() if each is not None}
    if lines := members.member_lines(((name, line) for name, (_, line) in now.items()), entries):
        messages.warn(lines)
    return Present(members.batch_outputs(state, place.host, kept)) if kept else None


def _read(
    target: Target, old: TrainJobProperties | None, entry: MemberEntry
) -> tuple[Kept | None, str]:
    """A member as it is now, None when its run is gone; and what there is to say of it."""
    if old is None or not entry.has_run:
        return Kept(old.json if old else None, entry), ""
    seen, said = train_job.seen_run(old, target)
    if seen is None:
        return None, said
    now = MemberEntry({**entry.json, **members.entry_of(seen).json})
    # The line begins with the member's name.
    return Kept(seen, now), said.removeprefix(f"{old.name} ")


def delete(state: JSONObject, session: StackSession) -> None:
    """End every run and remove what is left of it; gone already is fine.

    Raises:
        NotAvailable: Some could not be deleted; the next delete tries them again.
    """
    known = BatchProperties(state)
    target, messages = place_of_runs(known, session).required(), session.messages(known.urn)
    runs, before = MemberRuns(target), _jobs_of(state)
    attempts = {
        name: runs.attempt(MemberChange.DELETE, each, before.get(name), None)
        for name, each in known.runs.items()
        if each.uid not in session.created
    }
    if len(attempts) < len(known.runs):
        messages.info("runs whose content is the same are kept; raise attempt to run them again")
    left = member_runs.run_all(attempts, known, "deleted", session)
    for each in runs.warnings:
        messages.warn(each)
    errors = [(name, each.seen.error) for name, each in left.items() if each.seen]
    if errors:
        raise NotAvailable(
            f"{len(errors)} of {len(left)} TrainJobs could not be deleted; run it again\n"
            f"{members.member_lines(errors, known.runs)}"
        )


def _jobs_of(batch: JSONObject) -> dict[str, TrainJobProperties]:
    return {name: TrainJobProperties(each) for name, each in members.members_of(batch).items()}
