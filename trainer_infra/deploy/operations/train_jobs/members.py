"""A batch of TrainJobs <-> its members, each with exactly the properties of a TrainJob resource.

Pure. So everything that is decided for a member is decided by the functions that decide it for a
TrainJob. A batch has `jobs`, `secretData` and, in its state, `members` and `drift`, all by member;
long texts in `jobs` are in `texts`; the rest is shared.
"""

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from trainer_infra.deploy.operations import changes
from trainer_infra.deploy.operations.batch_properties import MemberEntry, member_owner
from trainer_infra.deploy.operations.changes import OBSERVED, train_job_difference
from trainer_infra.deploy.operations.train_jobs import shared_texts
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import owner_from_json
from trainer_infra.trainers.code import content_hash
from trainer_infra.words import listed

SHARED: Final = ("target", "engine", "plugins", "maxParallel", "outputsAt", "packagesAt")
"""Inputs that all members have in common, as they are declared."""
APART: Final = frozenset({*SHARED, "resource", "owner", "secretData"} - {"plugins"})
"""Properties of a TrainJob that a batch does not keep in `jobs`."""
SHOWN: Final = frozenset({"runtime", "rendered"})
"""Inputs that the state has once, as inputs: no program reads them among the outputs."""
MOST: Final = 10
"""Members, or sentences of members, that a message lists."""
_NO_RUNS: Final[Mapping[str, MemberEntry]] = MappingProxyType({})


class MemberChange(Enum):
    """What an update does with a member."""

    NONE = auto()
    SUBMIT = auto()
    REPLACE = auto()
    UPDATE = auto()
    DELETE = auto()


@dataclass(frozen=True, slots=True)
class Kept:
    """What the state keeps of a member."""

    job: JSONObject | None
    """Its properties as a TrainJob; None once the program does not declare it any more."""
    seen: MemberEntry | None
    """Its entry in `members`; None when it is gone."""


def members_of(batch: JSONObject) -> dict[str, dict[str, Any]]:
    """The members as TrainJob properties: inputs of a batch's inputs, a state of its state."""
    return {member: _one(batch, member) for member in batch.get("jobs") or {}}


def _one(batch: JSONObject, member: str) -> dict[str, Any]:
    job = shared_texts.restore_texts(_open(batch["jobs"][member]), batch.get("texts") or {})
    one: dict[str, Any] = {key: batch[key] for key in SHARED if key in batch} | job
    one["resource"] = f"{batch['resource']}-{member}"
    for key in ("secretData", "drift"):
        if value := (batch.get(key) or {}).get(member):
            one[key] = value
    seen = (batch.get("members") or {}).get(member) or {}
    one["owner"] = seen.get("owner") or member_owner(batch, member)
    if "uid" in seen:
        one |= {"uid": seen["uid"], "lastSeen": seen["lastSeen"], "host": batch["host"]}
    return one


def batch_inputs(batch: JSONObject, jobs: Mapping[str, JSONObject]) -> dict[str, Any]:
    """The batch's inputs with these members' TrainJob properties."""
    secrets = {name: job["secretData"] for name, job in jobs.items() if job.get("secretData")}
    kept, apart = shared_texts.share_texts(
        {name: _its_own(batch, job) for name, job in jobs.items()}
    )
    made = {"jobs": {name: _closed(job) for name, job in kept.items()}}
    also = {"texts": apart, "secretData": secrets}
    return (
        without_keys(batch, _BY_MEMBER) | made | {key: each for key, each in also.items() if each}
    )


def batch_outputs(batch: JSONObject, host: str, kept: Mapping[str, Kept]) -> dict[str, Any]:
    """The batch's state with these members, in their order."""
    jobs = {name: each.job for name, each in kept.items() if each.job is not None}
    seen = {
        name: _of_batch(batch, name, each.seen.json)
        for name, each in kept.items()
        if each.seen is not None
    }
    drift = {name: job["drift"] for name, job in jobs.items() if job.get("drift")}
    short = {name: without_keys(job, SHOWN) | _digests(job) for name, job in jobs.items()}
    state = {**batch_inputs(batch, short), "host": host, "members": seen}
    return state | ({"drift": drift} if drift else {})


def _digests(job: JSONObject) -> dict[str, Any]:
    """What tells the runtime of a member from another one; of an earlier release's state nothing."""
    if "runtime" in job:
        return {changes.DIGESTS: {"runtime": content_hash(job["runtime"])}}
    return {key: job[key] for key in (changes.DIGESTS,) if key in job}


def _of_batch(batch: JSONObject, member: str, seen: JSONObject) -> JSONObject:
    """An entry of `members`, without what the batch says."""
    whose = owner_from_json(seen.get("owner") or {})
    same = whose.is_same(owner_from_json(member_owner(batch, member)))
    return without_keys(seen, ("owner",)) if same else seen


def shown_differences(olds: JSONObject, news: JSONObject) -> dict[str, str]:
    """Inputs that a preview shows, by path and kind of change: members, secrets and texts.

    A member that is only tried again is declared as it was, and so is not among them.
    """
    changed = {
        name for name, each in member_changes(olds, news).items() if each is not MemberChange.NONE
    }
    found = {}
    for key in ("jobs", "secretData", "texts"):
        before, after = _declared(olds, key), _declared(news, key)
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name) and (key == "texts" or name in changed):
                kind = "UPDATE" if name in after else "DELETE"
                found[f"{key}[{json.dumps(name)}]"] = kind if name in before else "ADD"
    return found


