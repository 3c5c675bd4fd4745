"""Values of a run's secrets, kept out of what is shown and stored of what its program printed.

For drivers, before a line or a Run leaves them: `cluster.secret_values` knows the values
from the job's own Secret, `local.reconciler` from the run's folder. A program may print a value in
another spelling: its lines one by one, a part of JSON, escaped, in base64 or in a URL. Pure.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

from trainer_infra import names
from trainer_infra.runs.run import Run

SHORTEST: Final = 6
"""Characters from which on a value is hidden: a shorter one is a word that stands everywhere."""


@dataclass(frozen=True)
class Redaction:
    """What is not to be shown."""

    values: frozenset[str] = field(default=frozenset(), repr=False)
    """As they are given to pods."""

    @classmethod
    def of(cls, secret_data: Mapping[str, str]) -> "Redaction":
        """The values of a job's own Secret."""
        return cls(frozenset(secret_data.values()))

    def __or__(self, other: "Redaction") -> "Redaction":
        """What either hides."""
        return Redaction(self.values | other.values)

    @cached_property
    def _pattern(self) -> "re.Pattern[str] | None":
        """Every spelling, the longest first, so that nothing is left of one that has another in it."""
        found = {each for value in self.values for each in _spellings(value)}
        ordered = sorted(found, key=lambda each: (-len(each), each))
        return re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def text(self, text: str) -> str:
        """The text without the values."""
        return self._pattern.sub(names.SECRET_SHOWN, text) if self._pattern else text

    def run(self, run: Run) -> Run:
        """The run without the values, in every field that takes words of a program or of Kubernetes.

        What we say ourselves (names, phases) stays, though a value may be such a word.
        """
        if self._pattern is None:
            return run
        failure = run.failure
        if failure is not None:
            failure = replace(failure, last_lines=tuple(map(self.text, failure.last_lines)))
        return replace(
            run,
            message=self.text(run.message),
            status=self._said(run.status),
            nodes=tuple(replace(each, metrics=self.texts(each.metrics)) for each in run.nodes),
            failure=failure,
            waiting_for=self.text(run.waiting_for),
            stuck=self.text(run.stuck),
            drift=self.texts(run.drift),
        )

    def texts(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The texts by name without the values, for example metrics."""
        return {key: self.text(each) for key, each in texts.items()}

    def _said(self, value: Any) -> Any:
        """A TrainJob's status, with `message` of conditions and `value` of metrics redacted."""
        if isinstance(value, Mapping):
            return {
                key: self.text(each)
                if key in {"message", "value"} and isinstance(each, str)
                else self._said(each)
                for key, each in value.items()
            }
        return [self._said(each) for each in value] if isinstance(value, list | tuple) else value


def _spellings(value: str) -> Iterator[str]:
    for part in _parts(value):
        text = part.strip()
        if len(text) < SHORTEST:
            continue
        yield text
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield quote(text, safe="")
        yield quote(text)
        yield base64.b64encode(text.encode()).decode().rstrip("=")


def _parts(value: str) -> Iterator[str]:
    """The value, its lines, and the texts in it where it is JSON, as func_args are."""
    yield value
    lines = value.splitlines()
    if len(lines) > 1:
        yield from lines
    try:
        decoded = json.loads(value)
    except ValueError:
        return
    yield from _leaves(decoded)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield from (value, *value.splitlines())
    elif not isinstance(value, bool) and value is not None:
        yield json.dumps(value)
