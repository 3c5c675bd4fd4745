"""`trainer-infra check`: policy rules on files, folders, stdin and clusters.

Called by `policy`. Reads everything first, judges once (with `--fix` until nothing is left that can be
mended), and writes every report at the end.
"""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import (
    baseline,
    changed,
    costs,
    fix,
    pack_folder,
    sources,
    text,
)
from trainer_infra.review import check as checking
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Report
from trainer_infra.rules import configuration
from trainer_infra.rules.configuration import Configuration, Settled
from trainer_infra.rules.finding import Severity

if TYPE_CHECKING:
    from trainer_infra.review.live import Live

USUAL: Final = "trainer-policy.yaml"
"""The configuration that is read where none is named and this one is there."""
PASSES: Final = 20
"""Most times that files are mended: patches that meet are made one after the other."""


class Usage(Exception):
    """The options do not go together; the message says what to write."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The options."""

    paths: tuple[str, ...]
    pack: str | None
    config: str | None
    environment: str | None
    form: str
    outputs: tuple[tuple[str, str], ...]
    fail_on: str
    baseline: str | None
    write_baseline: str | None
    fix: bool
    changed_from: str | None
    cluster: tuple[str | None, str | None] | None


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


def run(asked: Asked) -> int:
    """Check, write the reports; the exit code.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
    """
    settled = _settled(asked)
    report = _report(asked, settled)
    if asked.fix:
        report = _mended(asked, settled, report)
    if asked.write_baseline:
        Path(asked.write_baseline).write_text(baseline.text(report), encoding="utf-8")
    for form, file in asked.outputs:
        Path(file).write_text(FORMATS[form](report), encoding="utf-8")
    typer.echo(_shown(asked, report), nl=False)
    return report.exit_code()


def _shown(asked: Asked, report: Report) -> str:
    if asked.form == "text":
        return text.text(report, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    return FORMATS[asked.form](report)


def _settled(asked: Asked) -> Settled:
    file = asked.config or (USUAL if Path(USUAL).is_file() else None)
    found = _configuration(file) if file else Configuration()
    pack = pack_folder.found(asked.pack).pack if asked.pack else None
    return configuration.settled(found, asked.environment, pack)


def _configuration(file: str) -> Configuration:
    try:
        return configuration.read(Path(file).read_bytes().decode("utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("", f"cannot be read: {error}", where=file)]) from None


def _report(asked: Asked, settled: Settled) -> Report:
    found = sources.read(asked.paths)
    there = _there(*asked.cluster) if asked.cluster else None
    judged = there.documents() if there and not asked.paths else found.documents
    if there and not there.problems:
        # What a cluster does not have either is nowhere.
        settled = replace(settled, is_whole=True)
    before = changed.base(asked.paths, asked.changed_from) if asked.changed_from else None
    report = checking.check(
        judged,
        checking.Asked(
            settled=settled,
            today=datetime.now(UTC).date(),
            fail_on=Severity(asked.fail_on),
            baseline=baseline.read(asked.baseline) if asked.baseline else frozenset(),
            others=there.objects if there and asked.paths else (),
            problems=(*found.problems, *(there.problems if there else ())),
            is_judged={} if before is None else changed.is_judged(judged, before),
        ),
    )
    if before is None:
        return report
    now, then = ([each.value for each in documents] for documents in (judged, before))
    return replace(report, notes=costs.notes(now, then, settled))


def _there(kubeconfig: str | None, context: str | None) -> "Live":
    """What the cluster has. A check of files needs no client of a cluster."""
    from trainer_infra.review import live  # noqa: PLC0415  it loads one

    return live.read(kubeconfig, context)


def _mended(asked: Asked, settled: Settled, report: Report) -> Report:
    """The report on files that were mended as far as it can be done safely."""
    written: dict[str, None] = {}
    for _ in range(PASSES):
        changed = fix.write(each for each in report.items if each.counts)
        if not changed:
            break
        written |= dict.fromkeys(changed)
        report = _report(asked, settled)
    for each in written:
        typer.echo(f"mended {each}", err=True)
    return report
