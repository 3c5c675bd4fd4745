"""The simple commands of a script that a shell is given by `-c`.

What decides only when it runs what is started (a condition, a loop, a function) is not read, and
`ShellScript.unread` says so. Source of the syntax: POSIX.1-2024, "Shell Command Language".
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines import references
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables, Missing

_QUOTED: Final = re.compile(
    r"""\\.|"(?:\\.|[^"\\])*"|'[^']*'|(?:^|(?<=[\s;&|()]))\#[^\n]*""", re.DOTALL
)
"""What is quoted, and comments."""
MOST_CHARACTERS, MOST_HERE_DOCUMENTS, MOST_NESTED = 2**15, 16, 4
"""Of a script that is read: one that is larger would keep a webhook busy, and is not a command by hand."""
_HERE_DOCUMENT: Final = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:^|\n)[ \t]*\2[ \t]*(?=\n|$)", re.DOTALL
)
"""Text that a command reads, up to the line that ends it."""
_DOLLAR: Final = "\1"
"""Stands for a `$` that is not the shell's."""
_SUBSTITUTED: Final = re.compile(
    r"\$\(\((?:[^()]|\([^()]*\))*\)\)|\$\([^()]*\)|`[^`]*`|[<>]\([^()]*\)"
)
_OPERATORS: Final = ";&|()<>\n"
_FUNCTION: Final = "()"
_UNDECIDED: Final = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "while", "until", "do"),
        *("done", "select", "function", "[[", "eval", "source", ".", "trap"),
    }
)
"""Words at the beginning of a command after which reading does not say what runs."""
_LEFT_OUT: Final = frozenset({"{", "}", "!", "time", "exec", "command", "builtin"})
"""Words that stand before a command."""
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)\+?=")
_ASSIGNED: Final = re.compile(r"(?<![\w-])([A-Za-z_]\w*)\+?=([\w.:/-]*(?=[\s;&|]|$))?")
_LOOP_VARIABLES: Final = re.compile(r"\b(?:for|read(?:[ \t]+-\w+)*)[ \t]+([A-Za-z_]\w*)")
_BRINGS_VARIABLES: Final = re.compile(r"\b(?:source|eval)\b|(?:^|[;&\n])[ \t]*\.\s|\bset[ \t]+-a\b")
_SHOWS: Final = frozenset({"echo", "printf", "[", "test", ":", "set", "export", "declare", "unset"})
"""Commands that start nothing, and to which an empty variable does no harm."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a script."""

    words: tuple[str, ...]
    """Its words as the program gets them; `UNREAD` stands for what is known only when it runs."""
    missing: tuple[Missing, ...]
    """Variables in it that are empty."""


@dataclass(frozen=True, slots=True)
class ShellScript:
    """What is read of a script."""

    commands: tuple[ShellCommand, ...]
    """What it starts, in order."""
    unread: bool
    """Whether what is started is decided when it runs."""


def read_script(text: str, variables: ContainerVariables) -> ShellScript:
    """What a script starts, whose `$(NAME)` are replaced already."""
    if len(text) > MOST_CHARACTERS or text.count("<<") > MOST_HERE_DOCUMENTS:
        return ShellScript((), unread=True)
    text = _HERE_DOCUMENT.sub(r"\3", text).replace("\\\n", " ")
    known = _with_own(text, variables)
    hidden = _QUOTED.sub(_without_dollars, text)
    for _ in range(MOST_NESTED):
        hidden = _SUBSTITUTED.sub(UNREAD, hidden)
    commands, unread = [], False
    try:
        for words in _commands(hidden):
            unread = unread or words[0] in _UNDECIDED or words[1:2] == (_FUNCTION,)
            if words[0] not in _SHOWS | _UNDECIDED:
                commands.append(_expanded(words, known))
    except ValueError:
        unread = True
    return ShellScript(tuple(commands), unread)


def _with_own(text: str, variables: ContainerVariables) -> ContainerVariables:
    """The variables of the container, and those that the script sets."""
    own: dict[str, str | None] = dict.fromkeys(_LOOP_VARIABLES.findall(text))
    for name, value in _ASSIGNED.findall(text):
        own[name] = None if name in own else value or None
    return ContainerVariables(
        {**variables.values, **own}, variables.are_all and not _BRINGS_VARIABLES.search(text)
    )


def _without_dollars(match: re.Match[str]) -> str:
    found = match[0]
    if found[0] == "#":
        return ""
    return found.replace("\\$", _DOLLAR) if found[0] == '"' else found.replace("$", _DOLLAR)


def _expanded(words: tuple[str, ...], variables: ContainerVariables) -> ShellCommand:
    read = [references.after_shell(each, variables) for each in words]
    missing = tuple(each for _, found in read for each in found) if variables.are_all else ()
    return ShellCommand(tuple(word.replace(_DOLLAR, "$") for word, _ in read), missing)


def _commands(text: str) -> Iterator[tuple[str, ...]]:
    """Simple commands without redirections, assignments and words that stand before them."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=_OPERATORS)
    reader.whitespace, reader.whitespace_split, reader.commenters = " \t\r", True, ""
    words: list[str] = []
    is_target = False
    for each in reader:
        is_operator = bool(each) and set(each) <= set(_OPERATORS)
        if is_operator and set(each) & {"<", ">"}:
            is_target = True
            words = words[:-1] if words and words[-1].isdigit() else words
        elif is_operator and each != _FUNCTION:
            is_target = False
            if words:
                yield tuple(words)
            words = []
        elif is_target:
            is_target = False
        elif words or not (_ASSIGNMENT.match(each) or each in _LEFT_OUT):
            words.append(each)
    if words:
        yield tuple(words)
