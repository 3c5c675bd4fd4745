"""Values whose name says that they are secret: `HF_TOKEN`, `--api-key`, `db.password`.

A name alone is not enough: the value must look as if a machine had made it, or a careful person.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

_SECRET: Final = re.compile(
    r"[a-z]*(?:token|password|passwd|passphrase|secret|apikey|accesskey|secretkey)"
    r"|pass|pwd|credentials?|authorization"
)
"""Words that say it; a name that ends in KEY says it too, when another word comes before."""
_PASSWORD: Final = re.compile(r"[a-z]*(?:password|passwd|passphrase)|pass|pwd")
"""Words that say that a person may have chosen it."""
_NOT_CHOSEN: Final = re.compile(
    r"true|false|yes|no|none|null|on|off|\d+"
    r"|(?:(?:my|the|a)[-_ ])?(?:token|key|secret|pass(?:word|wd)?|pwd)[-_ ]?\d?",
    re.IGNORECASE,
)
"""What says whether there is a password, or only what it is."""
_OTHER_KEYS: Final = re.compile(
    r"primary|foreign|sort|partition|cache|group|map|object|index|lookup|feature|column|label|image"
    r"|text|json|config|registry|topology|node|shard|dedup|dedupe|join|hot"
)
"""Words before KEY that say what it is a key of."""
_NO_SECRET: Final = re.compile(
    r"file|path|dir|directory|folder|name|id|url|uri|ref|reference|type|kind|column|field|count"
    r"|size|length|ttl|seconds|expiration|expiry|mount|version|header|env|arn|provider|store|class"
    r"|scope|audience|issuer|format|prefix|suffix|index|policy|mode|enabled|required"
)
"""Last words that say it is only something about a secret."""
_PUBLIC: Final = re.compile(r"public|checksum|digest|hash|md|sha")
"""Words that say that anybody may know it."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)
_SPLIT: Final = re.compile(r"[-_./:,;+=|#\s]+")
_PIECE: Final = re.compile(r"[A-Z][a-z]+|[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_ELSEWHERE: Final = re.compile(
    r"[/~.\[{*]|\$(?:[({]|[A-Z_]{2})|<[^<>]*>\Z|%(?:\(|[A-Z_]+%\Z)|sha(?:256|512)[:-]"
    r"|.*(?:://|\$[({]|\{\{|\.[A-Za-z][A-Za-z0-9]{0,7}\Z)"
)
"""A path, a URL, something that is put in later, a digest: no secret by itself."""
_SHORTEST: Final = 8
"""Characters of the shortest part that can be told from a word."""
_SHORTEST_CHOSEN: Final = 6
_LONGEST_CHOSEN: Final = 64
_LONGEST: Final = 4096
"""Characters of the longest value that is looked at: beyond are files."""
_WORDY: Final = 3
"""Characters of one kind in a row, on average, of words; of random ones there are two."""
_LONG: Final = 20
"""Characters of a part in which chance makes that average no longer than `_WORDY_LONG`."""
_WORDY_LONG: Final = 3.5
_DISTINCT: Final = 6
"""Different characters of the plainest secret; `xxxxxxxx` has fewer."""
_HEX: Final = re.compile(r"[0-9a-f]{32,}", re.ASCII | re.IGNORECASE)
_NUMBERED: Final = 2
"""Pieces of a word with a number."""
_BARE: Final = r"[^\s\"'`;&|()\[\]{}<>,$\\]"
"""A character of a value without quotes that no shell and no program reads otherwise."""
_END: Final = r"(?=[\s;&|\"']|\Z)"
_ARGUMENT: Final = r"\A-{1,2}(?P<name>[A-Za-z][\w.-]{1,80})=(?P<value>\S{8,256})\Z"
_QUOTED: Final = (
    r"(?<![\w.-])(?P<name>[\w.-]{2,80})[\"']?\s{0,4}[=:]\s{0,4}"
    r"[\"'](?P<value>[^\s\"'\\]{8,256})[\"']"
)
_IN_SHELL: Final = rf"(?<!\S)(?P<name>[\w.-]{{2,80}})=(?P<value>{_BARE}{{8,256}}){_END}"
_OPTION: Final = rf"(?<!\S)-{{1,2}}(?P<name>[A-Za-z][\w.-]{{1,80}})\s{{1,4}}(?P<value>(?!-){_BARE}{{8,256}}){_END}"
_SAID: Final = re.compile(r"token|pass|pwd|secret|credential|key|authorization", re.IGNORECASE)
"""What every name that says secret has in it; texts without are not searched for one."""
_ASSIGNED: Final = tuple(
    re.compile(each, re.ASCII) for each in (_ARGUMENT, _QUOTED, _IN_SHELL, _OPTION)
)
"""`--name=value`; `name: "value"` in code; `NAME=value` and `--name value` in a command line."""


@lru_cache(maxsize=4096)
def says_secret(name: str) -> bool:
    """Whether a variable, option or key of this name is to hold a secret."""
    words = _words(name)
    if not words or is_about_secret(name) or any(map(_PUBLIC.fullmatch, words)):
        return False
    if words[-1] == "key":
        return len(words) > 1 and not _OTHER_KEYS.fullmatch(words[-2])
    return any(map(_SECRET.fullmatch, words))