def _declared(batch: JSONObject, key: str) -> JSONObject:
    """What both inputs and state have under a key, by member or by name of a text."""
    if key == "secretData":
        return batch.get(key) or {}
    hidden = SHOWN | {changes.DIGESTS}
    jobs = {name: without_keys(job, hidden) for name, job in (batch.get("jobs") or {}).items()}
    if key == "jobs":
        return jobs
    known = batch.get("texts") or {}
    return {name: known[name] for name in shared_texts.text_names(jobs) if name in known}


_BY_MEMBER: Final = frozenset({"jobs", "texts", "secretData", "members", "drift", "host"})


def _closed(job: JSONObject) -> dict[str, Any]:
    """The job with its objects as JSON texts.

    The engine logs each value once for every level that it is below, on each of its ways between
    processes; in a preview it takes such texts apart again, and shows the fields that differ.
    """

    def text(value: Any) -> Any:
        return json.dumps(value, separators=(",", ":")) if isinstance(value, Mapping) else value

    return _with_objects(job, text)


def _open(job: JSONObject) -> dict[str, Any]:
    """The inverse of `_closed`; a program gives the objects themselves."""
    return _with_objects(job, lambda value: json.loads(value) if isinstance(value, str) else value)


def _with_objects(job: JSONObject, change: Callable[[Any], Any]) -> dict[str, Any]:
    """The job with its runtime, and each object that is rendered, changed."""
    changed = {key: change(job[key]) for key in ("runtime",) if key in job}
    if "rendered" in job:
        changed["rendered"] = {role: change(each) for role, each in job["rendered"].items()}
    return {**job, **changed}


def _its_own(batch: JSONObject, job: JSONObject) -> dict[str, Any]:
    """What a batch keeps of a member; one that was born without plugins has none added."""
    own = without_keys(job, APART | (OBSERVED - {changes.DIGESTS}) | {"drift"})
    if not own.get("outputs"):
        own.pop("outputs", None)
    return own | ({"plugins": job.get("plugins") or []} if batch.get("plugins") else {})


def without_keys(properties: JSONObject, keys: Container[str]) -> dict[str, Any]:
    """The properties but for these."""
    return {key: each for key, each in properties.items() if key not in keys}


def entry_of(state: JSONObject) -> MemberEntry:
    """The entry in `members` of a member, of its state as a TrainJob."""
    keys = ("name", "namespace", "uid", "lastSeen", "owner")
    return MemberEntry({key: state[key] for key in keys})


def member_changes(olds: JSONObject, news: JSONObject) -> dict[str, MemberChange]:
    """What becomes of every member: those of the program in its order, then those left out."""
    before, known = members_of(olds), olds.get("members") or {}
    found = {
        name: _change(before.get(name), known.get(name) or {}, one)
        for name, one in members_of(news).items()
    }
    return found | {name: MemberChange.DELETE for name in known if name not in found}


def _change(old: JSONObject | None, known: JSONObject, new: JSONObject) -> MemberChange:
    if old is None or "uid" not in known:
        return MemberChange.SUBMIT
    if is_unknown(new):
        return MemberChange.REPLACE
    result = train_job_difference(old, new)
    if result.replaces:
        return MemberChange.REPLACE
    return MemberChange.UPDATE if result.changes or "error" in known else MemberChange.NONE


def same_names(jobs: Mapping[str, JSONObject]) -> Iterator[Problem]:
    """Problems of members whose runs would have one name."""
    taken: dict[str, str] = {}
    for member, job in jobs.items():
        # What is not a text has its own problem.
        first = taken.setdefault(f"{job.get('namespace')}/{job['name']}", member)
        if first != member:
            what = f"is the name of member {first!r} too"
            yield Problem("name", what, job["name"], "leave it out", f"jobs.{member}")


def member_lines(
    sentences: Iterable[tuple[str, str]], runs: Mapping[str, MemberEntry] = _NO_RUNS
) -> str:
    """Those members that have a sentence, one that several share once; the first ones, and how many more.

    Of a sentence with several lines the first says what it is about; names of `runs` make no other one of it.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    # The engine hands members over in any order.
    for member, sentence in sorted(filter(itemgetter(1), sentences), key=itemgetter(0)):
        name = runs[member].name if member in runs else ""
        about = sentence.partition("\n")[0].replace(name, "")
        groups.setdefault(about, []).append((member, sentence))
    alike = list(groups.values())
    lines = [f"{names_shown(name for name, _ in each)}: {each[0][1]}" for each in alike[:MOST]]
    if left := sum(map(len, alike[MOST:])):
        lines.append(f"and {left} more")
    return "\n".join(lines)


def member_problems(found: Iterable[tuple[str, Problem]], resource: str) -> Iterator[Problem]:
    """Problems of members, one that several share once, with the names of all of them.

    The names of the members' jobs, which make no other problem of it, begin with the batch's `resource`.
    """
    groups: dict[str, list[tuple[str, Problem]]] = {}
    for member, problem in sorted(found, key=itemgetter(0)):
        about = str(problem).replace(f"{resource}-{member}", "")
        groups.setdefault(about, []).append((member, problem))
    for alike in groups.values():
        where = f"jobs.{names_shown(member for member, _ in alike)}"
        first = alike[0][1]
        yield replace(first, where=f"{where}: {first.where}" if first.where else where)


def names_shown(members: Iterable[str]) -> str:
    """Members by name, of many the first ones and how many more there are; the engine has them in any order."""
    return listed(sorted(members), most=MOST)
