"""The lines of a program that may write for a terminal, where a progress bar is drawn over and over.

A carriage return, a backspace and a move to a line above begin a line anew: what stood there was a
state of it. Every line with an end is handed out, and of states the newest, none of which moves the
cursor of who reads it. Colours stay. Pure.
"""

import re
from dataclasses import dataclass, field
from typing import Final

LONGEST: Final = 64 * 1024
"""Characters after which a line without an end is handed out."""
ROWS: Final = 64
"""Lines above the last one that are told apart."""
_CONTROL: Final = re.compile("[\r\b\x1b]")
_SEQUENCE: Final = re.compile(
    "(?P<plain>[\n\r]|\b+)|\x1b(?:\\[(?P<given>[0-?]*)[ -/]*(?P<verb>[@-ln-~])|[78=>cDEHM])"
)
"""A line's end, and all that moves the cursor or erases: every control sequence but colours."""
_TORN: Final = re.compile("\x1b(?:\\[[0-?]{0,32}[ -/]{0,2})?\\Z")
"""A sequence of which the rest is still to come."""
_COLOUR: Final = re.compile("\x1b\\[[0-?]*m")
_UP, _DOWN, _ANEW, _ERASE = "AF", "BE", "Gf`Hd", "JK"
"""Verbs of control sequences."""


@dataclass(slots=True)
class _Row:
    """One line of the terminal."""

    text: str = ""
    """What was written since it was begun, or begun anew."""
    state: str = ""
    """What stood there before it was begun anew."""
    shown: str = ""
    """The state of it that was handed out last."""
    is_anew: bool = False
    """Whether it was begun anew, so that what stands there is a state."""
    is_erased: bool = False
    """Whether the state was erased before what stands there now was written."""
    ends_states: bool = False
    """Whether its states end with a carriage return: what a line's end follows is not a state then."""

    def begin_anew(self, kept: str = "") -> None:
        """What follows stands in place of what there is, behind `kept`."""
        if not _is_blank(self.text):
            self.state, self.is_erased = self.text, False
            self.ends_states |= not self.is_anew
        elif self.text:
            self.is_erased = True
        self.text, self.is_anew = kept, True

    def erase(self) -> None:
        """What stands there goes, as far as more is written."""
        self.is_anew = self.is_anew or not self.text
        self.is_erased = self.is_erased or _is_blank(self.text)

    def newest(self, *, unfinished: bool) -> str:
        """The newest state, unless that was handed out."""
        is_state = unfinished and self.is_anew and not _is_blank(self.text)
        found = self.text if is_state else self.state
        return "" if found == self.shown else found

    def ended(self) -> list[str]:
        """What is still to be handed out once the line has its end."""
        own = self.is_erased or self.ends_states
        whole = self.state if not self.text and not self.is_erased else self.text
        before = [self.state] if own and self.state not in {"", whole, self.shown} else []
        return before if whole and whole == self.shown else [*before, whole]


@dataclass
class TerminalLines:
    """The lines of one program, in the order in which they ended."""

    _rows: dict[int, _Row] = field(default_factory=dict)
    """By number: 0 is the last one, -1 the one above it."""
    _at: int = 0
    _torn: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether there is a state that was not handed out."""
        return any(each.newest(unfinished=True) for each in self._rows.values())

    def feed(self, text: str) -> list[str]:
        """The lines that have an end now, and states that come before them."""
        text = self._torn + text
        torn = _TORN.search(text)
        self._torn = torn[0] if torn else ""
        text = text.removesuffix(self._torn)
        lines: list[str] = []
        row = self._row
        if row.is_anew or len(self._rows) > 1 or self._at or _CONTROL.search(text):
            self._draw(text, lines)
        else:
            *lines, row.text = (row.text + text).split("\n")
        if len(self._row.text) > LONGEST:
            lines += self._ended()
        return lines

    def newest(self, *, unfinished: bool) -> list[str]:
        """The states that were not handed out, of each line the newest; unfinished: also of those that go on."""
        found = []
        for _, row in sorted(self._rows.items()):
            if state := row.newest(unfinished=unfinished):
                row.state = row.shown = state
                found.append(state)
        return found

    def end(self) -> list[str]:
        """The states and the lines without an end that are left."""
        row = self._row
        is_left = row.text and not (row.is_anew and _is_blank(row.text))
        return self._ended() if is_left else self.newest(unfinished=True)

    @property
    def _row(self) -> _Row:
        return self._rows.setdefault(self._at, _Row())

    def _draw(self, text: str, lines: list[str]) -> None:
        position = 0
        for found in _SEQUENCE.finditer(text):
            row = self._row
            row.text += text[position : found.start()]
            position = found.end()
            match found["plain"]:
                case "\n":
                    lines += self._line_end()
                case "\r":
                    row.begin_anew()
                case None:
                    self._control(found["verb"] or "", found["given"] or "")
                case back:
                    row.begin_anew(row.text[: -len(back)])
        self._row.text += text[position:]

    def _control(self, verb: str, given: str) -> None:
        """Do what a control sequence says; one without a verb here is left out."""
        if verb in _ERASE:
            self._row.erase()
        elif verb in _ANEW:
            self._row.begin_anew()
        elif verb in (*_UP, *_DOWN):
            self._row.begin_anew()
            rows = max(1, int(given)) if given.isdecimal() else 1
            self._at = min(0, max(-ROWS, self._at + (rows if verb in _DOWN else -rows)))

    def _line_end(self) -> list[str]:
        row = self._row
        if self._at == 0 or (row.text and not row.is_anew):
            return self._ended()
        # A program that draws on several lines comes down again. What it writes there need not be the
        # newest state of that line.
        row.begin_anew()
        self._at += 1
        self._row.is_erased = True
        return []

    def _ended(self) -> list[str]:
        row = self._rows.pop(self._at)
        lines = [*self.newest(unfinished=True), *row.ended()]
        self._rows.clear()
        self._at = min(0, self._at + 1)
        return lines


def lines_of(text: str) -> list[str]:
    """The lines of one that a program ended, as far as a terminal would keep them."""
    drawn = TerminalLines()
    return [*drawn.feed(f"{text}\n"), *drawn.end()]


def without_colours(line: str) -> str:
    """The line as it reads where colours mean nothing."""
    return _COLOUR.sub("", line).strip()


def _is_blank(text: str) -> bool:
    return not without_colours(text)
