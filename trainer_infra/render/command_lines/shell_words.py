"""The words, operators and redirections of a script, with the variables replaced whose values are known.

Source of the syntax: POSIX.1-2024, "Shell Command Language", 2.2 to 2.7; of `$'...'`, `<(...)`, `&>` and
`<<<`: the manual of Bash.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.render.command_lines import references
from trainer_infra.render.command_lines.command_line import ShellScript
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables, Fault

WORD, OPERATOR, REDIRECTION = "word", "operator", "redirection"
_PASSED_OVER: Final = re.compile(r"(?:[ \t\r]|\\\n)+|#[^\n]*")
_OPERATOR: Final = re.compile(r";;&?|;&|&&|\|\||\|&|[;&|()\n]")
_REDIRECTION: Final = re.compile(r"(?:\d+|\{\w+\})?(?:&>>?|>>|>\||<<<|<<-?|<>|<&|>&|<|>)")
_FILES_OF_OUTPUT: Final = ("<(", ">(")
_PLAIN: Final = re.compile(r"[^ \t\r\n;&|()<>\\'\"$`]+")
_QUOTED: Final = re.compile(r"[^\\\"$`]+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[@*#?!$-]|\d")
_POSITIONS: Final = re.compile(r"\$\{?([@*\d])\}?")
_ARRAY: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_DELIMITER: Final = re.compile(r"[ \t]*(['\"\\]?)([\w.-]+)\1")
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL
)
_ESCAPES: Final[Mapping[str, str]] = {"n": "\n", "t": "\t", "r": "\r"}
ARITHMETIC: Final = "(("
"""The word that stands for `((...))`."""
_MOST_DEEP: Final = 32
"""Quotes and commands within one another."""
_SPLIT: Final = "\2"
"""Stands where a shell splits the value of a variable."""


@dataclass(slots=True)
class Token:
    """One part of a script."""

    lexeme: str
    """`WORD`, `OPERATOR` or `REDIRECTION`."""
    text: str
    """It as the program gets it; `UNREAD` stands for what is known only when it runs."""
    is_bare: bool = True
    """Whether nothing of it is quoted or replaced, so that it may be a keyword."""
    words: tuple[str, ...] = ()
    """Of a word the words that it becomes, none where it is an empty variable."""
    missing: list[Fault] = field(default_factory=list)
    """Variables in it that are empty."""
    made_by: list[ShellScript] = field(default_factory=list)
    """Scripts whose output stands in it, or for whose output it is the name of a file."""
    here: str | None = None
    """Of `<<`, the text that the command reads."""


class ShellWords:
    """Reads a script from left to right.

    Attributes:
        known: The variables as far as it was read; the reader adds those that the script sets.
        outputs: By variable, the scripts whose output it has.
        arguments: What `$0` and those after it are; None where that is not known.
    """

    def __init__(
        self,
        text: str,
        known: ContainerVariables,
        read_nested: Callable[[str], ShellScript],
        arguments: tuple[str, ...] | None = None,
    ) -> None:
        self.known = known
        self.outputs: dict[str, list[ShellScript]] = {}
        self.arguments = arguments
        self._text = text
        self._at = 0
        self._after_texts = 0
        """Where the texts that commands of this line read end; 0 for no such text."""
        self._read_nested = read_nested

    def tokens(self) -> Iterator[Token]:
        """All of it.

        Raises:
            ValueError: Something is opened and never closed.
        """
        text = self._text
        while self._at < len(text):
            if found := _PASSED_OVER.match(text, self._at):
                self._at = found.end()
            elif text.startswith(_FILES_OF_OUTPUT, self._at):
                yield self._word()
            elif found := _REDIRECTION.match(text, self._at):
                yield self._redirection(found[0])
            elif text.startswith(ARITHMETIC, self._at) and self._is_arithmetic():
                yield Token(WORD, ARITHMETIC, words=(ARITHMETIC,))
            elif found := _OPERATOR.match(text, self._at):
                yield self._operator(found[0])
            else:
                yield self._word()

    def _is_arithmetic(self) -> bool:
        """Whether `((...))` stands here, which is then passed over."""
        end = _closing(self._text, self._at + 1)
        if self._text[end - 2 : end] != "))":
            return False
        self._at = end
        return True

    def _operator(self, found: str) -> Token:
        self._at += len(found)
        if found == "\n" and self._after_texts:
            self._at, self._after_texts = max(self._at, self._after_texts), 0
        return Token(OPERATOR, found)

    def _redirection(self, found: str) -> Token:
        self._at += len(found)
        token = Token(REDIRECTION, found)
        if found.endswith(("<<", "<<-")) and not found.endswith("<<<"):
            self._here_document(token)
        return token

    def _here_document(self, token: Token) -> None:
        delimiter = _DELIMITER.match(self._text, self._at)
        if delimiter is None:
            raise ValueError(token.text)
        self._at = delimiter.end()
        begin = self._after_texts or self._text.find("\n", self._at) + 1
        last = re.compile(rf"^[ \t]*{re.escape(delimiter[2])}[ \t]*$", re.MULTILINE)
        end = last.search(self._text, begin) if begin else None
        body = self._text[begin : end.start()] if end else self._text[begin:] if begin else ""
        self._after_texts = end.end() if end else len(self._text)
        if not delimiter[1]:
            outer = self._text, self._at
            self._text, self._at = body, 0
            body = self._quoted(token, end="")
            self._text, self._at = outer
        token.here = body

    def _word(self) -> Token:
        token = Token(WORD, "")
        parts: list[str] = []
        while self._at < len(self._text):
            part = self._part(token, parts)
            if part is None:
                break
            parts.append(part)
        whole = "".join(parts)
        token.text, token.words = whole, (whole,)
        if _SPLIT in whole:
            token.text = whole.replace(_SPLIT, " ").strip()
            token.words = tuple(each for each in whole.split(_SPLIT) if each)
        return token

    def _part(self, token: Token, before: list[str]) -> str | None:
        """The next part of a word; None at its end."""
        text, at = self._text, self._at
        if found := _PLAIN.match(text, at):
            self._at = found.end()
            return found[0]
        if text[at] == "(" and _ARRAY.fullmatch("".join(before)):
            self._at = _closing(text, at + 1)
            return UNREAD
        if text[at] not in "'\"\\$`" and not text.startswith(_FILES_OF_OUTPUT, at):
            return None
        token.is_bare = False
        return self._unplain_part(token)

    def _unplain_part(self, token: Token) -> str:
        """A part that is quoted, or in whose place something else stands when it runs."""
        text, at = self._text, self._at
        if text[at] == "'":
            self._at = text.index("'", at + 1) + 1
            return text[at + 1 : self._at - 1]
        if text[at] == "\\":
            self._at = at + 2
            return text[at + 1 : at + 2].strip("\n")
        if text[at] == '"':
            self._at += 1
            inside = self._quoted(token, end='"')
            self._at += 1
            return inside
        if text[at] in "<>":
            return self._substitution(token, at + 2)
        return self._expansion(token, is_quoted=False)

    def _quoted(self, token: Token, end: str) -> str:
        """What stands here up to a double quote, or all of a text that a command reads, where `end` is empty."""
        parts: list[str] = []
        while (character := self._text[self._at : self._at + 1]) != end:
            if found := _QUOTED.match(self._text, self._at):
                self._at = found.end()
                parts.append(found[0])
            elif character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                is_escaped = following in ("$", "`", "\\", "\n", end)
                parts.append(following.strip("\n") if is_escaped else f"\\{following}")
            elif character in ('"', ""):
                if end:
                    raise ValueError(end)
                self._at += 1
                parts.append(character)
            else:
                parts.append(self._expansion(token, is_quoted=True))
        return "".join(parts)

    def _expansion(self, token: Token, *, is_quoted: bool) -> str:
        """What stands in place of a variable or a command."""
        text, at = self._text, self._at
        if text[at] == "`":
            self._at = text.index("`", at + 1) + 1
            return self._output(token, text[at + 1 : self._at - 1])
        if text.startswith("$((", at):
            self._at = _closing(text, at + 2)
            return _product(text[at + 3 : self._at - 2])
        if text.startswith("$(", at):
            return self._substitution(token, at + 2)
        if not is_quoted and (found := _ANSI.match(text, at)):
            self._at = found.end()
            return _ESCAPE.sub(_unescaped, found[1])
        if text.startswith("${", at):
            self._at = _closing(text, at + 2, "{}")
        else:
            found = _NAME.match(text, at + 1)
            self._at = found.end() if found else at + 1
        return self._variable(text[at : self._at], token, is_quoted=is_quoted)

    def _substitution(self, token: Token, begin: int) -> str:
        self._at = _closing(self._text, begin)
        return self._output(token, self._text[begin : self._at - 1])

    def _output(self, token: Token, script: str) -> str:
        token.made_by.append(self._read_nested(script))
        return UNREAD

    def _variable(self, written: str, token: Token, *, is_quoted: bool) -> str:
        if position := _POSITIONS.fullmatch(written):
            return self._position(position[1], token)
        value, missing = references.after_shell(written, self.known)
        token.missing += missing
        token.made_by += self.outputs.get(written.strip("${}"), ())
        if value.startswith("$"):
            return UNREAD if value[1:] else value
        return value if is_quoted else re.sub(r"\s+", _SPLIT, value) or _SPLIT

    def _position(self, position: str, token: Token) -> str:
        given = self.arguments
        if given is None:
            return UNREAD
        if position in "@*":
            token.is_bare = False
            return _SPLIT.join(given[1:]) or _SPLIT
        at = int(position)
        return given[at] if at < len(given) else UNREAD


def _unescaped(found: re.Match[str]) -> str:
    """The character that an escape of `$'...'` stands for."""
    if found[4]:
        return _ESCAPES.get(found[4], found[4])
    return chr(int(found[3], 8) if found[3] else int(found[1] or found[2], 16))


def _product(expression: str) -> str:
    """The value of `60 * 60`, which is how people write hours; unread where it is another expression."""
    factors = [each.strip() for each in expression.split("*")]
    if len(expression) > _MOST_DEEP or not all(each.isdecimal() for each in factors):
        return UNREAD
    return str(math.prod(map(int, factors)))


def _closing(text: str, begin: int, pair: str = "()", depth: int = 0) -> int:
    """Where what was opened before `begin` is closed: behind that.

    Raises:
        ValueError: It is not.
    """
    opened, at = 1, begin
    while opened:
        character = text[at : at + 1]
        if not character or depth > _MOST_DEEP:
            raise ValueError(pair)
        if character == "'":
            at = text.index("'", at + 1)
        elif character == '"':
            at = _closing_quote(text, at + 1, depth + 1)
        elif character == "\\":
            at += 1
        else:
            opened += (character == pair[0]) - (character == pair[1])
        at += 1
    return at


def _closing_quote(text: str, begin: int, depth: int) -> int:
    """Where a double quote is closed, in which commands may stand with quotes of their own."""
    at = begin
    while text[at : at + 1] != '"':
        if at >= len(text):
            raise ValueError('"')
        if text[at] == "\\":
            at += 2
        elif text.startswith("$(", at):
            at = _closing(text, at + 2, depth=depth)
        else:
            at += 1
    return at
