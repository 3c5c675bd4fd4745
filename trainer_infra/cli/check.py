"""`trainer-infra check`: policy rules on files, folders, stdin and clusters.

Reads everything first, judges once (with `--fix` until nothing is left that can be mended), and
writes every report at the end. What few checks need is imported where one needs it.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.cli import judge, screen
from trainer_infra.cli.judge import FilesHere, Judge
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
class _MendingInputs:
    """What stays as it is while files are mended."""

    judge: Judge
    stdin: SourceObjects
    """Which can be read once."""
    there: "Live | None"
    """What the cluster has; None where it was not read."""
    before: "ComparedRevision | None"
    span: "Span | None" = None
    """The change; None where all is judged."""
    named: tuple[str, ...] | None = None
    """The files whose objects are judged; None for all."""
    application: "Application | None" = None
    """What is built as a tool would; None where all that stands in a folder is judged."""
    judged: list[Document] = field(default_factory=list)
    """What was judged."""


def run(asked: CheckRequest) -> int:
    """Check, write the reports; the exit code.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
        NotAvailable: There is no such revision or cluster, or a file cannot be written.
        Refused: The cluster does not know the user.
        typer.BadParameter: An `--output` is not FORMAT=FILE.
    """
    outputs = [_output(each) for each in asked.output or ()]
    asked, files = _split(asked)
    # What a check makes is of use until its end: looking for rubbish takes as long as the check.
    gc.disable()
    try:
        given = _given(asked, files)
        report = _report(asked, given)
        if asked.fix:
            report = _mended(asked, given, report)
        if asked.write_baseline:
            from trainer_infra.review import baseline

            _write(asked.write_baseline, baseline.baseline_text(report))
        for form, file in outputs:
            _write(file, FORMATS[form](report))
        _show(asked, report)
        if asked.print_objects and report.exit_code() == 0:
            from trainer_infra.review import application

            typer.echo(application.objects_text(given.judged), nl=False)
        return report.exit_code()
    finally:
        gc.enable()


def _split(asked: CheckRequest) -> tuple[CheckRequest, tuple[str, ...]]:
    """The request, and the files of a hook whose objects alone may be meant."""
    if asked.deployed_by and (asked.changed_from or asked.pre_commit):
        raise typer.BadParameter("--deployed-by judges all that is applied, and no change alone")
    if not asked.pre_commit:
        return asked, ()
    from trainer_infra.cli import pre_commit

    return pre_commit.split_paths(asked)


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


def _given(asked: CheckRequest, files: tuple[str, ...]) -> _MendingInputs:
    chosen = judge.judge_of(asked, FilesHere())
    there: Live | None = None
    before: ComparedRevision | None = None
    stdin = sources.read_sources(
        [each for each in asked.paths or () if each == source_objects.STDIN]
    )
    span, named = _change(asked, files)
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
    asked_for: Application | None = None
    if asked.deployed_by:
        from trainer_infra.review import application

        asked_for = application.application_of(asked.deployed_by, os.environ)
    return _MendingInputs(chosen, stdin, there, before, span, named, asked_for)


def _change(
    asked: CheckRequest, files: tuple[str, ...]
) -> "tuple[Span | None, tuple[str, ...] | None]":
    """The change that is judged, or the files; None for all."""
    if asked.changed_from:
        from trainer_infra.review.revision import Span

        return Span(asked.changed_from), None
    if asked.pre_commit:
        from trainer_infra.cli import pre_commit

        return pre_commit.asked_change(files, os.environ)
    return None, None


def _read(asked: CheckRequest, given: _MendingInputs) -> SourceObjects:
    """All objects of the paths, each once."""
    wanted = given.judge.scope(asked.values or ())
    if given.span and given.span.now:
        from trainer_infra.review import changed_files

        return changed_files.objects_now(asked.paths or (), given.span, wanted)
    return source_objects.joined_sources(
        given.stdin if each == source_objects.STDIN else _read_path(each, given, wanted)
        for each in asked.paths or ()
    )


def _read_path(path: str, given: _MendingInputs, wanted: SourceScope) -> SourceObjects:
    if given.application is None:
        return sources.read_sources([path], wanted)
    from trainer_infra.review import application

    return application.read_applied(path, given.application, wanted)


def _report(asked: CheckRequest, given: _MendingInputs) -> Report:
    found, before = _read(asked, given), given.before
    judged = _documents(asked, given, found)
    given.judged[:] = judged
    problems, unread = (found.problems, {}) if before is None else before.split(found.problems)
    scope = _scope(asked, given, problems)
    if given.named is not None:
        from trainer_infra.review import changed_files

        scope = replace(scope, reach=changed_files.of_files(judged, given.named))
    if before is None:
        report = checking.check_documents(judged, scope, _spread(len(judged)))
    else:
        report = _of_change(judged, scope, before)
    notes = {**report.notes, **unread}
    passed_over = "\n".join(inventory.passed_over_lines(found.files))
    if passed_over:
        notes[PASSED_OVER] = passed_over
    if before is not None:
        notes |= {**before.notes(judged), **_policy_note(asked, given, before)}
    file = given.judge.file
    if os.pardir in Path(file).parts and not asked.config:
        notes[CONFIGURATION] = file
    return replace(
        report,
        baseline=asked.baseline or "",
        shown_from=Severity(asked.show),
        notes=notes,
        paths=_paths(report),
        inventory=found.files,
        problems=(*report.problems, *_nothing(report, found, given)),
    )


def _nothing(report: Report, found: SourceObjects, given: _MendingInputs) -> Sequence[str]:
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


def _documents(
    asked: CheckRequest, given: _MendingInputs, found: SourceObjects
) -> tuple[Document, ...]:
    """The objects of the environment that is checked."""
    there, settled = given.there, given.judge.settled
    judged = there.documents() if there and not asked.paths else found.documents
    return environments.documents_of(asked.environment, judged, settled.folders, settled.root)


def _scope(
    asked: CheckRequest, given: _MendingInputs, problems: tuple[str, ...]
) -> checking.CheckScope:
    there, settled = given.there, given.judge.settled
    return checking.CheckScope(
        settled=settled,
        today=datetime.now(UTC).date(),
        fail_on=Severity(asked.fail_on or settled.pack.mandatory_from),
        baseline=given.judge.known,
        others=there.objects if there and asked.paths else (),
        problems=(*problems, *(there.problems if there else ())),
    )


def _of_change(
    judged: Sequence[Document], scope: checking.CheckScope, before: "ComparedRevision"
) -> Report:
    """The report on what a change makes: of unchanged objects, what others make of them."""
    from trainer_infra.review import changed_files

    reach = before.reach(judged)
    report = checking.check_documents(judged, replace(scope, reach=reach), _spread(len(judged)))
    if not report.unseen and not any(each.is_unchanged for each in report.items):
        return report
    is_whole = scope.settled.is_whole
    then = replace(before.settled, is_whole=is_whole)
    left = replace(scope, settled=then, reach=before.left(judged, report), problems=())
    there = checking.check_documents(before.documents, left, _spread(len(before.documents)))
    return changed_files.without_known(report, there)


def _policy_note(
    asked: CheckRequest, given: _MendingInputs, before: "ComparedRevision"
) -> dict[str, str]:
    """What another policy would say of all objects, where the change brings one."""
    if before.proposed is None:
        return before.policy_note(None, None)
    reports = []
    for each in (before.judge, before.proposed):
        by_it = replace(given, judge=each, before=None)
        found = _read(asked, by_it)
        judged = _documents(asked, by_it, found)
        scope = _scope(asked, by_it, ())
        reports.append(checking.check_documents(judged, scope, _spread(len(judged))))
    return before.policy_note(*reports)


def _spread(documents: int) -> checking.Spread:
    """What goes through so many documents: few are judged before other processes have begun."""
    if documents < MANY:
        return checking.one_by_one
    from trainer_infra.review import processes  # it loads Python's, in 40 ms

    return processes.spread_work


def _mended(asked: CheckRequest, given: _MendingInputs, report: Report) -> Report:
    """The report on files that were mended as far as it can be done safely."""
    from trainer_infra.review import fix

    written: dict[str, None] = {}
    for _ in range(PASSES):
        files = fix.write_fixes(each for each in report.items if each.counts)
        if not files:
            break
        written |= dict.fromkeys(files)
        report = _report(asked, given)
    for each in written:
        typer.echo(f"mended {each}", err=True)
    return report
