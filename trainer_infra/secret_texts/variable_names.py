"""Names that say that their value is secret, `HF_TOKEN`, `--api-key`, `db.password`, and whether a value of one is."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from trainer_infra.secret_texts.values import looks_chosen, looks_mixed, looks_secret, words_of

_SECRET: Final = re.compile(
    r"[a-z]*(?:token|password|passwd|passphrase|passcode|secret|apikey|accesskey|secretkey)"
    r"|passwords|creds?|credentials?|authorization|bearer"
)
"""Words that say it; a name that ends in KEY says it too, when another word comes before."""
_LAST: Final = re.compile(
    r"(?!by|com|encom|tres|over|under|sur|im|pg)[a-z]*pass|[a-z]*pwd?|psk|pat|phrase"
)
"""Words that say it at the end of a name, and not at its beginning."""
_PASSWORD: Final = re.compile(
    r"[a-z]*(?:password|passwd|passphrase|passcode|pass|pwd?)|passwords|psk"
)
"""Words that say that a person may have chosen it."""
_OF_NUMBER: Final = re.compile(r"[a-z]*(?:password|passwd|passphrase|passcode|pass|pwd)")
"""Last words that say so of a number: of much that is about a password, the value is one, and PW is many things."""
_GOOD_KEYS: Final = words_of(
    "api access secret private auth encryption signing master license service client account "
    "subscription admin"
)
"""Words before KEY that say that it opens something."""
_CHOSEN: Final = re.compile(
    r"(?:.*_)?(?:SECRET_KEY|SECRET_ACCESS_KEY|secret_key|secret_access_key"
    r"|(?:CLIENT|API|APP|JWT|SESSION|ACCESS|AUTH|CONSUMER|WEBHOOK|SIGNING|COOKIE|OAUTH)_?SECRET)"
)
"""Variables of secrets that a person may have chosen as well."""
_OTHERS: Final = {
    "pass": words_of(
        "first second forward backward multi single two one by low high band per num each all "
        "through must max"
    ),
    "key": words_of(
        "primary foreign sort partition cache group map object index lookup feature column label "
        "image text json config registry topology node shard dedup dedupe join hot routing row "
        "dict value query num"
    ),
    "token": words_of(
        "eos bos pad unk sep cls mask special stop image video audio prompt start end begin added "
        "next first last max min num think eot eom per single target reserved tool decoder "
        "encoder chat trigger fim page"
    ),
}
"""Words before one that say that something goes by, what it is a key of, or that a model reads it."""
_NO_SECRET: Final = words_of(
    "file path dir directory folder name names id ids url uri ref refs reference references "
    "type kind column field fields count size length ttl seconds expiration expiry mount "
    "version header env arn provider store class scope audience issuer format prefix suffix "
    "index policy mode enabled required stdin prompt command cmd regex pattern hint lifetime "
    "timeout rotation manager namespace endpoint host server location description title help "
    "error message algorithm alg limit engine from template types indices embedding "
    "embeddings weight weights"
)
"""Last words that say it is only something about a secret."""
_PUBLIC: Final = words_of("public checksum digest hash md sha pub")
"""Words that say that anybody may know it."""
_WHETHER: Final = words_of(
    "no skip without ask has is needs require requires allow disable enable prompt show hide"
)
"""First words that say that it is a question."""
_SCHEME: Final = re.compile(r"(?:Bearer|Basic|Token|Api-?Key)\s+", re.IGNORECASE)
"""How the value of an Authorization header begins."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", re.ASCII)
_SAID: Final = (
    "token", "pass", "pw", "psk", "_pat", "-pat", "phrase", "secret", "cred", "key",
    "authorization", "bearer",
)  # fmt: skip
"""Parts of which every name that says secret has one."""


def may_name_secret(text: str) -> bool:
    """Whether a name that says secret may be in a text: few have one, and the others need no search."""
    plain = text.lower()
    return any(each in plain for each in _SAID)


def is_secret_value(name: str, value: str, *, is_literal: bool = True) -> bool:
    """Whether the value of a name is a secret: random, or such as a person chooses, where it is meant as it stands."""
    if not says_secret(name):
        return False
    scheme = _SCHEME.match(value)
    own = value[scheme.end() :] if scheme else value
    if looks_secret(own):
        return True
    is_password = scheme is not None or _says_password(name, is_number=own.isdecimal())
    is_chosen = is_password and looks_chosen(own)
    return is_literal and (is_chosen or (_says_key(name) and looks_mixed(own)))


@lru_cache(maxsize=1 << 13)
def says_secret(name: str) -> bool:
    """Whether a variable, option or key of this name is to hold a secret."""
    words = _words(name)
    if not words or is_about_secret(name) or not _PUBLIC.isdisjoint(words):
        return False
    above = "" if len(words) == 1 else words[-2]
    if above and words[0] in _WHETHER:
        return False
    return _ends_in_secret(words[-1], above) or _has_secret(words)


def _ends_in_secret(last: str, above: str) -> bool:
    """Whether the last word says it, behind the one above it."""
    if last == "key":
        is_name = _PASSWORD.fullmatch(above) or above.endswith("token")
        return bool(above) and not is_name and above not in _OTHERS["key"]
    if last == "keys":
        return above in _GOOD_KEYS
    return _LAST.fullmatch(last) is not None and above not in _OTHERS["pass"]


def _has_secret(words: Sequence[str]) -> bool:
    """Whether any word of a name says it that is not the name of a key."""
    before = dict(zip(words[1:], words, strict=False))
    is_of_model = before.get("token", "") in _OTHERS["token"]
    is_key = words[-1] in {"key", "keys"}
    return not is_key and not is_of_model and any(map(_SECRET.fullmatch, words))


def _says_password(name: str, *, is_number: bool) -> bool:
    """Whether a person may have chosen what it holds; the password's Secret, `passwordSecret`, is another one."""
    words = _words(name)
    if is_number:
        return _OF_NUMBER.fullmatch(words[-1]) is not None
    is_one = words[-1:] != ["secret"] and any(map(_PASSWORD.fullmatch, words))
    return is_one or _CHOSEN.fullmatch(name.strip("-")) is not None


def _says_key(name: str) -> bool:
    """Whether it opens something, as the key of an API does and that of a column does not."""
    words = _words(name)
    return words[-1:] != ["key"] or not _GOOD_KEYS.isdisjoint(words[-2:-1])


def is_about_secret(name: str) -> bool:
    """Whether a name says that its value is only something about a secret, `token_url`."""
    words = _words(name)
    return bool(words) and words[-1] in _NO_SECRET


def _words(name: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(name)]
