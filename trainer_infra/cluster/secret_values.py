"""The values of a run's own Secret, read so that they can be hidden in what its pods printed.

The record does not have them, and a gate has no state: they are read from the Secret itself. Where
it cannot be read, what a program printed is not shown.
"""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import object_writes
from trainer_infra.cluster.run_store import Record
from trainer_infra.cluster.session import Session
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import SECRET
from trainer_infra.runs import reports
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.run import Run, RunKey
from trainer_infra.runs.view import Observation
from trainer_infra.secret_texts.forms import decoded_text

NOTHING: Final = Redaction()
"""Of a run without a Secret of its own."""
QUOTING: Final = frozenset({"Unhealthy", "ProbeWarning"})
"""Reasons of events in which the kubelet quotes what a probe printed."""


async def secret_redaction(session: Session, record: Record) -> Redaction | None:
    """What is to be hidden; None where it cannot be read."""
    if not any(object_writes.is_own_secret(each, record.name) for each in record.objects):
        return NOTHING
    name = f"{record.name}{names.SECRET_SUFFIX}"
    read = partial(session.client.get, SECRET, name, record.namespace)
    with suppress(Answer):
        return _of_secret(await session.cache.answer(("secret", record.namespace, name), read))
    return None


def _of_secret(value: JSONObject) -> Redaction:
    """Values of a Secret; of one that is not a text no spelling can be known."""
    data = value.get("data") or {}
    return Redaction.of({key: decoded_text(each) for key, each in data.items()})


def without_quotes(seen: Observation) -> Observation:
    """What is seen of a run, without what its program printed and statuses quote."""
    return replace(seen, pods=tuple(map(reports.with_reports_alone, seen.pods)))


def event_message(event: JSONObject, record: Record, known: Redaction | None) -> str:
    """What an event says, without values of the run's secrets."""
    if known is None and event.get("reason") in QUOTING:
        return lines_left_out(record.key)
    return (known or NOTHING).text(event.get("message") or "")


def without_lines(run: Run) -> Run:
    """The run with a sentence in place of the last lines of the pod that failed."""
    if run.failure is None:
        return run
    said = (lines_left_out(run.key),)
    return replace(run, failure=replace(run.failure, last_lines=said))


def lines_left_out(key: RunKey) -> str:
    """Why lines of a run are not shown."""
    return (
        f"(lines are left out: they may hold values of Secret {key.namespace}/{key.name}"
        f"{names.SECRET_SUFFIX}, which could not be read to hide them; "
        f"it needs the right to get secrets in namespace {key.namespace})"
    )
