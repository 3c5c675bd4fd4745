"""`trainer-infra check`: policy rules on files, folders, stdin and clusters.

Reads everything first, judges once (with `--fix` until nothing is left that can be mended), and
writes every report at the end. What few checks need is imported where one needs it.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import gc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.cli import screen
from trainer_infra.cli.policy import CheckRequest
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review import check as checking
from trainer_infra.review import environments, inventory, source_objects, sources
from trainer_infra.review import report as reports
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.report import Report
from trainer_infra.review.source_objects import SourceObjects, SourceScope
from trainer_infra.rules import configuration
from trainer_infra.rules.configuration import Configuration, ResolvedConfiguration
from trainer_infra.rules.finding import Severity

if TYPE_CHECKING:
    from trainer_infra.cli.compared_revision import ComparedRevision
    from trainer_infra.review.live import Live

PASSED_OVER: Final = "Passed over, and so was not judged"
"""The title of what was."""
MANY: Final = 200
"""Documents from which on processes of their own are worth their start."""
PASSES: Final = 20
"""Most times that files are mended: patches that meet are made one after the other."""


@dataclass(frozen=True, slots=True)
class _MendingInputs:
    """What stays as it is while files are mended."""

    settled: ResolvedConfiguration
    stdin: SourceObjects
    """Which can be read once."""
    there: "Live | None"
    """What the cluster has; None where it was not read."""
    before: "ComparedRevision | None"
    known: tuple[Mark, ...]
    """Findings of the baseline."""
    wanted: SourceScope


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
        given = _given(asked)
        report = _report(asked, given)
        if asked.fix:
            report = _mended(asked, given, report)
        if asked.write_baseline:
            from trainer_infra.review import baseline

            _write(asked.write_baseline, baseline.baseline_text(report))
        for form, file in outputs:
            _write(file, FORMATS[form](report))
        if asked.form == "text":
            from trainer_infra.review import text

            shown = text.report_text(report, colour=screen.screen_of_stdout().colour)
        else:
            shown = FORMATS[asked.form](report)
        typer.echo(shown, nl=False)
        return report.exit_code()
    finally:
        gc.enable()


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


def _given(asked: CheckRequest) -> _MendingInputs:
    settled = _settled(asked)
    there: Live | None = None
    before: ComparedRevision | None = None
    known: tuple[Mark, ...] = ()
    if asked.cluster:
        # It loads a client of a cluster.
        from trainer_infra.review import live

        there = live.read_live(asked.kubeconfig, asked.context)
        # What a cluster does not have either is nowhere.
        settled = settled if there.problems else replace(settled, is_whole=True)
    exclusion = Exclusion.of((*settled.exclude, *(asked.exclude or ())))
    wanted = SourceScope(tuple(asked.values or ()), exclusion, settled.charts)
    stdin = sources.read_sources(
        [each for each in asked.paths or () if each == source_objects.STDIN]
    )
    if asked.changed_from:
        from trainer_infra.cli import compared_revision

        ref = asked.changed_from
        before = compared_revision.compared_revision(ref, asked, settled, wanted)
    if asked.baseline:
        from trainer_infra.review import baseline

        known = baseline.read_baseline(asked.baseline)
    return _MendingInputs(settled, stdin, there, before, known, wanted)


def _settled(asked: CheckRequest) -> ResolvedConfiguration:
    file, found, pack = asked.policy_file(), Configuration(), None
    try:
        if file:
            text = Path(file).read_bytes().decode("utf-8")
            found = configuration.read_configuration(text, file)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("", f"cannot be read: {error}", where=file or "")]) from None
    if asked.pack:
        from trainer_infra.review import pack_folder

        pack = pack_folder.find_pack(asked.pack).pack
    return configuration.resolve_configuration(found, asked.environment, pack)


def _read(asked: CheckRequest, given: _MendingInputs) -> SourceObjects:
    """All objects of the paths, each once."""
    return source_objects.joined_sources(
        given.stdin if each == source_objects.STDIN else sources.read_sources([each], given.wanted)
        for each in asked.paths or ()
    )


def _report(asked: CheckRequest, given: _MendingInputs) -> Report:
    found, there, before = _read(asked, given), given.there, given.before
    judged = there.documents() if there and not asked.paths else found.documents
    judged = environments.documents_of(asked.environment, judged, given.settled.folders)
    report = checking.check_documents(
        judged,
        checking.CheckScope(
            settled=given.settled,
            today=datetime.now(UTC).date(),
            fail_on=Severity(asked.fail_on or given.settled.pack.mandatory_from),
            baseline=given.known,
            others=there.objects if there and asked.paths else (),
            problems=(*found.problems, *(there.problems if there else ())),
            is_judged={} if before is None else before.is_judged(judged),
        ),
        _spread(len(judged)),
    )
    notes = dict(report.notes)
    passed_over = "\n".join(inventory.passed_over_lines(found.files))
    if passed_over:
        notes[PASSED_OVER] = passed_over
    if before is not None:
        notes |= before.notes(judged)
    return replace(
        report,
        baseline=asked.baseline or "",
        shown_from=Severity(asked.show),
        notes=notes,
        inventory=found.files,
        problems=(*report.problems, *_nothing(report, found, has_base=before is not None)),
    )


def _nothing(report: Report, found: SourceObjects, *, has_base: bool) -> Sequence[str]:
    """The problem that nothing was judged; none where nothing has changed.

    What is excluded has not been compared.
    """
    is_compared = has_base and (
        found.documents or all(each.why != source_objects.EXCLUDED for each in found.files)
    )
    return () if report.objects or report.problems or is_compared else (reports.NOTHING,)


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
