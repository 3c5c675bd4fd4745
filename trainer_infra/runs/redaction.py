"""Secrets, kept out of what is shown and stored: of what a run's program printed, and of what a check read.

A value may be there in another spelling: its lines one by one, a part of JSON, escaped, in base64 or in
a URL. Drivers know the values of a run from the job's own Secret or the run's folder, and hide them
before a line or a Run leaves them; `review.redaction` finds those of files. Pure.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from trainer_infra import names

if TYPE_CHECKING:
    # Checks hide secrets, too, and know no runs.
    from trainer_infra.runs.run import Run

SHORTEST: Final = 6
"""Characters from which on a value is hidden: a shorter one is a word that stands everywhere."""


@dataclass(frozen=True)
class Redaction:
    """What is not to be shown."""

    hidden: frozenset[str] = field(default=frozenset(), repr=False)
    """Every spelling of it."""

    @classmethod
    def of(cls, secret_data: Mapping[str, str]) -> "Redaction":
        """The values of a job's own Secret, as they are given to pods."""
        parts = (part for value in secret_data.values() for part in _parts(value))
        return cls(frozenset(each for part in parts for each in spellings_of(part)))

    def __or__(self, other: "Redaction") -> "Redaction":
        """What either hides."""
        return Redaction(self.hidden | other.hidden)

    @cached_property
    def _longest_first(self) -> tuple[str, ...]:
        """So that nothing is left of one that has another in it."""
        return tuple(sorted(self.hidden, key=lambda each: (-len(each), each)))

    def text(self, text: str) -> str:
        """The text without the values."""
        # A pattern of all would take several times as long to find none, as in most texts.
        found = [each for each in self._longest_first if each in text]
        return re.sub("|".join(map(re.escape, found)), names.SECRET_SHOWN, text) if found else text

    def run(self, run: "Run") -> "Run":
        """The run without the values, in every field that takes words of a program or of Kubernetes.

        What we say ourselves (names, phases) stays, though a value may be such a word.
        """
        if not self.hidden:
            return run
        failure = run.failure
        if failure is not None:
            failure = replace(failure, last_lines=tuple(map(self.text, failure.last_lines)))
        attempts = (
            replace(each, how=self.text(each.how), cause=self.text(each.cause))
            for each in run.attempts.last
        )
        return replace(
            run,
            attempts=replace(run.attempts, last=tuple(attempts)),
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


def spellings_of(value: str) -> Iterator[str]:
    """A value as it is, and as Python, JSON, URLs and base64 write it; nothing of a short one."""
    text = value.strip()
    if len(text) < SHORTEST:
        return
    content = text.encode("utf-8", "surrogatepass")
    yield text
    yield repr(text)[1:-1]
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield quote(content, safe="")
    yield quote(content)
    yield base64.b64encode(content).decode().rstrip("=")


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
