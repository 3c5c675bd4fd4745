"""A baseline: the findings that are known, so that a check fails on new ones only.

Read and written by `cli.check`, applied by `check`; JSON, so that a review sees what is added to it.
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.review import as_json, recurrence
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.report import Item, Report

VERSION: Final = 1


def read_baseline(text: bytes, path: str) -> tuple[Mark, ...]:
    """The findings of a file's text: the fingerprint of each, and the folders that its object is in.

    Raises:
        InvalidInput: It is not a baseline.
    """
    try:
        value = json.loads(text)
        findings = value["findings"]
        if value["version"] != VERSION:
            what = f"must be {VERSION}"
            raise InvalidInput([Problem("version", what, value["version"], where=path)])
        return tuple(
            (str(each["fingerprint"]), str(folder))
            for each in findings
            # An older baseline has none.
            for folder in each.get("folders", [""])
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        fix = "make it with `trainer-infra check --write-baseline`"
        raise InvalidInput([Problem("", "is not a baseline", fix=fix, where=path)]) from None


def with_known(items: Sequence[Item], known: Iterable[Mark]) -> tuple[Item, ...]:
    """The findings, those marked that a baseline has in all folders of their object."""
    there = tuple(known)
    if not there:
        return tuple(items)
    marks = [mark for each in items for mark in _marks(each)]
    was_there = iter(recurrence.recurrences(marks, there))
    in_all = [sum(next(was_there) for _ in each.folders) == len(each.folders) for each in items]
    return tuple(
        replace(each, is_known=is_known) for each, is_known in zip(items, in_all, strict=True)
    )


def without(items: Sequence[Item], others: Iterable[Item]) -> tuple[Item, ...]:
    """The findings that are not among others."""
    marks = [mark for each in others for mark in _marks(each)]
    told = with_known([replace(each, is_known=False) for each in items], marks)
    return tuple(each for each, now in zip(items, told, strict=True) if not now.is_known)


def _marks(item: Item) -> list[Mark]:
    """What a finding is known by: its fingerprint, and each folder of its object."""
    return [(item.fingerprint, folder) for folder in _folders(item)]


def _folders(item: Item) -> list[str]:
    """The folders of its object, from where the check runs, however the check names them."""
    return [os.path.relpath(each) for each in item.folders]


def baseline_text(report: Report) -> str:
    """The baseline of a report: every finding that counts now, or is known."""
    findings = [
        {
            "fingerprint": each.fingerprint,
            "rule": each.rule.id,
            "folders": _folders(each),
            "finding": each.sentence(),
        }
        for each in report.items
        if each.excuse is None or each.excuse.is_expired
    ]
    return as_json.dumped_json({"version": VERSION, "findings": findings})
