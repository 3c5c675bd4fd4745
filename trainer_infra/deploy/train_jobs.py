"""What the engine asks about a batch of TrainJobs: check, diff, create, read, update, delete.

Called by `provider.TrainJobsProvider` with properties as JSON. Every member is judged, rendered and
named as the TrainJob that it is (`members`); `member_runs` acts on one of them, `tries` on all at
the same time. Rules: design rule 6.
"""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from trainer_infra import names
from trainer_infra.deploy import boundary, gate, inputs, members, place, targets, train_job, tries
from trainer_infra.deploy.boundary import Messages
from trainer_infra.deploy.inputs import Checked
from trainer_infra.deploy.member_runs import Member, MemberRuns
from trainer_infra.deploy.members import Change, Kept
from trainer_infra.errors import InvalidInput, NotAvailable, Problem, Unreadable
from trainer_infra.runs import sentences
from trainer_infra.runs.run import owner_from_json
from trainer_infra.runs.target import Target

Properties = dict[str, Any]
JSON = Mapping[str, Any]

REPLACING: Final = ("target", "engine")
"""Inputs of which another value makes every member another run."""

_CREATED: Final[set[str]] = set()
"""Uids that create gave back in this process, which serves one operation of the engine."""


def check(olds: Properties, news: Properties) -> CheckResult:
    """Validate every member, and fill in their names, runtimes and renderings."""
    news = inputs.owned(news)
    if chosen := tuple(targets.problems(news)):
        return CheckResult(news, boundary.failures(chosen))
    before = members.of(olds)
    judged = {name: _judged(one, before.get(name, {})) for name, one in members.of(news).items()}
    problems = [
        Problem(each.path, each.what, each.got, each.fix, _where(name, each.where))
        for name, one in judged.items()
        for each in one.problems
    ]
    named = {name: one.inputs for name, one in judged.items() if "name" in one.inputs}
    problems += [*members.same_names(named), *_parallelism(news, named)]
    filled = members.inputs(news, {name: one.inputs for name, one in judged.items()})
    if not problems:
        _notices(news, {name: one for name, one in judged.items() if one.found}, before)
    return CheckResult(filled, boundary.failures(tuple(problems)))


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is known of a member before deployment."""

    inputs: JSON
    """As a TrainJob's: filled in where that was possible."""
    problems: tuple[Problem, ...] = ()
    found: Checked | None = None
    """None where a value is unknown as yet, or something is wrong."""


def _judged(one: JSON, old: JSON) -> _Judged:
    problems = tuple(inputs.options(one))
    if boundary.unknown(one):
        return _Judged(one, problems)
    try:
        found = inputs.checked(one, old)
    except InvalidInput as error:
        return _Judged(one, (*problems, *inputs.named_once(error.problems, one)))
    return _Judged(found.inputs, problems, None if problems else found)


def _parallelism(news: JSON, named: Mapping[str, JSON]) -> Iterator[Problem]:
    """Problems of `max_parallel`: it is no number, or Kueue decides how many members run."""
    limit, where = news.get("maxParallel"), f"TrainJobs {news['resource']}"
    if limit is None or boundary.unknown(limit):
        return
    if not isinstance(limit, int) or limit < 1:
        yield Problem("max_parallel", "must be a whole number from 1", limit, where=where)
    for name, one in named.items():
        labels = one["rendered"][names.JOBSET]["metadata"].get("labels") or {}
        queue = labels.get(names.KUEUE_QUEUE_LABEL)
        if queue and news["target"] == targets.KUBERNETES:
            what = f"cannot be kept: Kueue starts {name}, which is in queue {queue}"
            fix = "leave it out and let the queue's quota decide, or leave the queue out"
            yield Problem("max_parallel", what, fix=fix, where=where)
            return


def _where(member: str, where: str) -> str:
    return f"jobs.{member}: {where}" if where else f"jobs.{member}"


