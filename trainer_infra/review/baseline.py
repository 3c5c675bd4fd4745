"""A baseline: the findings that are known, so that a check fails on new ones only.

Read and written by `cli.check`; JSON, so that a review sees what is added to it.
"""

import json
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import as_json
from trainer_infra.review.report import Report

VERSION: Final = 1


def read_baseline(path: str) -> frozenset[str]:
    """The fingerprints of a file.

    Raises:
        InvalidInput: It is not a baseline.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
        findings = value["findings"]
        if value["version"] != VERSION:
            raise InvalidInput(
                [Problem("version", f"must be {VERSION}", value["version"], "", path)]
            )
        return frozenset(str(each["fingerprint"]) for each in findings)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
        raise InvalidInput([Problem("", what, where=path)]) from None
    except (ValueError, KeyError, TypeError):
        fix = "make it with `trainer-infra check --write-baseline`"
        raise InvalidInput([Problem("", "is not a baseline", fix=fix, where=path)]) from None


def baseline_text(report: Report) -> str:
    """The baseline of a report: every finding that counts now, or is known."""
    findings = [
        {"fingerprint": each.fingerprint, "rule": each.rule.id, "finding": each.sentence()}
        for each in report.items
        if each.excuse is None or each.excuse.is_expired
    ]
    return as_json.dumped_json({"version": VERSION, "findings": findings})
