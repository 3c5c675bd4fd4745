"""The simple commands of a script that a shell is given, and what joins them: pipes, blocks, substitutions.

What decides only when it runs what is started (a condition, a loop, a function) is said by
`ShellScript.unread`. Source of the syntax: POSIX.1-2024, "Shell Command Language".
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from trainer_infra.render.command_lines.command_line import ShellCommand, ShellScript
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables, Fault
from trainer_infra.render.command_lines.shell_words import OPERATOR, REDIRECTION, ShellWords, Token

MOST_CHARACTERS, MOST_HERE_DOCUMENTS, MOST_NESTED = 2**15, 16, 4
MOST_COMMANDS, MOST_SUBSTITUTED = 2**10, 2**8
"""Of a script that is read: one that is larger would keep a webhook busy, and is not a command by hand."""
_OPENS: Final = frozenset({"if", "while", "until", "for", "case", "select"})
_CLOSES: Final = frozenset({"fi", "done", "esac", "}"})
_GOES_ON: Final = frozenset({"then", "else", "elif", "do", "!", "time", "coproc"})
"""Words after which a command begins."""
_FUNCTION, _BLOCK, _SUBSHELL, _CASE, _TEST = "function", "{", "(", "case", "[["
_UNDECIDED: Final = _OPENS | {_FUNCTION}
"""Blocks whose commands run or not as is decided when they run."""
_DROPPED: Final = frozenset({"for", "select", _CASE})
"""Words whose command starts nothing."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_ASSIGNED: Final = re.compile(r"(?<![\w-])([A-Za-z_]\w*)\+?=")
_LOOP_VARIABLES: Final = re.compile(r"\b(?:for|read(?:[ \t]+-\w+)*)[ \t]+([A-Za-z_]\w*)")
_BRINGS_VARIABLES: Final = re.compile(r"\b(?:source|eval)\b|(?:^|[;&\n])[ \t]*\.\s|\bset[ \t]+-a\b")
_OF_EVERY_POD: Final[Mapping[str, str | None]] = {
    "SHELL": "sh",
    "KUBERNETES_SERVICE_HOST": "kubernetes.default.svc",
    "KUBERNETES_SERVICE_PORT": "443",
}
"""Variables that the kubelet and the shell set in every pod."""
_SETS: Final = frozenset({"export", "declare", "readonly", "local", "typeset"})
SHOWS: Final = _SETS | {"echo", "printf", "[", "test", ":", "set", "unset", "true", "false"}
"""Commands that start nothing, and to which an empty variable does no harm."""
_ENDLESS: Final = {
    "while": re.compile(r"true|:|\[ [\w.]+ \]|sleep .*"),
    "until": re.compile("false"),
}
"""Conditions of loops that never end."""


def read_script(
    text: str,
    variables: ContainerVariables,
    arguments: tuple[str, ...] | None = None,
    depth: int = 0,
) -> ShellScript:
    """What a script starts, whose `$(NAME)` are replaced already.

    `arguments` are `$0` and those after it, None where they are not known; `depth` says in how many other
    scripts it stands.
    """
    is_large = len(text) > MOST_CHARACTERS or text.count("<<") > MOST_HERE_DOCUMENTS
    if is_large or depth > MOST_NESTED:
        return ShellScript((), unread=True)
    reading = _ScriptReading(text, variables, arguments, depth)
    try:
        for token in reading.words.tokens():
            reading.take(token)
        reading.finish()
    except ValueError:
        reading.unread = True
    return ShellScript(tuple(reading.commands), reading.unread)


@dataclass(slots=True)
class _Draft:
    """A command as far as it was read; fields as those of `ShellCommand`."""

    words: list[str] = field(default_factory=list)
    missing: list[Fault] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    here: list[str] = field(default_factory=list)
    made_by: list[ShellScript] = field(default_factory=list)
    reads: range = range(0)
    target: list[str] | None = None
    """Where the next word belongs, which a redirection names; None where it is a word of the command."""

    @property
    def first(self) -> str:
        """The first word; empty for none."""
        return self.words[0] if self.words else ""


@dataclass(frozen=True, slots=True)
class _Block:
    """Commands that a word opens."""

    word: str
    first: int
    """The first of them."""
    reads: range
    """Those whose output a pipe gives to it."""
    never_ends: bool = False


