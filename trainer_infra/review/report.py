"""What a check found: the one value that every format is made of.

Made by `check`; pure. Nothing in it is a secret's value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from trainer_infra.review.inventory import SourceFile
from trainer_infra.rules.finding import Severity
from trainer_infra.rules.rule import AnyRule

QUOTING: Final = (
    *("kind", "namespace", "name", "path", "what"),
    *("got", "fix", "seen_at", "runtime", "inside"),
)
"""Fields of a finding that quote an object."""
NOTHING: Final = "nothing was judged, because there is no object"
"""The problem of a check that has nothing to say whether anything is good."""
DIGITS: Final = 16
"""Hex digits of a fingerprint."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a file; lines and columns are from 1, and 0 where there is no text."""

    file: str
    """As the user named it, or its path from the folder that was named; `stdin`; for an object of a
    cluster its kind, namespace and name."""
    line: int = 0
    column: int = 0
    end_line: int = 0
    """Where the value ends."""
    end_column: int = 0
    """Behind its last character."""
    excerpt: tuple[str, ...] = ()
    """The lines that it is on, as they stand in the file, five at most."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a file's text that is replaced."""

    file: str
    start: tuple[int, int]
    """Line and column, from 1, of the first character that goes."""
    end: tuple[int, int]
    """Line and column behind the last one that goes; the same as `start` where text is added."""
    text: str
    """What stands there instead."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """An exemption that a finding falls under."""

    owner: str
    """Who answers for it."""
    reason: str
    """Why it has to be."""
    expires: date
    """The last day on which it holds."""
    is_expired: bool
    """Whether it holds no more: the finding counts."""


@dataclass(frozen=True, slots=True)
class Item:
    """One finding."""

    rule: AnyRule
    """The rule that is broken."""
    severity: Severity
    """How bad it is here."""
    kind: str
    """Of the object, as the next two, which may be empty."""
    namespace: str
    name: str
    path: str
    """Field path in the object as it was written."""
    what: str
    """What is wrong, a clause without a full stop."""
    got: str
    """The offending value, as it is shown; empty when there is none to show."""
    fix: str
    """What to do about it; may be empty."""
    seen_at: str
    """The place in what the object renders to; empty when it was seen where it is."""
    place: Place
    """Where it stands."""
    fingerprint: str
    """The same for the same finding in another version of the file: 16 hex digits."""
    folders: tuple[str, ...] = ()
    """Folders that the object is deployed from."""
    layers: tuple[str, ...] = ()
    """Files that changed what stands at the place, in the order of their work: of kustomizations, and of
    patches; none where what is found stands there as it is."""
    runtime: str = ""
    """Kind and name of the runtime that says it; empty where the object does."""
    inside: str = ""
    """The object that this one stands in, and where: `AppWrapper team/a: spec.components[0].template`; empty
    for one of its own."""
    edits: tuple[Edit, ...] = ()
    """What mends it; empty when a human must decide."""
    excuse: Excuse | None = None
    """The exemption that it falls under."""
    is_known: bool = False
    """Whether the baseline has it."""
    is_unchanged: bool = False
    """Whether its object is as the revision has it: another one's change made it so."""

    @property
    def counts(self) -> bool:
        """Whether it can fail the check."""
        return not self.is_known and (self.excuse is None or self.excuse.is_expired)

    def clause(self) -> str:
        """`<kind> <namespace>/<name>: <path>: <what>, got <value>`."""
        whose = object_name(self.kind, self.namespace, self.name)
        head = ": ".join(filter(None, (whose, self.path, self.what)))
        return f"{head}, got {self.got}" if self.got else head

    def sentence(self) -> str:
        """The clause, and what to do about it: `<clause>; <fix>`."""
        return "; ".join(filter(None, (self.clause(), self.fix)))


@dataclass(frozen=True, slots=True)
class UnseenRule:
    """A value that rules could not see: it is not known yet, wrong, or not at hand."""

    kind: str
    """Of the object, as the next two; the namespace may be empty."""
    namespace: str
    name: str
    path: str
    """The value."""
    rules: tuple[str, ...]
    """Ids of the rules."""
    fails: bool = False
    """Whether the check fails because rules of security are among them."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a check found."""

    items: tuple[Item, ...]
    """By file, line and rule."""
    rules: tuple[AnyRule, ...]
    """Those that were applied, in order."""
    objects: int
    """How many objects there are."""
    files: tuple[str, ...]
    """The files that they are from, as `Place` has them."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each: the check is not complete, and fails."""
    unused: tuple[str, ...] = ()
    """Exemptions that excuse nothing, a sentence each."""
    unseen: tuple[UnseenRule, ...] = ()
    """What rules could not see."""
    fail_on: Severity = Severity.HIGH
    """Severity from which on a finding fails the check."""
    shown_from: Severity = Severity.LOW
    """Severity from which on what is written for people has a finding."""
    baseline: str = ""
    """File of the baseline that says what is known; empty where none was used."""
    unjudged: Mapping[str, int] = field(default_factory=dict)
    """Of how many objects no rule says anything, by kind."""
    unchanged: int = 0
    """How many more objects are as the revision has them."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Further figures by title, for example the cost beside that of the base branch."""
    inventory: tuple[SourceFile, ...] = ()
    """What became of each file below the paths."""

    paths: Mapping[str, str] = field(default_factory=dict)
    """What forges call files: the path from the repository's folder; none for what is not one."""

    def path(self, file: str) -> str:
        """What a forge calls a file."""
        return self.paths.get(file, file)

    def fails(self, item: Item) -> bool:
        """Whether a finding fails the check."""
        return item.counts and item.severity.is_at_least(self.fail_on)

    def failing(self) -> tuple[Item, ...]:
        """The findings that fail the check."""
        return tuple(filter(self.fails, self.items))

    def blind(self) -> tuple[UnseenRule, ...]:
        """What fails the check because rules of security could not see it."""
        return tuple(each for each in self.unseen if each.fails)

    def exit_code(self) -> int:
        """0 when nothing fails the check, 1 when it fails, 3 when something cannot be read."""
        if self.problems:
            return 3
        return 1 if self.failing() or self.blind() else 0


def object_name(kind: str, namespace: str, name: str) -> str:
    """`TrainJob team-a/tj`; what is empty is left out."""
    return f"{kind} {'/'.join(filter(None, (namespace, name)))}".strip()
