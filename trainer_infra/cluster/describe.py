"""Everything that a person wants to know of one run: the run itself, and what happened to it."""

from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.cluster import observe, run_lookup, secret_values
from trainer_infra.cluster.session import Session
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.causes.surroundings import time_of
from trainer_infra.runs.run import Run, RunKey


@dataclass(frozen=True, slots=True)
class RunEvent:
    """An event of the TrainJob or the JobSet, of one of its Jobs or of a pod."""

    time: str
    """When it happened last; RFC 3339."""
    type: str
    """`Normal` or `Warning`."""
    about: str
    """Kind and name, for example `Pod digits-node-0-0-x7k2p`."""
    reason: str
    """One word."""
    message: str
    """One sentence."""
    count: int
    """How often."""


@dataclass(frozen=True, slots=True)
class RunDescription:
    """A run with its history."""

    run: Run
    """As `get` has it; `status.jobsStatus` has the counts of each step."""
    events: tuple[RunEvent, ...]
    """The oldest first; Kubernetes keeps them for an hour."""


async def describe_run(session: Session, key: RunKey) -> RunDescription | None:
    """The run with its history; None when there is none of that name."""
    run = await run_lookup.at_one(session, key)
    if run is None:
        return None
    found = await observe.events_of(session, key.namespace, "")
    steps = tuple(f"{key.name}-{each['name']}-" for each in run.status.get("jobsStatus") or ())
    mine = (each for each in found if _is_of(key.name, steps, each["involvedObject"]))
    record = await session.store.present_record(session.client, key)
    hidden = await secret_values.secret_redaction(session, record)
    # An earlier run may have had the same name.
    happened = observe.events_since(mine, run.created)
    messages = (secret_values.event_message(each, record, hidden) for each in happened)
    return RunDescription(run, tuple(map(_happened, happened, messages)))


def _is_of(name: str, steps: tuple[str, ...], value: JSONObject) -> bool:
    """Whether an event is about the JobSet or the TrainJob, or about what is named after one of its steps."""
    about = str(value.get("name", ""))
    if value.get("kind") in {names.JOBSET, names.TRAIN_JOB}:
        return about == name
    return value.get("kind") in {"Job", "Pod"} and about.startswith(steps)


def _happened(event: JSONObject, message: str) -> RunEvent:
    about = event["involvedObject"]
    count = (event.get("series") or {}).get("count") or event.get("count") or 1
    return RunEvent(
        time=time_of(event),
        type=event.get("type") or "Normal",
        about=f"{about['kind']} {about['name']}",
        reason=event.get("reason") or "",
        message=message,
        count=count,
    )
