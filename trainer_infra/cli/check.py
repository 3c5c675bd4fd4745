"""`trainer-infra check`: policy rules on files, folders, stdin and clusters.

Reads everything first, judges once (with `--fix` until nothing is left that can be mended), and
writes every report at the end. What few checks need is imported where one needs it.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import gc
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.cli import screen
from trainer_infra.cli.check_request import CheckRequest
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review import check as checking
from trainer_infra.review import environments, sources
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.report import Report
from trainer_infra.review.sources import SourceObjects
from trainer_infra.rules import configuration
from trainer_infra.rules.configuration import Configuration, ResolvedConfiguration
from trainer_infra.rules.finding import Severity

if TYPE_CHECKING:
    from trainer_infra.cli.compared_revision import ComparedRevision
    from trainer_infra.review.live import Live

EXCLUDED: Final = "Files and folders that are excluded"
PASSED_OVER: Final = "Passed over, and so was not judged"
"""The title of how many there are."""
MANY: Final = 200
"""Documents from which on processes of their own are worth their start."""
PASSES: Final = 20
"""Most times that files are mended: patches that meet are made one after the other."""


class Usage(Exception):
    """The options do not go together; the message says what to write."""


@dataclass(frozen=True, slots=True)
class _MendingInputs:
    """What stays as it is while files are mended."""

    settled: ResolvedConfiguration
    """Pack, pools and exemptions."""
    stdin: SourceObjects
    """The objects of stdin, which can be read once."""
    there: "Live | None"
    """What the cluster has; None where it was not read."""
    before: "ComparedRevision | None"
    """The revision to compare with; None where there is none."""
    known: tuple[Mark, ...]
    """Findings of the baseline."""
    exclusion: Exclusion
    """What is left out."""


def outputs(given: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The formats and files of `--output`.

    Raises:
        Usage: One is not FORMAT=FILE.
    """
    found = []
    for each in given:
        form, sign, file = each.partition("=")
        if not sign or not file or form not in FORMATS:
            raise Usage(f"--output {each}: must be FORMAT=FILE, FORMAT one of {', '.join(FORMATS)}")
        found.append((form, file))
    return tuple(found)


def run(asked: CheckRequest) -> int:
    """Check, write the reports; the exit code.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
        NotAvailable: There is no such revision or cluster, or a file cannot be written.
        Refused: The cluster does not know the user.
    """
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
        for form, file in asked.outputs:
            _write(file, FORMATS[form](report))
        typer.echo(_shown(asked, report), nl=False)
        return report.exit_code()
    finally:
        gc.enable()


def _write(file: str, words: str) -> None:
    try:
        Path(file).write_text(words, encoding="utf-8")
    except OSError as error:
        raise NotAvailable(f"{file}: cannot be written: {error.strerror}") from None


def _shown(asked: CheckRequest, report: Report) -> str:
    if asked.form == "text":
        from trainer_infra.review import text

        return text.report_text(report, colour=screen.screen_of_stdout().colour)
    return FORMATS[asked.form](report)


def _given(asked: CheckRequest) -> _MendingInputs:
    settled, there = _settled(asked), _there(*asked.cluster) if asked.cluster else None
    if there and not there.problems:
        # What a cluster does not have either is nowhere.
        settled = replace(settled, is_whole=True)
    exclusion = Exclusion.of((*settled.exclude, *asked.exclude))
    return _MendingInputs(
        settled,
        sources.read_sources([each for each in asked.paths if each == sources.STDIN]),
        there,
        _before(asked, settled, exclusion),
        _known(asked),
        exclusion,
    )


def _before(
    asked: CheckRequest, settled: ResolvedConfiguration, exclusion: Exclusion
) -> "ComparedRevision | None":
    """The revision to compare with; None where there is none."""
    if not asked.changed_from:
        return None
    from trainer_infra.cli import compared_revision

    return compared_revision.compared_revision(asked.changed_from, asked, settled, exclusion)


def _known(asked: CheckRequest) -> tuple[Mark, ...]:
    """Findings of the baseline."""
    if not asked.baseline:
        return ()
    from trainer_infra.review import baseline

    return baseline.read_baseline(asked.baseline)


def _settled(asked: CheckRequest) -> ResolvedConfiguration:
    file = asked.policy_file()
    found = _configuration(file) if file else Configuration()
    pack = None
    if asked.pack:
        from trainer_infra.review import pack_folder

        pack = pack_folder.find_pack(asked.pack).pack
    return configuration.resolve_configuration(found, asked.environment, pack)


def _configuration(file: str) -> Configuration:
    try:
        return configuration.read_configuration(Path(file).read_bytes().decode("utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("", f"cannot be read: {error}", where=file)]) from None


def _read(asked: CheckRequest, given: _MendingInputs) -> SourceObjects:
    """All objects of the paths, each once."""
    return sources.joined_sources(
        given.stdin
        if each == sources.STDIN
        else sources.read_sources([each], asked.values, given.exclusion)
        for each in asked.paths
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
    left_out = {EXCLUDED: str(len(found.excluded))} if found.excluded else {}
    if found.passed_over:
        left_out[PASSED_OVER] = "\n".join(found.passed_over)
    report = replace(
        report,
        baseline=asked.baseline or "",
        shown_from=Severity(asked.show),
        notes={**report.notes, **left_out},
    )
    if before is None:
        return report
    return replace(report, notes={**report.notes, **before.notes(judged)})


def _spread(documents: int) -> checking.Spread:
    """What goes through so many documents: few are judged before other processes have begun."""
    if documents < MANY:
        return checking.one_by_one
    from trainer_infra.review import processes  # it loads Python's, in 40 ms

    return processes.spread_work


def _there(kubeconfig: str | None, context: str | None) -> "Live":
    """What the cluster has. A check of files needs no client of a cluster."""
    from trainer_infra.review import live  # it loads one

    return live.read_live(kubeconfig, context)


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
