"""`trainer-infra check`: policy rules on files, folders, stdin and clusters.

Reads everything first, judges once (with `--fix` until nothing is left that can be mended), and
writes every report at the end. What few checks need is imported where one needs it.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.cli import judge, screen
from trainer_infra.cli.judge import Judge, PolicyFiles
from trainer_infra.cli.policy import CheckRequest
from trainer_infra.errors import NotAvailable
from trainer_infra.review import check as checking
from trainer_infra.review import environments, inventory, source_objects, sources
from trainer_infra.review import report as reports
from trainer_infra.review.documents import Document
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Report
from trainer_infra.review.source_objects import SourceObjects, SourceScope
from trainer_infra.rules.finding import Severity

if TYPE_CHECKING:
    from trainer_infra.cli.compared_revision import ComparedRevision
    from trainer_infra.review.application import Application
    from trainer_infra.review.live import Live
    from trainer_infra.review.revision import Span

PASSED_OVER: Final = "Passed over, and so was not judged"
"""The title of what was."""
CONFIGURATION: Final = "The configuration, from a folder above"
MANY: Final = 200
"""Documents from which on processes of their own are worth their start."""
PASSES: Final = 20
"""Most times that files are mended: patches that meet are made one after the other."""


@dataclass(frozen=True, slots=True)
class _Given:
    """What stays as it is while files are mended."""

    judge: Judge
    stdin: SourceObjects
    """Which can be read once."""
    there: "Live | None"
    """What the cluster has; None where it was not read."""
    before: "ComparedRevision | None"
    """What a change is compared with; None where all is judged."""
    named: tuple[str, ...] | None
    """The files whose objects are judged; None for all."""
    application: "Application | None"
    """What is built as a tool would; None where all that stands in a folder is judged."""


def run(asked: CheckRequest) -> int:
    """Check, write the reports; the exit code.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
        NotAvailable: There is no such revision or cluster, or a file cannot be written.
        Refused: The cluster does not know the user.
        typer.BadParameter: An `--output` is not FORMAT=FILE.
    """
    outputs = [_output(each) for each in asked.output or ()]
    # What a check makes is of use until its end: looking for rubbish takes as long as the check.
    gc.disable()
    try:
        asked, given = _given(asked)
        report, judged = _report(asked, given)
        if asked.fix:
            report, judged = _mended(asked, given, report, judged)
        if asked.write_baseline:
            from trainer_infra.review import baseline

            _write(asked.write_baseline, baseline.baseline_text(report))
        for form, file in outputs:
            _write(file, FORMATS[form](report))
        _show(asked, report)
        if asked.print_objects and report.exit_code() == 0:
            from trainer_infra.review import application

            typer.echo(application.objects_text(judged), nl=False)
        return report.exit_code()
    finally:
        gc.enable()


def _show(asked: CheckRequest, report: Report) -> None:
    """The report on stdout; on stderr where the objects are for stdout."""
    if asked.form == "text":
        from trainer_infra.review import text

        shown = text.report_text(report, colour=screen.screen_of_stdout().colour)
    else:
        shown = FORMATS[asked.form](report)
    typer.echo(shown, nl=False, err=asked.print_objects)


def _output(given: str) -> tuple[str, str]:
    """The format and the file of an `--output`."""
    form, _, file = given.partition("=")
    if not file or form not in FORMATS:
        known = ", ".join(FORMATS)
        raise typer.BadParameter(f"--output {given}: must be FORMAT=FILE, FORMAT one of {known}")
    return form, file


def _write(file: str, words: str) -> None:
    try:
        Path(file).write_text(words, encoding="utf-8")
    except OSError as error:
        raise NotAvailable(f"{file}: cannot be written: {error.strerror}") from None


def _given(asked: CheckRequest) -> tuple[CheckRequest, _Given]:
    """What holds for the whole check, and the request with paths for what a hook names."""
    asked, span, named = _change(asked)
    chosen = judge.judge_of(asked, PolicyFiles())
    stdin = sources.read_sources(
        [each for each in asked.paths or () if each == source_objects.STDIN]
    )
    before: ComparedRevision | None = None
    there: Live | None = None
    asked_for: Application | None = None
    if span is not None:
        from trainer_infra.cli import compared_revision

        before = compared_revision.compared_revision(span, asked, chosen)
        chosen = before.judge
    if asked.cluster:
        # It loads a client of a cluster.
        from trainer_infra.review import live

        there = live.read_live(asked.kubeconfig, asked.context)
        if not there.problems:
            # What a cluster does not have either is nowhere.
            chosen = replace(chosen, settled=replace(chosen.settled, is_whole=True))
    if asked.deployed_by:
        from trainer_infra.review import application

        asked_for = application.application_of(asked.deployed_by, os.environ)
    return asked, _Given(chosen, stdin, there, before, named, asked_for)


def _change(asked: CheckRequest) -> "tuple[CheckRequest, Span | None, tuple[str, ...] | None]":
    """The request, with the change that is judged, or the files of a hook; None for all."""
    if asked.deployed_by and (asked.changed_from or asked.pre_commit):
        raise typer.BadParameter("--deployed-by judges all that is applied, and no change alone")
    span: Span | None = None
    named: tuple[str, ...] | None = None
    if asked.pre_commit:
        from trainer_infra.cli import pre_commit

        asked, span, named = pre_commit.asked_change(asked, os.environ)
    if asked.changed_from:
        from trainer_infra.review import revision

        span, named = revision.Span(asked.changed_from), None
    return asked, span, named


def _read(
    asked: CheckRequest, given: _Given, by: Judge
) -> tuple[SourceObjects, Sequence[Document]]:
    """All objects of the paths, each once, and those of the environment that is checked."""
    wanted, there, settled = by.scope(asked.values or ()), given.there, by.settled
    if given.before and given.before.span.now:
        from trainer_infra.review import changed_files

        found = changed_files.objects_now(asked.paths or (), given.before.span, wanted)
    else:
        parts = (_read_path(each, given, wanted) for each in asked.paths or ())
        found = source_objects.joined_sources(parts)
    judged = there.documents() if there and not asked.paths else found.documents
    environment = asked.environment
    return found, environments.documents_of(environment, judged, settled.folders, settled.root)


def _read_path(path: str, given: _Given, wanted: SourceScope) -> SourceObjects:
    if path == source_objects.STDIN:
        return given.stdin
    if given.application is None:
        return sources.read_sources([path], wanted)
    from trainer_infra.review import application

    return application.read_applied(path, given.application, wanted)


def _report(asked: CheckRequest, given: _Given) -> tuple[Report, Sequence[Document]]:
    """The report, and the objects that it is about."""
    before = given.before
    found, judged = _read(asked, given, given.judge)
    problems, unread = before.split(found.problems) if before else (found.problems, {})
    scope = _scope(asked, given, given.judge, problems)
    of_change: dict[str, str] = {}
    if before is not None:
        report = before.report(judged, scope, _checked)
        of_change = before.notes(judged, lambda by: _report_by(asked, given, by))
    elif given.named is not None:
        from trainer_infra.review import changed_files

        reach = changed_files.of_files(judged, given.named)
        report = _checked(judged, replace(scope, reach=reach))
    else:
        report = _checked(judged, scope)
    is_above = os.pardir in Path(given.judge.file).parts and not asked.config
    notes = {
        **report.notes,
        **unread,
        PASSED_OVER: "\n".join(inventory.passed_over_lines(found.files)),
        **of_change,
        CONFIGURATION: given.judge.file if is_above else "",
    }
    report = replace(
        report,
        baseline=asked.baseline or "",
        shown_from=Severity(asked.show),
        notes={title: note for title, note in notes.items() if note},
        paths=_paths(report),
        inventory=found.files,
        problems=(*report.problems, *_nothing(report, found, given)),
    )
    return report, judged


def _report_by(asked: CheckRequest, given: _Given, by: Judge) -> Report:
    """The report of a judge on all objects."""
    _, judged = _read(asked, given, by)
    return _checked(judged, _scope(asked, given, by, ()))


def _nothing(report: Report, found: SourceObjects, given: _Given) -> Sequence[str]:
    """The problem that nothing was judged; none where nothing has changed, or no file of a hook has an object.

    What is excluded has not been compared.
    """
    is_compared = given.named is not None or (
        given.before is not None
        and (found.documents or all(each.why != source_objects.EXCLUDED for each in found.files))
    )
    is_judged = report.objects or report.unchanged or report.problems
    return () if is_judged or is_compared else (reports.NOTHING,)


def _paths(report: Report) -> dict[str, str]:
    """Files of a report, as paths from the repository's folder; whole ones where they are outside."""
    top, below = judge.path_of_folder()
    files = {each.place.file for each in report.items} | {*report.files}
    files |= {edit.file for each in report.items for edit in each.edits}
    found = {each: os.path.normpath(Path(top, below, each)) for each in files}
    inside = f"{top}{os.sep}"
    return {
        file: path.removeprefix(inside)
        for file, path in found.items()
        # What was read from a pipe or a cluster is no file.
        if path.removeprefix(inside) != file and os.path.lexists(path)
    }