def is_about_secret(name: str) -> bool:
    """Whether a name says that its value is only something about a secret, `token_url`."""
    words = _words(name)
    return bool(words) and _NO_SECRET.fullmatch(words[-1]) is not None


def _words(name: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(name)]


def looks_secret(value: str) -> bool:
    """Whether it looks random: letters, digits and signs take turns more often than in words."""
    text = value.strip()
    if not _SHORTEST <= len(text) <= _LONGEST or len(set(text)) < _DISTINCT:
        return False
    if _ELSEWHERE.match(text) or _UUID.fullmatch(text):
        return False
    return any(_is_random(each) for each in _SPLIT.split(text))


def looks_chosen(name: str, value: str) -> bool:
    """Whether it is a password that a person chose: any plain word of a name that says password."""
    text, words = value.strip(), _words(name)
    return (
        any(map(_PASSWORD.fullmatch, words))
        # `passwordKey` says under which key of a Secret it is.
        and words[-1] != "key"
        and _SHORTEST_CHOSEN <= len(text) <= _LONGEST_CHOSEN
        and len(text.split()) == 1
        and "/" not in text
        and not _ELSEWHERE.match(text)
        and not _NOT_CHOSEN.fullmatch(text)
        and not is_placeholder(text)
    )


def assigned_values(text: str) -> Iterator[tuple[str, str]]:
    """Names and values that a command line or a piece of code writes side by side."""
    for pattern in _ASSIGNED if _SAID.search(text) else ():
        for match in pattern.finditer(text):
            yield match["name"], match["value"]


def _is_random(part: str) -> bool:
    if len(part) < _SHORTEST:
        return False
    pieces = len(_PIECE.findall(part))
    wordy = _WORDY_LONG if len(part) >= _LONG else _WORDY
    return _HEX.fullmatch(part) is not None or (pieces > _NUMBERED and len(part) / pieces < wordy)


_VARIABLE: Final = r"[A-Za-z_][\w.-]{0,80}"
_REFERENCE: Final = re.compile(
    rf"\$\{{[^{{}}]+\}}|\$\([^()]+\)|\$[A-Z_][A-Z0-9_]*|\{{\{{[^{{}}]+\}}\}}|\{{{_VARIABLE}\}}"
    rf"|<[^<>\n]+>|\[[A-Za-z][A-Za-z _.-]*\]|%\({_VARIABLE}\)s|%[A-Z_][A-Z0-9_]*%|@[A-Z_][A-Z0-9_]*@"
    r"|ENC\[[^\]\n]*\]?|(?:vault|op|ref\+[a-z]+|secretref\+[a-z]+|gcpsm|awssm)://?\S+|vault:\S+"
    r"|arn:aws[\w-]*:(?:secretsmanager|ssm):\S+"
)
"""What tools put a value in the place of: shells, envsubst, Helm, Ansible, Argo CD's and other plugins, SOPS,
and addresses of stores of secrets."""
_INSIDE: Final = re.compile(rf"\$\{{[^{{}}]+\}}|\$\({_VARIABLE}\)|\{{\{{[^{{}}]+\}}\}}")
"""Such a reference as a part of a text."""
_CROSSED_OUT: Final = re.compile(r"(.)\1*|(?:[A-Za-z]{1,6}[-_])?[xX*.•…_-]+", re.DOTALL)
"""One character again and again, `hf_xxxxxxxx`."""
_MARK: Final = (
    r"change|changeme|changeit|replace|replaceme|yours?|insert|enter|fill|todo|fixme|tbd|placeholder"
    r"|example|sample|redacted|dummy|fake|here|override|provide|supply"
)
_MARKS: Final = re.compile(_MARK)
"""Words of which each placeholder has one."""
_PLACEHOLDER_WORDS: Final = re.compile(
    rf"{_MARK}|a|access|account|actual|add|admin|an|api|app|auth|aws|azure|base64|be|before|by|client|cluster"
    r"|code|config|credentials?|database|db|deploy|deployment|encoded|encrypted|env|environment|face|for"
    r"|from|gcp|generated|git|github|gitlab|google|hf|hub|hugging|huggingface|in|its?|key|later|me|minio"
    r"|mlflow|must|my|name|of|openai|or|own|pass|passphrase|passwd|password|please|postgres|prod|production"
    r"|put|real|redis|registry|root|s3|secrets?|service|set|should|some|something|ssh|staging|string|strong"
    r"|team|test|text|that|the|this|to|token|user|username|value|vault|via|wandb|with|yaml"
)
"""All that it may have."""
_WORD_ENDS: Final = re.compile(r"[\s_.,:;!?'\"-]+|(?<=[a-z])(?=[A-Z])")


def is_placeholder(text: str) -> bool:
    """Whether the whole of it stands in the place of a secret until you or a tool fills it in: `changeme`, `${TOKEN}`.

    `change-Kirschbaum-2031!` is a password, and so is `$ecret-Winter`.
    """
    own = text.strip()
    if not own or _REFERENCE.fullmatch(own) or _CROSSED_OUT.fullmatch(own):
        return True
    words = [each.lower() for each in _WORD_ENDS.split(own) if each]
    return any(map(_MARKS.fullmatch, words)) and all(map(_PLACEHOLDER_WORDS.fullmatch, words))


def without_references(text: str) -> str:
    """The text without what tools put in: `https://team:${TOKEN}@host` has no secret by itself."""
    return _INSIDE.sub("", text)