def _notices(news: JSON, judged: Mapping[str, _Judged], before: Mapping[str, JSON]) -> None:
    """What is worth knowing at preview though nothing is wrong, in one message of each kind."""
    messages, declared = Messages(news["owner"]["urn"]), members.of(news)
    kept, failed, warned, objects = [], [], [], []
    for name, one in judged.items():
        old = before.get(name, {})
        if inputs.unchanged(one.inputs, old):
            kept += [(name, inputs.born_with(declared[name], old))]
            if not news.get("waitFor"):
                failed += [(name, train_job.failure_of(one.inputs))]
            continue
        warned += [(name, each) for each in (one.found.warnings if one.found else ())]
        objects += one.inputs["rendered"].values()
    if said := members.listed((name, each) for name, each in kept if each):
        messages.info(said)
    for said in (members.listed(warned), members.listed(each for each in failed if each[1])):
        if said:
            messages.warn(said)
    for each in targets.news_of(news, tuple(objects)) if objects else ():
        messages.warn(each)


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Another target is another batch; all else is an update, which may replace members."""
    if drifted := [(name, _told(each)) for name, each in (olds.get("drift") or {}).items()]:
        # The engine shows what the program changed; of this it would show nothing.
        said = f"to be repaired, somebody changed them:\n{members.listed(drifted)}"
        Messages(news["owner"]["urn"]).info(said)
    replaces = [key for key in REPLACING if olds.get(key) != news.get(key)]
    boundary.DETAIL.paths = dict.fromkeys(replaces, "UPDATE_REPLACE") | members.differences(
        olds, news
    )
    changed = any(each is not Change.NONE for each in members.changes(olds, news).values())
    if _is_unlimited(olds, news):
        boundary.DETAIL.paths = {**boundary.DETAIL.paths, "maxParallel": "DELETE"}
        changed = True
    return DiffResult(
        changes=bool(replaces) or changed, replaces=replaces, delete_before_replace=False
    )


def _told(drift: Mapping[str, str]) -> str:
    return ", ".join(f"{path}: {now}" for path, now in drift.items())


def create(given: Properties) -> CreateResult:
    """Submit every member; succeeds once each was tried, with an error for those that failed."""
    outputs = _applied({}, given)
    _CREATED.update(_uids(outputs))
    return CreateResult(str(given["resource"]), outputs)


def update(olds: Properties, news: Properties) -> UpdateResult:
    """Bring every member that changed to what the program says, and no other."""
    its = place.of_batch(olds, olds["members"])
    target = its.required()
    if _is_unlimited(olds, news):
        for each in members.known(olds).values():
            _start(target, each)
    return UpdateResult({**_applied(olds, news), "host": its.host})


def _is_unlimited(olds: JSON, news: JSON) -> bool:
    """Whether `max_parallel` was taken away: no gate starts the members that are left then."""
    return bool(olds.get("maxParallel")) and news.get("maxParallel") is None


def _start(target: Target, known: JSON) -> None:
    """Start a member that was submitted suspended, and whose turn did not come."""
    if "uid" not in known:
        return
    key = (known["namespace"], known["name"], known["uid"])
    run = target.get(*key)
    if run is not None and gate.is_held(run):
        target.suspend(*key, False, owner=owner_from_json(known["owner"]))


def _applied(olds: JSON, news: JSON) -> Properties:
    """The state once every changed member was tried.

    Raises:
        NotAvailable: The target does not answer, and nothing was tried.
    """
    target = targets.of(news)
    namespace = next((str(each["namespace"]) for each in members.of(news).values()), "")
    host, runs = target.host(namespace), MemberRuns(target)
    changes = members.changes(olds, news)
    before, after = members.of(olds), members.of(news)
    known = members.known(olds)
    kept: dict[str, Kept] = {}
    attempts = {}
    for name, change in changes.items():
        one = Member(before.get(name), known.get(name) or {}, after.get(name))
        if change is Change.NONE:
            kept[name] = Kept(after[name], known[name])
        else:
            attempts[name] = runs.attempt(one, change)
    messages = Messages(news["owner"]["urn"])
    tried = tries.all_of(attempts, news["target"], messages, "done" if olds else "submitted")
    state = members.outputs(news, host, {name: (kept | tried)[name] for name in changes})
    _said(messages, runs.warnings, state["members"])
    before_uids = _uids(olds)
    seen = [each for each in state["members"].values() if "uid" in each]
    if new := [each for each in seen if each["uid"] not in before_uids]:
        messages.info(sentences.submitted_line([(each["namespace"], each["name"]) for each in new]))
    return state


def _said(messages: Messages, warnings: Iterable[str], seen: Mapping[str, JSON]) -> None:
    for each in warnings:
        messages.warn(each)
    errors = [(name, each["error"]) for name, each in seen.items() if "error" in each]
    if errors:
        count = f"{len(errors)} of {len(seen)} TrainJobs failed"
        again = "the next `pulumi up` tries these again, and no other"
        messages.warn(f"{count}; {again}\n{members.listed(errors)}")


def read(id_: str, state: Properties) -> ReadResult:
    """Every member as it is now; those that are gone are left out, and so are made again.

    So is a member whose run another owner took over; one that cannot be read stays as last seen.
    """
    its, known = place.of_batch(state, state["members"]), members.known(state)
    if its.elsewhere:
        Messages(state["owner"]["urn"]).warn(f"{its.elsewhere}; they are kept as last seen")
        lost = f"unknown (on {state['host']})"
        unseen = {
            name: {**each, "lastSeen": lost} if "uid" in each else each
            for name, each in state["members"].items()
        }
        return ReadResult(id_, {**state, "members": unseen})
    before = members.of(state)
    # A cluster answers so many at once from one list of each kind.
    with ThreadPoolExecutor(tries.WORKERS[state["target"]]) as pool:
        looks = [
            pool.submit(_read, its.target, before.get(name), each) for name, each in known.items()
        ]
        found = dict(zip(known, (each.result() for each in looks), strict=True))
    kept = {name: each for name, (each, _) in found.items() if each is not None}
    if said := [(name, sentence) for name, (_, sentence) in found.items() if sentence]:
        Messages(state["owner"]["urn"]).warn(members.listed(said))
    if not kept:
        return ReadResult("", {})
    return ReadResult(id_, members.outputs(state, its.host, kept))


def _read(target: Target, old: JSON | None, known: JSON) -> tuple[Kept | None, str]:
    """A member as it is now, None when its run is gone; and what there is to say of it."""
    if old is None or "uid" not in known:
        return Kept(old, known), ""
    try:
        run = target.get(known["namespace"], known["name"], known["uid"])
    except Unreadable as error:
        return Kept(old, known), f"stays as it was last seen: {error}"
    if run is None:
        return None, ""
    if not run.owner.is_same(owner_from_json(known["owner"])):
        return None, f"{sentences.taken_by(run)}; {train_job.TAKE_BACK}"
    state = train_job.outputs(old, run)
    return Kept(state, {**known, **members.seen(state)}), sentences.failed_briefly(run)


def delete(state: Properties) -> None:
    """End every run and remove what is left of it; gone already is fine.

    Raises:
        NotAvailable: Some could not be deleted; the next delete tries them again.
    """
    target = place.of_batch(state, state["members"]).required()
    messages = Messages(state["owner"]["urn"])
    runs, before = MemberRuns(target), members.of(state)
    attempts = {
        name: runs.attempt(Member(before.get(name), each, None), Change.DELETE)
        for name, each in members.known(state).items()
        if each.get("uid") not in _CREATED
    }
    if len(attempts) < len(state["members"]):
        messages.info("runs whose content is the same are kept; raise attempt to run them again")
    left = tries.all_of(attempts, state["target"], messages, "deleted")
    for each in runs.warnings:
        messages.warn(each)
    errors = [(name, str(each.seen["error"])) for name, each in left.items() if each.seen]
    if errors:
        raise NotAvailable(
            f"{len(errors)} of {len(left)} TrainJobs could not be deleted; run it again\n"
            f"{members.listed(errors)}"
        )


def _uids(state: JSON) -> set[str]:
    return {each["uid"] for each in (state.get("members") or {}).values() if "uid" in each}
