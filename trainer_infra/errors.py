"""Every error we raise.

    TrainerInfraError
    ├── InvalidInput          what the user wrote cannot work; holds every Problem found
    ├── NotAvailable          a tool, a file or a place that is needed is missing
    │   └── Unreadable        what is kept of a run is damaged
    ├── Refused               doing it would harm another owner's object
    ├── RunFailed             the training itself failed
    ├── Interrupted           Ctrl-C was pressed
    └── Bug                   our own mistake

A message says where, what, what was found and what to do. Problems are collected: one object's
problems are reported together. The command line and the provider are the only places that catch
these to show them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

MOST_PROBLEMS: Final = 100
"""Problems of one object that are listed: a reader takes in no more, and a client may send a million."""

MEND_FIRST: Final = "mend these first"
"""What to do about more of them."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an object."""

    path: str
    """Field path from the object's root, for example `spec.trainer.numNodes`; may be empty."""
    what: str
    """What is wrong, a clause without a full stop."""
    got: object = None
    """The offending value; None when there is none to show."""
    fix: str = ""
    """What to do about it; empty when `what` says it."""
    where: str = ""
    """File with line and column, or kind and name of the object; empty when not known."""
    forbidden: bool = False
    """Whether the value is a possible one and only its use is not: `Forbidden` to an API server."""
    independent: bool = False
    """Whether it holds whatever the other values are, also while they are not known yet (docs/decisions/0036)."""

    @override
    def __str__(self) -> str:
        """`<where>: <path>: <what>, got <value>; <fix>`, without what looks like a secret."""
        head = ": ".join(part for part in (self.where, self.path, self.what) if part)
        got = "" if self.got is None else f", got {shown(self.got, name=self.path)}"
        return without_secrets(f"{head}{got}{f'; {self.fix}' if self.fix else ''}")


def independent(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of one value each, which hold whatever the other values are."""
    return (replace(each, independent=True) for each in problems)


def summed_up(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems; of more than `MOST_PROBLEMS` the first ones, and one that says how many there are."""
    found = tuple(problems)
    # One more than that is what a judge has summed up itself.
    if len(found) <= MOST_PROBLEMS + 1:
        return found
    more = f"has {len(found) - MOST_PROBLEMS} more problems than these {MOST_PROBLEMS}"
    return (*found[:MOST_PROBLEMS], Problem("", more, fix=MEND_FIRST, where=found[0].where))


def shown(value: object, limit: int = 120, name: str = "") -> str:
    """A value as an error shows it: its repr without what looks like a secret, cut at `limit` characters.

    `name` is a field or a path, which may say that the value is secret.
    """
    # What a message quotes is the exception, and so is the import.
    from trainer_infra.secret_texts import texts  # noqa: PLC0415

    open_value = texts.shown_value(value, name)
    text = repr(value if open_value == value else open_value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def without_secrets(message: str) -> str:
    """The message without what looks like a secret: it may quote what a user wrote, or what a tool said."""
    from trainer_infra.secret_texts import texts  # noqa: PLC0415  the same

    return texts.shown_text(message)


class TrainerInfraError(Exception):
    """Base of all errors raised on purpose; a message has no secret in it that can be told."""

    @override
    def __str__(self) -> str:
        return without_secrets(super().__str__())


class InvalidInput(TrainerInfraError):
    """What the user wrote cannot work. Holds every problem found, in the order of the fields, `summed_up`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = summed_up(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NotAvailable(TrainerInfraError):
    """A tool, a file, a machine or a version that is needed is not there."""


class Unreadable(NotAvailable):
    """What is kept of a run is damaged, so nothing can be said of the run itself."""


class Refused(TrainerInfraError):
    """Doing it would harm an object that belongs to another owner."""


class RunFailed(TrainerInfraError):
    """The training failed; the message has pod, reason, exit code and last lines."""


class Interrupted(TrainerInfraError):
    """Ctrl-C was pressed; the message says what goes on all the same."""


class Bug(TrainerInfraError):
    """Our own mistake."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; this is a bug in trainer_infra, please report it")
