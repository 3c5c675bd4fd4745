"""Metrics as a program reads them: numbers where they are, and a sentence for one that is missing.

`gate` calls `values`; `resources` and `batch` offer `Metrics`. On the wire a metric is a text, as in the
TrainJob's status.
"""

import json
import math
from collections.abc import Mapping

import pulumi


def values(reported: Mapping[str, str]) -> dict[str, float | str]:
    """Each metric as a number, or as it is where it is none that JSON has (`nan`, words)."""
    return {name: _value(text) for name, text in reported.items()}


def _value(text: str) -> float | str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if type(value) in {int, float} and math.isfinite(value) else text


class Metrics(dict[str, float | str]):
    """The metrics of a run by name; to ask for one that it did not report is an error that says so."""

    def __init__(self, reported: Mapping[str, float | str], job: str) -> None:
        super().__init__(reported)
        self._job = job

    def __missing__(self, name: str) -> float | str:
        known = f"it reported {', '.join(sorted(self))}" if self else "it reported none"
        raise pulumi.RunError(
            f"{self._job} did not report the metric {name!r}; {known}: see trainer_infra.report"
        )