class _ScriptReading:
    """What was found of a script as far as it was read."""

    def __init__(
        self,
        text: str,
        variables: ContainerVariables,
        arguments: tuple[str, ...] | None,
        depth: int,
    ) -> None:
        own: dict[str, str | None] = dict.fromkeys(_LOOP_VARIABLES.findall(text))
        counts = Counter(_ASSIGNED.findall(text))
        self._once = {name for name, count in counts.items() if count == 1 and name not in own}
        self._values = {**_OF_EVERY_POD, **variables.values, **own, **dict.fromkeys(counts)}
        self._tells = variables.are_all and not _BRINGS_VARIABLES.search(text)
        known = ContainerVariables(self._values, self._tells)
        self.words = ShellWords(text, known, partial(self._nested, depth=depth), arguments)
        self.commands: list[ShellCommand] = []
        self.unread = False
        self._substituted = 0
        self._open: list[_Block] = []
        self._now = _Draft()
        self._unit = range(0)
        """The commands of what was read last, a block or one command."""
        self._is_behind_block = False
        self._opens_function = False
        self._is_pattern = False
        """Whether patterns of a case stand here."""

    def _nested(self, text: str, depth: int) -> ShellScript:
        self._substituted += 1
        if self._substituted > MOST_SUBSTITUTED:
            raise ValueError(MOST_SUBSTITUTED)
        return read_script(text, self.words.known, self.words.arguments, depth + 1)

    def take(self, token: Token) -> None:
        """The next part of the script."""
        now = self._now
        if token.lexeme == OPERATOR:
            self._operator(token.text)
        elif token.here is not None:
            now.here.append(token.here)
            now.made_by += token.made_by
            now.missing += token.missing
        elif token.lexeme == REDIRECTION:
            now.target = now.here if token.text.endswith("<<<") else now.files
        elif now.target is not None:
            now.target.append(token.text)
            now.target = None
            now.made_by += token.made_by
        elif self._is_pattern:
            if token.is_bare and token.text == "esac":
                self._close()
        elif now.first == _TEST:
            now.words = [":"] if token.text == "]]" else now.words
        else:
            self._word(token)

    def _word(self, token: Token) -> None:
        now, is_bare = self._now, token.is_bare
        if now.first == _FUNCTION:
            if is_bare and token.text == _BLOCK:
                self._now = _Draft()
                self._open_block(_BLOCK)
            return
        if not now.first and is_bare and self._keyword(token.text):
            return
        found = None if now.first else _ASSIGNMENT.fullmatch(token.text)
        now.made_by += token.made_by
        now.missing += token.missing
        if found:
            now.settings[found[1]] = found[2]
        elif now.first == _CASE and is_bare and token.text == "in":
            self._is_pattern = True
            now.words = []
        else:
            now.words += token.words

    def _keyword(self, word: str) -> bool:
        """Whether it is one, after which a command begins."""
        self.unread = self.unread or word in _UNDECIDED or word == _TEST
        if word in _OPENS:
            self._opened(word)
            self._now.words = [word] if word in _DROPPED else []
        elif word == _FUNCTION:
            self._opens_function = True
            self._now.words = [word]
        elif word == _BLOCK:
            self._open_block(word)
        elif word in _CLOSES:
            self._close()
        elif word == "do" and self._open:
            self._begin_loop()
        else:
            return word in _GOES_ON
        return True

    def _opened(self, word: str) -> None:
        self._open.append(_Block(word, len(self.commands), self._now.reads))

    def _open_block(self, word: str) -> None:
        self._opened(_FUNCTION if self._opens_function else word)
        if self._opens_function:
            self.words.arguments = None
        self._opens_function = False

    def _begin_loop(self) -> None:
        block = self._open[-1]
        condition = "\n".join(" ".join(each.words) for each in self.commands[block.first :])
        endless = _ENDLESS.get(block.word)
        never_ends = endless is not None and bool(endless.fullmatch(condition))
        self._open[-1] = replace(block, never_ends=never_ends)

    def _close(self) -> None:
        self._is_pattern = False
        if self._open:
            self._unit = range(self._open.pop().first, len(self.commands))
            self._is_behind_block = True

    def _operator(self, text: str) -> None:
        waits = text == "\n" and self._now.reads and not self._now.words
        if self._now.first in (_TEST, _FUNCTION) or waits:
            return
        if self._is_pattern:
            self._is_pattern = text != ")"
            return
        if text == "(" and len(self._now.words) == 1:
            self._opens_function = self.unread = True
            return
        if text == ")" and self._opens_function:
            self._now = _Draft()
            return
        reads = self._now.reads if text == "(" else range(0)
        self.finish(is_background=text == "&")
        if text == "(":
            self._open.append(_Block(_SUBSHELL, len(self.commands), reads))
        elif text == ")":
            self._close()
        elif text in (";;", ";&", ";;&"):
            self._is_pattern = True
        self._now.reads = self._unit if text in ("|", "|&") else reads

    def finish(self, *, is_background: bool = False) -> None:
        """The end of a command, or of the block before it."""
        now, self._now = self._now, _Draft()
        if now.first in _DROPPED:
            now.words = []
        if now.words or now.settings or now.files or now.made_by:
            self._add(now)
        self._is_behind_block = False
        if is_background:
            for each in self._unit:
                self.commands[each] = replace(self.commands[each], is_background=True)

    def _add(self, draft: _Draft) -> None:
        if len(self.commands) >= MOST_COMMANDS:
            raise ValueError(MOST_COMMANDS)
        first = self._unit.start if self._is_behind_block else len(self.commands)
        self._unit = range(first, len(self.commands) + 1)
        outer = next((each.reads for each in reversed(self._open) if each.reads), range(0))
        is_certain = not any(each.word in _UNDECIDED for each in self._open)
        draft.reads = draft.reads or outer
        self._set(draft)
        self.commands.append(
            ShellCommand(
                tuple(draft.words),
                tuple(draft.missing) if self._tells and is_certain else (),
                draft.settings,
                tuple(draft.files),
                tuple(draft.here),
                tuple(draft.made_by),
                draft.reads,
                is_endless=any(each.never_ends for each in self._open),
            )
        )

    def _set(self, draft: _Draft) -> None:
        """The variables that are set before a command or by it, noted where they hold for those after it."""
        if draft.first == "read" and draft.reads:
            read = (replace(self.commands[each], reads=range(0)) for each in draft.reads)
            script = ShellScript(tuple(read), unread=False)
            self.words.outputs |= {each: [script] for each in draft.words[1:]}
        elif draft.first == "read" and draft.here and UNREAD not in draft.here[0]:
            self._values[draft.words[-1]] = draft.here[0]
        if draft.first and draft.first not in _SETS:
            return
        found = (_ASSIGNMENT.fullmatch(each) for each in draft.words[1:])
        draft.settings |= {each[1]: each[2] for each in found if each}
        for name, value in draft.settings.items():
            if name in self._once:
                self._values[name] = None if UNREAD in value or not value else value
            if draft.made_by:
                self.words.outputs[name] = draft.made_by[:MOST_NESTED]
