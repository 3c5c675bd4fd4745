"""The words, operators and redirections of a script, with the variables replaced whose values are known.

Source of the syntax: POSIX.1-2024, "Shell Command Language", 2.2 to 2.7; of `$'...'`, `<(...)`, `&>` and
`<<<`: the manual of Bash.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, Generic, TypeVar

from trainer_infra.render.command_lines import references
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables, Missing

S = TypeVar("S")

_BLANKS: Final = " \t\r"
_OPERATOR: Final = re.compile(r";;&?|;&|&&|\|\||\|&|[;&|()\n]")
_REDIRECTION: Final = re.compile(r"(?:\d+|\{\w+\})?(?:&>>?|>>|>\||<<<|<<-?|<>|<&|>&|<|>)")
_PLAIN: Final = re.compile(r"[^\s;&|()<>\\'\"$`]+")
_QUOTED: Final = re.compile(r"[^\\\"$`]+")
_NAME: Final = re.compile(r"[A-Za-z_]\w*|[@*#?!$-]|\d")
_POSITIONS: Final = re.compile(r"\$\{?([@*\d])\}?")
_ARRAY: Final = re.compile(r"[A-Za-z_]\w*\+?=")
_DELIMITER: Final = re.compile(r"[ \t]*(['\"\\]?)([\w.-]+)\1")
_IN_TEXT: Final = re.compile(r"\\.|\$\(|\$\{?\w+\}?|`[^`]*`", re.DOTALL)
_ESCAPES: Final[Mapping[str, str]] = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
ARITHMETIC: Final = "(("
"""The word that stands for `((...))`."""
_MOST_DEEP: Final = 32
"""Quotes and commands within one another."""
_SPLIT: Final = "\2"
"""Stands where a shell splits the value of a variable."""


class Lexeme(Enum):
    """What a part of a script is."""

    WORD = auto()
    OPERATOR = auto()
    REDIRECTION = auto()


@dataclass(slots=True)
class Token(Generic[S]):
    """One part of a script."""

    lexeme: Lexeme
    text: str
    """It as the program gets it; `UNREAD` stands for what is known only when it runs."""
    is_bare: bool = True
    """Whether nothing of it is quoted or replaced, so that it may be a keyword."""
    words: tuple[str, ...] = ()
    """Of a word the words that it becomes, none where it is an empty variable."""
    missing: list[Missing] = field(default_factory=list)
    """Variables in it that are empty."""
    made_by: list[S] = field(default_factory=list)
    """Scripts whose output stands in it, or for whose output it is the name of a file."""
    here: str | None = None
    """Of `<<`, the text that the command reads."""


class ShellWords(Generic[S]):
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
        read_nested: Callable[[str], S],
        arguments: tuple[str, ...] | None = None,
    ) -> None:
        self.known = known
        self.outputs: dict[str, list[S]] = {}
        self.arguments = arguments
        self._text = text
        self._at = 0
        self._after_texts = 0
        """Where the texts that commands of this line read end; 0 for no such text."""
        self._read_nested = read_nested

    def tokens(self) -> Iterator[Token[S]]:
        """All of it.

        Raises:
            ValueError: Something is opened and never closed.
        """
        text = self._text
        while self._at < len(text):
            character = text[self._at]
            if character in _BLANKS or text.startswith("\\\n", self._at):
                self._at += 1 if character in _BLANKS else 2
            elif character == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            elif self._is_substituted():
                yield self._word()
            elif found := _REDIRECTION.match(text, self._at):
                yield self._redirection(found[0])
            elif text.startswith("((", self._at) and self._is_arithmetic():
                yield Token(Lexeme.WORD, ARITHMETIC, words=(ARITHMETIC,))
            elif found := _OPERATOR.match(text, self._at):
                yield self._operator(found[0])
            else:
                yield self._word()

    def _is_substituted(self) -> bool:
        """Whether `<(...)` or `>(...)` stands here, which becomes the name of a file."""
        return self._text[self._at : self._at + 2] in ("<(", ">(")

    def _is_arithmetic(self) -> bool:
        """Whether `((...))` stands here, which is then passed over."""
        end = _closing(self._text, self._at + 1)
        if self._text[end - 2 : end] != "))":
            return False
        self._at = end
        return True

    def _operator(self, found: str) -> Token[S]:
        self._at += len(found)
        if found == "\n" and self._after_texts:
            self._at, self._after_texts = max(self._at, self._after_texts), 0
        return Token(Lexeme.OPERATOR, found)

    def _redirection(self, found: str) -> Token[S]:
        self._at += len(found)
        token: Token[S] = Token(Lexeme.REDIRECTION, found)
        if found.endswith(("<<", "<<-")) and not found.endswith("<<<"):
            self._here_document(token)
        return token

    def _here_document(self, token: Token[S]) -> None:
        delimiter = _DELIMITER.match(self._text, self._at)
        if delimiter is None:
            raise ValueError(token.text)
        self._at = delimiter.end()
        begin = self._after_texts or self._text.find("\n", self._at) + 1
        last = re.compile(rf"^[ \t]*{re.escape(delimiter[2])}[ \t]*$", re.MULTILINE)
        end = last.search(self._text, begin) if begin else None
        body = self._text[begin : end.start()] if end else self._text[begin:] if begin else ""
        self._after_texts = end.end() if end else len(self._text)
        token.here = body if delimiter[1] else self._expanded(body, token)

    def _expanded(self, body: str, token: Token[S]) -> str:
        """A text in which a shell replaces variables and commands."""
        parts: list[str] = []
        before = 0
        for found in _IN_TEXT.finditer(body):
            if found.start() < before:
                continue
            parts.append(body[before : found.start()])
            before = found.end()
            if found[0] == "$(":
                before = _closing(body, found.end())
                self._nested(body[found.end() : before - 1], token)
                parts.append(UNREAD)
            elif found[0][0] == "\\":
                parts.append(found[0][1:] if found[0][1] in "$`\\" else found[0])
            elif found[0][0] == "`":
                self._nested(found[0][1:-1], token)
                parts.append(UNREAD)
            else:
                value, _ = references.after_shell(found[0], self.known)
                parts.append(value)
        return "".join((*parts, body[before:]))

    def _word(self) -> Token[S]:
        token: Token[S] = Token(Lexeme.WORD, "")
        parts: list[str] = []
        while self._at < len(self._text):
            part = self._part(token, parts)
            if part is None:
                break
            parts.append(part)
        whole = "".join(parts)
        split = [each for each in whole.split(_SPLIT) if each] if _SPLIT in whole else [whole]
        token.text = whole.replace(_SPLIT, " ").strip() if _SPLIT in whole else whole
        token.words = tuple(split)
        return token

    def _part(self, token: Token[S], before: list[str]) -> str | None:
        """The next part of a word; None at its end."""
        text, at = self._text, self._at
        if found := _PLAIN.match(text, at):
            self._at = found.end()
            return found[0]
        character = text[at]
        if character in "'\"\\$`":
            token.is_bare = False
            return self._quoted_part(token, character)
        if self._is_substituted():
            token.is_bare = False
            return self._substitution(token, at + 2)
        if character == "(" and _ARRAY.fullmatch("".join(before)):
            self._at = _closing(text, at + 1)
            return UNREAD
        return None

    def _quoted_part(self, token: Token[S], character: str) -> str:
        text, at = self._text, self._at
        if character == "'":
            end = text.index("'", at + 1)
            self._at = end + 1
            return text[at + 1 : end]
        if character == "\\":
            self._at = at + 2
            following = text[at + 1 : at + 2]
            return "" if following == "\n" else following
        if character == '"':
            return self._double_quoted(token)
        if character == "`":
            return self._backquoted(token)
        return self._dollar(token, is_quoted=False)

    def _double_quoted(self, token: Token[S]) -> str:
        parts: list[str] = []
        self._at += 1
        while (character := self._character()) != '"':
            if found := _QUOTED.match(self._text, self._at):
                self._at = found.end()
                parts.append(found[0])
            elif character == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                self._at += 2
                keeps = following not in ("$", "`", '"', "\\", "\n")
                parts.append(f"\\{following}" if keeps else following.strip("\n"))
            elif character == "`":
                parts.append(self._backquoted(token))
            else:
                parts.append(self._dollar(token, is_quoted=True))
        self._at += 1
        return "".join(parts)

    def _character(self) -> str:
        if self._at >= len(self._text):
            raise ValueError(self._text[-1:])
        return self._text[self._at]

    def _backquoted(self, token: Token[S]) -> str:
        end = self._text.index("`", self._at + 1)
        self._nested(self._text[self._at + 1 : end], token)
        self._at = end + 1
        return UNREAD

    def _substitution(self, token: Token[S], begin: int) -> str:
        self._at = _closing(self._text, begin)
        self._nested(self._text[begin : self._at - 1], token)
        return UNREAD

    def _nested(self, script: str, token: Token[S]) -> None:
        token.made_by.append(self._read_nested(script))

    def _dollar(self, token: Token[S], *, is_quoted: bool) -> str:
        text, at = self._text, self._at
        if text.startswith("$((", at):
            self._at = _closing(text, at + 2)
            return _product(text[at + 3 : self._at - 2])
        if text.startswith("$(", at):
            return self._substitution(token, at + 2)
        if text.startswith("$'", at) and not is_quoted:
            return self._with_escapes()
        if text.startswith("${", at):
            self._at = _closing(text, at + 2, "{}")
        elif found := _NAME.match(text, at + 1):
            self._at = found.end()
        else:
            self._at = at + 1
            return "$"
        return self._variable(text[at : self._at], token, is_quoted=is_quoted)

    def _with_escapes(self) -> str:
        parts: list[str] = []
        at = self._at + 2
        while self._text[at : at + 1] != "'":
            if at >= len(self._text):
                raise ValueError(self._text[-1:])
            is_escaped = self._text[at] == "\\"
            at += is_escaped
            character = self._text[at : at + 1]
            parts.append(_ESCAPES.get(character, UNREAD) if is_escaped else character)
            at += 1
        self._at = at + 1
        return "".join(parts)

    def _variable(self, written: str, token: Token[S], *, is_quoted: bool) -> str:
        if position := _POSITIONS.fullmatch(written):
            return self._position(position[1], token)
        value, missing = references.after_shell(written, self.known)
        token.missing += missing
        name = written.strip("${}")
        token.made_by += self.outputs.get(name, ())
        if value.startswith("$"):
            return UNREAD
        return value if is_quoted else re.sub(r"\s+", _SPLIT, value) or _SPLIT

    def _position(self, position: str, token: Token[S]) -> str:
        given = self.arguments
        if given is None:
            return UNREAD
        if position in "@*":
            token.is_bare = False
            return _SPLIT.join(given[1:]) or _SPLIT
        at = int(position)
        return given[at] if at < len(given) else UNREAD


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