def _scope(
    asked: CheckRequest, given: _Given, by: Judge, problems: Sequence[str]
) -> checking.CheckScope:
    there = given.there
    return checking.CheckScope(
        settled=by.settled,
        today=datetime.now(UTC).date(),
        fail_on=Severity(asked.fail_on or by.settled.pack.mandatory_from),
        baseline=by.known,
        others=there.objects if there and asked.paths else (),
        problems=(*problems, *(there.problems if there else ())),
    )


def _checked(documents: Sequence[Document], scope: checking.CheckScope) -> Report:
    """The report on documents; few are judged before other processes have begun."""
    spread: checking.Spread = checking.one_by_one
    if len(documents) >= MANY:
        from trainer_infra.review import processes  # it loads Python's, in 40 ms

        spread = processes.spread_work
    return checking.check_documents(documents, scope, spread)


def _mended(
    asked: CheckRequest, given: _Given, report: Report, judged: Sequence[Document]
) -> tuple[Report, Sequence[Document]]:
    """The report on files that were mended as far as it can be done safely."""
    from trainer_infra.review import fix

    written: dict[str, None] = {}
    for _ in range(PASSES):
        files = fix.write_fixes(each for each in report.items if each.counts)
        if not files:
            break
        written |= dict.fromkeys(files)
        report, judged = _report(asked, given)
    for each in written:
        typer.echo(f"mended {each}", err=True)
    return report, judged
