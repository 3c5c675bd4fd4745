"""Values that a text gives to names, in whatever language: code, a shell, YAML, an INI file, a command line.

`name = "value"`, `ENV["NAME"] = "value"`, `setdefault("NAME", "value")`, `NAME=value`, `--name value`,
`name: value`, `<name>value</name>`, `ENV NAME value`.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from trainer_infra.secret_texts import command_lines
from trainer_infra.secret_texts.variable_names import is_secret_value, may_name_secret, says_secret

_NAME: Final = re.compile(r"(?<![\w.-])[\w.-]{2,80}", re.ASCII)
_CODE: Final = re.compile(
    r"^\s*(?:import |from \S+ import |(?:async )?def |class \w|func |package |const |let |var |public "
    r"|return\b|elif |#include)|\bprint\(|\blambda |\w\s?=\s?\w[\w.]*\(|;\s*import ",
    re.MULTILINE,
)
"""What a program has and a file of settings has not."""
_IN_CODE: Final = re.compile(r"[^.,\\(){}\[\]]+")
"""What is not an item, an attribute or a call of something."""
_STRING: Final = r"(?P<quote>\\\"|[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\s\\]){6,256})(?P=quote)"
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
    "--name=value, an argument that no shell has read": (r"\A-{1,2}", r"=(?P<own>\S{6,256})\Z"),
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
    '"name": 12345678': (r"", rf"{_CLOSED}\s{{0,2}}[:=]\s{{0,2}}(?P<number>\d{{6,64}})(?![\w.])"),
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
_SIGN: Final = re.compile(r"[=:\s,<(]")
"""What stands between a name and a value."""
_BEFORE: Final = 80
"""Characters before a name that say how it is written."""


def assigned_secrets(text: str) -> Iterator[tuple[str, str]]:
    """What a text gives to names that say secret: the name, without dashes before it, and a value that is one."""
    if not _SIGN.search(text):
        return
    yield from command_lines.given_passwords(text)
    if not may_name_secret(text):
        return
    # In a text within a text, lines end as they are escaped.
    text = text.replace("\\n", "\n")
    named = [each for each in _NAME.finditer(text) if says_secret(each[0])]
    is_code = bool(named) and _CODE.search(text) is not None
    for each in named:
        name = each[0].strip("-.")
        for value, is_bare in _values(text, each):
            # A word without quotes is a variable in code.
            is_literal = not (is_bare and is_code)
            is_value = is_literal or _IN_CODE.fullmatch(value)
            if is_value and is_secret_value(name, value, is_literal=is_literal):
                yield name, value


def _values(text: str, name: re.Match[str]) -> Iterator[tuple[str, bool]]:
    """What is given to a name; whether it stands without quotes."""
    start = name.end() - len(name[0].lstrip("-"))
    before = text[max(0, start - _BEFORE) : start]
    for above, behind in _patterns():
        found = behind.match(text, name.end())
        if found and above.search(before):
            kind = found.lastgroup or ""
            yield found[kind], kind == "bare"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """The syntaxes, compiled for the first text that has a name that says secret."""
    return tuple(
        (re.compile(f"(?:{before})\\Z", re.IGNORECASE), re.compile(behind, re.MULTILINE))
        for before, behind in _SYNTAXES.values()
    )
