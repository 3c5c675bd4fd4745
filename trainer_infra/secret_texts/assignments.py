"""Values that a text gives to names, in whatever language: code, a shell, YAML, an INI file, a command line.

`name = "value"`, `ENV["NAME"] = "value"`, `setdefault("NAME", "value")`, `NAME=value`, `--name value`,
`name: value`, `<name>value</name>`, `ENV NAME value`. Whether a name or a value is secret say
`variable_names` and `values`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from trainer_infra.secret_texts import command_lines, values, variable_names


@dataclass(frozen=True, slots=True)
class Assignment:
    """A name that says secret, and its value."""

    name: str
    """As it is written, without dashes before it."""
    value: str
    """Without quotes."""
    is_literal: bool = True
    """Whether the value is meant as it stands: a word without quotes is a variable in code."""

    @property
    def is_secret(self) -> bool:
        """Whether the value is one."""
        return is_secret_value(self.name, self.value, is_literal=self.is_literal)


_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token|Api-?Key)\s+", re.IGNORECASE)
"""How the value of an Authorization header begins."""


def is_secret_value(name: str, value: str, *, is_literal: bool = True) -> bool:
    """Whether the value of a name is a secret: random, or such as a person chooses."""
    if not variable_names.says_secret(name):
        return False
    scheme = _SCHEME.match(value)
    own = value[scheme.end() :] if scheme else value
    if values.looks_secret(own):
        return True
    is_password = scheme is not None or variable_names.says_password(name)
    is_chosen = is_password and values.looks_chosen(own)
    is_mixed = variable_names.says_key(name) and values.looks_mixed(own)
    return is_literal and (is_chosen or is_mixed)


_NAME: Final = re.compile(r"(?<![\w.-])[\w.-]{2,80}", re.ASCII)
_CODE: Final = re.compile(
    r"^\s*(?:import |from \S+ import |(?:async )?def |class \w|func |package |const |let |var |public "
    r"|return\b|elif |#include)|\bprint\(|\blambda |\w\s?=\s?\w[\w.]*\(|;\s*import ",
    re.MULTILINE,
)
"""What a program has and a file of settings has not."""
_IN_CODE: Final = re.compile(r"[^.,\\(){}\[\]]+")
"""What is not an item, an attribute or a call of something."""
_STRING: Final = (
    r"(?:\\\"(?P<escaped>[^\s\"\\]{6,256})\\\"|\"(?P<double>[^\s\"\\]{6,256})\""
    r"|'(?P<single>[^\s'\\]{6,256})'|`(?P<back>[^\s`\\]{6,256})`)"
)
"""A value in quotes; those of a text in another one are escaped."""
_BARE: Final = r"[^\s\"'`;&|()\[\]{}<>,\\]"
"""A character of a value without quotes that no shell and no program reads otherwise."""
_WORD: Final = rf"(?P<bare>(?![-$=]){_BARE}{{6,256}})(?=[\s;&|\"',}}\]\\]|\Z)"
_MADE: Final = (
    r"(?:[^\n=;{}]{0,80}?(?:\bor\s|\belse\s|\|\||\?\?)\s{0,4})?"
    r"(?:(?:SecretStr|Secret|str|bytes|[Ff]ield|quote(?:_plus)?|\w*64\w*)\(\s{0,2}(?:default\s?=\s?)?)?"
    r"[fFrRbBuU]{0,2}"
)
"""What stands before a string: what holds otherwise, and what is made of it."""
_CLOSED: Final = r"\\?[\"'`]?\]?"
"""What ends a name in quotes, also as an index."""
_LINE: Final = r"(?:\A|\n)[^\S\n]*"
"""The beginning of a line."""
_SYNTAXES: Final = {
    'name = "value", name: str = "value", ENV["name"] = "value", "name" => "value"': (
        r"",
        rf"{_CLOSED}(?:\s{{0,2}}:\s{{0,2}}[\w.\[\]| ]{{1,40}})?\s{{0,4}}(?:=>|:=|<-|[=:])\s{{0,4}}{_MADE}{_STRING}",
    ),
    'setdefault("name", "value")': (
        r"\w*(?:set|put|get|add|env|default|define|header|secret)\w*\(\s{0,4}\\?[\"']",
        rf"\\?[\"']\s{{0,2}},\s{{0,4}}(?:default\s?=\s?)?{_MADE}{_STRING}",
    ),
    'add_argument("--name", default="value")': (
        r"\w\([^()\n]{0,40}[\"']-{0,2}",
        rf"[\"'],[^()\n]{{0,120}}?\bdefault\s?=\s?{_STRING}",
    ),
    "${name:-value}": (r"\$\{", r":?[-=](?P<bare>[^{}\s\"']{6,256})\}"),
    "name=value": (r"", rf"={_WORD}"),
    "--name value": (r"(?:\A|[\s\"'])-{1,2}", rf"\s{{1,4}}(?:{_STRING}|{_WORD})"),
    '"--name", "value"': (
        r"[\[,(]\s{0,20}\\?[\"']-{1,2}",
        rf"\\?[\"']\s?,\s{{0,40}}(?=\\?[\"'][^-])[rbu]?{_STRING}",
    ),
    "[--name, value], also on lines of their own": (
        r"(?:[\[,]|\n\s*-)\s{0,4}-{1,2}",
        rf"(?:,\s{{1,4}}|\n\s{{0,40}}-\s)(?!\w+=)(?:{_STRING}|{_WORD})",
    ),
    "name: value or name = value, on a line of its own": (
        rf"{_LINE}(?:[-#;*]\s{{0,4}}|export\s)?\\?[\"']?",
        (
            r"\\?[\"']?[^\S\n]{0,20}[=:][^\S\n]{0,20}(?:[&!][\w!-]+\s)?"
            r"(?P<bare>(?![\"'|>])[^\s\"'`]{6,256})(?=[^\S\n]*(?:[#;]|$))"
        ),
    ),
    "name: | and the value on a line below": (
        rf"{_LINE}(?:-\s)?[\"']?",
        r"[\"']?[^\S\n]{0,4}:[^\S\n]{0,4}[|>][-+]?\n\s+(?P<bare>\S{6,256})\s*$",
    ),
    "{name: value}": (
        r"[{,]\s{0,4}",
        rf"\s{{0,2}}:\s(?P<bare>{_BARE}{{6,256}})(?=\s{{0,4}}[,}}])",
    ),
    '"Name: value"': (r"[\"']", rf":\s?(?P<bare>{_BARE}{{6,256}})(?=\\?[\"'])"),
    "ENV name value, set -x name value, aws configure set name value": (
        (
            r"(?:configure set|config set|config --\S+|set -\w+|setenv|setx|\bENV|\bARG"
            r"|modify(?: --local)? \S+)\s{1,4}"
        ),
        rf"\s{{1,4}}(?:{_STRING}|{_WORD})",
    ),
    "<name>value</name>": (r"<", r">\s{0,4}(?P<bare>[^<>\s]{6,256})\s{0,4}</"),
    "<name>name</name> <value>value</value>": (
        r"<name>\s{0,4}",
        r"\s{0,4}</name>\s{0,40}<value>\s{0,4}(?P<bare>[^<>\s]{6,256})",
    ),
    "name: name, value: value": (
        r"\bname\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?",
        rf"\\?[\"']?,?\s{{1,40}}\\?[\"']?value\\?[\"']?\s{{0,2}}[:=]\s{{0,2}}(?:{_STRING}|{_WORD})",
    ),
}
"""How a value is given to a name: what stands before the name, and what behind it."""
_ARGUMENT: Final = re.compile(
    r"-{1,2}(?P<name>[A-Za-z][\w.-]{1,80})=(?P<value>\S{6,256})", re.ASCII
)
"""An argument, which no shell has read."""
_SIGN: Final = re.compile(r"[=:\s,<]")
"""What stands between a name and a value."""
_BEFORE: Final = 80
"""Characters before a name that say how it is written."""


def assigned_values(text: str) -> Iterator[Assignment]:
    """What the text gives to names that say secret."""
    if not _SIGN.search(text):
        return
    yield from (Assignment(*each) for each in command_lines.given_passwords(text))
    if not variable_names.may_name_secret(text):
        return
    argument = _ARGUMENT.fullmatch(text)
    if argument:
        yield Assignment(argument["name"], argument["value"])
    # In a text within a text, lines end as they are escaped.
    text = text.replace("\\n", "\n")
    named = [each for each in _NAME.finditer(text) if variable_names.says_secret(each[0])]
    is_code = bool(named) and _CODE.search(text) is not None
    for each in named:
        for value, is_bare in _values(text, each):
            if not (is_bare and is_code):
                yield Assignment(each[0].strip("-."), value)
            elif _IN_CODE.fullmatch(value):
                yield Assignment(each[0].strip("-."), value, is_literal=False)


def _values(text: str, name: re.Match[str]) -> Iterator[tuple[str, bool]]:
    """What is given to a name; whether it stands without quotes."""
    start = name.end() - len(name[0].lstrip("-"))
    before = text[max(0, start - _BEFORE) : start]
    for above, behind in _patterns():
        found = behind.match(text, name.end()) if above.search(before) else None
        if found:
            kind = found.lastgroup or ""
            yield found[kind], kind == "bare"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """The syntaxes, compiled for the first text that has a name that says secret."""
    return tuple(
        (re.compile(f"(?:{before})\\Z", re.IGNORECASE), re.compile(behind, re.MULTILINE))
        for before, behind in _SYNTAXES.values()
    )
