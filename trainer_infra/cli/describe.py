"""`trainer-infra describe`: everything that is known of a run, for a person.

In the order in which one asks: what it is, why it does not go on, how far each step and node is,
how it failed, what the cluster said. A program reads `get -o json` instead.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.cli import get, named_runs, screen, shown_settings, table
from trainer_infra.cli.screen import PHASES, Screen
from trainer_infra.cli.table import Column
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import NotAvailable
from trainer_infra.runs import failure_advice, preemption_cost, sentences
from trainer_infra.runs.causes import attempt_ends
from trainer_infra.runs.run import FINISHED, Run, RunKey

if TYPE_CHECKING:
    from trainer_infra.cluster.describe import RunEvent

MESSAGE: Final = Column("MESSAGE", folds=True)
CONDITIONS: Final = (
    Column("TYPE", styles=PHASES),
    Column("STATUS"),
    Column("REASON"),
    Column("AGE"),
    MESSAGE,
)
ATTEMPTS: Final = (
    *map(Column, ("ATTEMPT", "BEGAN", "TOOK", "STEPS", "LOST")),
    Column("ENDED BY", folds=True),
)
EVENTS: Final = (
    Column("AGE"),
    Column("TYPE", styles={"Warning": "yellow"}),
    Column("REASON"),
    Column("ABOUT"),
    Column("COUNT"),
    MESSAGE,
)
INDENT: Final = "  "


def show(place: RunPlace, name: str) -> None:
    """Print the run of the place's namespace that is meant by a name."""
    shown = screen.screen_of_stdout()
    if place.cluster is None:
        typer.echo("\n".join(_whole(place, named_runs.known_run(place, name), shown)))
        return
    key = partial(RunKey, place.namespace)
    found = place.cluster.described(key(name)) if named_runs.is_name(name) else None
    found = found or place.cluster.described(key(named_runs.likely_name(place, name)))
    if found is None:
        raise NotAvailable(named_runs.missing_run(place, name))
    events = _section("Events", _events(found.events, shown))
    typer.echo("\n".join((*_whole(place, found.run, shown), *events)))
    if unseen := place.cluster.unseen(place.namespace):
        typer.echo(f"warning: {unseen}", err=True)


def _whole(place: RunPlace, run: Run, shown: Screen) -> Iterator[str]:
    inside = shown.indented(len(INDENT))
    facts = _facts(place, run)
    known_facts = {name: value for name, value in facts.items() if value}
    width = max(map(len, known_facts)) + 1
    for name, value in known_facts.items():
        style = PHASES.get(value, "") if name == "Phase" else ""
        yield f"{f'{name}:'.ljust(width)}  {shown.paint(value, style)}"
    yield from _section("Drift", (f"{where}: {what}" for where, what in run.drift.items()))
    yield from _section("Conditions", _conditions(run, inside))
    if run.status.get("jobsStatus"):
        yield from _section("Steps", get.step_rows(run, inside))
    yield from _section("Attempts", attempt_rows(run, inside))
    if run.nodes:
        yield from _section("Nodes", get.node_rows(run, inside))
    yield from _section("Failure", _failure(run))


def _facts(place: RunPlace, run: Run) -> Mapping[str, str]:
    percent = sentences.percent_done(run)
    return {
        "Name": run.name,
        "Namespace": run.namespace,
        "UID": run.uid,
        "Target": f"{place.kind}, {run.host}",
        "Declared by": run.owner.shown(),
        "Phase": run.phase,
        "Waits for": "" if run.stuck else sentences.waits_for(run),
        "Stuck": run.stuck,
        "Reason": run.reason,
        "Message": run.message,
        "Created": run.created,
        "Started": run.started,
        "Finished": run.finished,
        "Ran for": sentences.time_between(run.started, run.finished) if run.started else "",
        "Progress": "" if percent is None else f"{percent}%",
        "Remaining": sentences.remaining_time(run),
        "Attempts": run.attempts.wholly(),
        "Preemption": "" if run.phase in FINISHED else preemption_cost.cost_sentence(run.settings),
        "Interval": preemption_cost.interval_advice(run.settings),
        "Metrics": sentences.metrics_line(sentences.last_metrics(run)),
        "Outputs": sentences.metrics_line(run.outputs),
        "Code": run.code_origin,
        **shown_settings.settings_facts(run),
    }


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    """A title and what is below it; nothing where there is nothing."""
    found = list(lines)
    if found:
        yield from ("", f"{title}:", *(f"{INDENT}{line}" for line in found))


def _conditions(run: Run, shown: Screen) -> Iterator[str]:
    found = run.status.get("conditions") or ()
    rows = [
        (
            *(each["type"], each["status"], each.get("reason", "")),
            _age(each.get("lastTransitionTime")),
            each.get("message", ""),
        )
        for each in found
    ]
    return table.table_lines(CONDITIONS, rows, shown) if rows else iter(())


def attempt_rows(run: Run, shown: Screen) -> Iterator[str]:
    """A row for each of the last attempts, of a run that had several."""
    rows = [
        (
            str(each.number),
            f"{each.began[:19]}Z",
            sentences.time_between(each.began, each.ended),
            f"{each.first}..{each.last}",
            str(each.lost or ""),
            attempt_ends.why(each, run.attempts, run.phase),
        )
        for each in (run.attempts.last if run.attempts.total > 1 else ())
    ]
    return table.table_lines(ATTEMPTS, rows, shown) if rows else iter(())


def _failure(run: Run) -> Iterator[str]:
    if run.failure is None:
        return
    code = "" if run.failure.exit_code is None else f", exit code {run.failure.exit_code}"
    yield f"pod {run.failure.pod}: {run.failure.reason}{code}"
    if run.failure.last_lines:
        yield from ("the last lines:", *(f"  {line}" for line in run.failure.last_lines))
    if said := failure_advice.advice(run.message, run.failure.last_lines):
        yield said


def _events(found: "Sequence[RunEvent]", shown: Screen) -> Iterator[str]:
    """The newest last, next to where a person goes on reading."""
    rows = [
        (_age(each.time), each.type, each.reason, each.about, str(each.count), each.message)
        for each in found
    ]
    return table.table_lines(EVENTS, rows, shown.indented(len(INDENT))) if rows else iter(())


def _age(time: str | None) -> str:
    return sentences.time_between(time) if time else ""
