"""Secrets that are known by their form, wherever they stand.

Each form is the issuer's published one: a fixed beginning, then enough characters to be no word.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Form:
    """What secrets of one issuer look like."""

    kind: str
    """What such a secret is, as findings name it."""
    mark: str
    """A part that each has; texts without it are not searched."""
    expression: str
    """The regular expression of the whole of it."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """The whole of it."""
        return _compiled(self.expression)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Few texts have a mark in them: an expression is compiled for the first that has."""
    return re.compile(expression, re.ASCII)


def _form(kind: str, mark: str, expression: str) -> Form:
    return Form(kind, mark, rf"(?<![A-Za-z0-9]){expression}")


_URL: Final = (
    r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'\"]{0,128}:"
    r"(?![<*$%{]|x{3})[^\s/@?#'\"]{1,256}@(?!sha256:)"
)
"""A password in a URL; not one that is put in later, `$(PASSWORD)`, `{password}`, `<password>`."""

FORMS: Final = (
    _form("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _form("Hugging Face token", "api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    _form("AWS access key", "AKIA", r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _form("AWS access key", "ASIA", r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    _form("GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    _form("GitHub token", "github_pat_", r"github_pat_\w{22,}"),
    _form("GitLab token", "glpat-", r"glpat-[\w-]{20,}"),
    _form("Slack token", "xox", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    _form(
        "Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}"
    ),
    _form("Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _form("Google access token", "ya29.", r"ya29\.[\w-]{20,}"),
    _form("OpenAI or Anthropic key", "sk-", r"sk-(?:proj|svcacct|admin|ant)-[\w-]{20,}"),
    _form("OpenAI or Anthropic key", "sk-", r"sk-[A-Za-z0-9]{48}(?![A-Za-z0-9])"),
    _form("NVIDIA API key", "nvapi-", r"nvapi-[\w-]{40,}"),
    _form("Docker token", "dckr_pat_", r"dckr_pat_[\w-]{20,}"),
    _form("npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _form("PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{50,}"),
    _form("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{80,}={0,2}"),
    _form("Azure access signature", "sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}(?![A-Za-z0-9])"),
    _form("Weights & Biases API key", "wandb login", r"wandb login (?:--?\S+ )*[0-9a-f]{40}(?!\w)"),
    _form("password of a .netrc", "password ", r"machine \S+\s+login \S+\s+password [^\s<$]{4,}"),
    _form("JSON web token", "eyJ", r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    Form("private key", "PRIVATE KEY", r"-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY"),
    _form("password in a URL", "://", _URL),
)
"""What is searched for, in order."""


_PLACEHOLDER: Final = re.compile(r"(.)\1{7}")
"""One character again and again, as in `hf_xxxxxxxxxxxx`."""


_ENCODED: Final = (
    "aGZf", "QUtJQ", "Z2hw", "Z2l0aHVi", "Z2xwYX", "c2st", "bnZhcGkt", "eG94", "LS0tLS1CRUdJTi",
)  # fmt: skip
"""Base64 of what begins as a token or a private key does: encoding hides nothing."""
_BASE64: Final = rf"(?<![A-Za-z0-9+/])(?:{'|'.join(_ENCODED)})[A-Za-z0-9+/]{{12,}}={{0,2}}"


def kinds(text: str) -> Iterator[str]:
    """The kinds of the secrets that a text has in it, in base64 too."""
    for form in FORMS:
        if form.mark in text and _is_in(text, form):
            yield form.kind
    if not any(mark in text for mark in _ENCODED):
        return
    for found in _compiled(_BASE64).finditer(text):
        plain = _decoded(found[0])
        yield from (each.kind for each in FORMS if each.mark in plain and _is_in(plain, each))


def _decoded(text: str) -> str:
    whole = text[: len(text) // 4 * 4]
    try:
        return base64.b64decode(whole).decode("ascii", "ignore")
    except binascii.Error:
        return ""


def _is_in(text: str, form: Form) -> bool:
    return any(not _PLACEHOLDER.search(each[0]) for each in form.pattern.finditer(text))
