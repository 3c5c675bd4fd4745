"""What a secret looks like that has no form of its own, and what only stands in the place of one."""

import re
from functools import cache
from typing import Final


@cache
def compiled(expression: str) -> re.Pattern[str]:
    """A pattern that few texts need: it is compiled for the first that does."""
    return re.compile(expression, re.ASCII)


def words_of(text: str) -> frozenset[str]:
    """The words of a text: to look one up in them takes less than a pattern of all."""
    return frozenset(text.split())


_NOT_CHOSEN: Final = (
    r"(?i)true|false|yes|no|none|null|nil|on|off|undefined|(?!\d{6,}\Z)[~^v]?\d+(?:\.\d+)*[smhd]?"
    r"|default|required|optional|disabled?|enabled?|hidden|visible|unset|empty|random|generated?"
    r"|string|str|text|bytes|secret_?str|plain|plain_?text|basic|bearer|digest|prompt|manual"
    r"|(?-i:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:PASSWORD|PASSPHRASE|PASS|PWD|TOKEN|SECRET|KEY|CREDENTIALS))"
)
"""What says whether there is a password, or only what it is or which variable has it."""
_PIECE: Final = re.compile(r"[A-Z][a-z]+|[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+", re.ASCII)
_SPLIT: Final = re.compile(r"[-_./:,;+=|#\s]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_ELSEWHERE: Final = (
    r"[/~.\[{*]|\$(?:[({]|[A-Z_]{2})|<[^<>]*>\Z|%(?:\(|[A-Z_]+%\Z)|sha(?:256|512)[:-]"
    r"|ENC\[|vault:"
    r"|.*(?:://|\$[({]|\{\{|\.[A-Za-z][A-Za-z0-9]{0,7}\Z)"
    r"|[a-z][a-z0-9-]*-[2456789bcdfghkmt]{10}\Z"
)
"""A path, a URL, something that is put in later or encrypted, a digest, a name that kustomize made."""
_REFERS: Final = (
    r"(?s)[/~.][\w./-]*|.*(?:://|\$[({]|\{\{|%\().*|ENC\[.*|vault:.*|[\w.-]*\w\.\w*"
    r"(?:ya?ml|json|txt|pem|key|crt|conf|env|ini|toml|py|sh|file|password|passwd|pass|pwd|token|secret)[,;]?"
    r"|[\w.]+\(.*\)[,;]?"
)
"""A path, a URL, a field of something, text with a part that is put in later: no word that a person chose."""
_SHORTEST: Final = 8
"""Characters of the shortest part that can be told from a word."""
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
_MIXED: Final = (
    r"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9].*[0-9])[\w!@#$%^&*?+=-]{10,64}"
    r"|(?i:(?:[\w-]*[-_])?(?=[a-z0-9]*[0-9]{3})(?=[a-z0-9]*[a-z]{3})[a-z0-9]{16,64})"
)
_WORD: Final = r"[^\s/]{6,64}"


def looks_secret(value: str) -> bool:
    """Whether it looks random: letters, digits and signs take turns more often than in words."""
    text = value.strip()
    if not _SHORTEST <= len(text) <= _LONGEST or len(set(text)) < _DISTINCT:
        return False
    if compiled(_ELSEWHERE).match(text) or _UUID.fullmatch(text):
        return False
    return any(_is_random(each) for each in _SPLIT.split(text))


def looks_mixed(value: str) -> bool:
    """Whether a careful person may have chosen it: SummerVision2026, or a long word with digits, sk-abcdef1234567890."""
    return _is_chosen(value.strip(), _MIXED)


def looks_chosen(value: str) -> bool:
    """Whether a person may have chosen it: any plain word."""
    text = value.strip()
    return compiled(_NOT_CHOSEN).fullmatch(text) is None and _is_chosen(text, _WORD)


def _is_chosen(text: str, form: str) -> bool:
    is_one = compiled(form).fullmatch(text) and not compiled(_REFERS).fullmatch(text)
    return bool(is_one) and not is_no_password(text)


def is_no_password(text: str) -> bool:
    """Whether it stands in the place of a password, or says no more than that it is one: `my-password`, `$password`."""
    return is_placeholder(text) or _only_says(text.strip().removeprefix("$"), _DESCRIBING)


def _is_random(part: str) -> bool:
    if len(part) < _SHORTEST:
        return False
    pieces = len(_PIECE.findall(part))
    wordy = _WORDY_LONG if len(part) >= _LONG else _WORDY
    return _HEX.fullmatch(part) is not None or (pieces > _NUMBERED and len(part) / pieces < wordy)


_VARIABLE: Final = r"[A-Za-z_][\w.-]{0,80}"
_REFERENCE: Final = (
    rf"\$\{{[^{{}}]+\}}|\$\([^()]+\)|\$[A-Z_][A-Z0-9_]*|\{{\{{[^{{}}]+\}}\}}|\{{{_VARIABLE}(?:\([^{{}}]*\))?\}}"
    rf"|<[^<>\n]+>|\[[A-Za-z][A-Za-z _.-]*\]|%\({_VARIABLE}\)s|%[A-Z_][A-Z0-9_]*%|@@?[A-Z_][A-Z0-9_]*@?@"
    rf"|\#\{{{_VARIABLE}\}}\#?|__[A-Za-z]\w*__|\[\[[^\[\]]+\]\]|\$\$[A-Z_]+|@Microsoft\.KeyVault\(.*\)"
    r"|projects/[\w-]+/secrets/\S+"
    r"|ENC\[[^\]\n]*\]?|(?:vault|op|ref\+[a-z]+|secretref\+[a-z]+|gcpsm|awssm)://?\S+|vault:\S+"
    r"|arn:aws[\w-]*:(?:secretsmanager|ssm):\S+|!vault\b.*|(?:env|file|fd):[\w./-]+"
)
"""What tools put a value in the place of: shells, envsubst, Helm, Ansible, Argo CD's and other plugins, SOPS,
and addresses of stores of secrets."""
_INSIDE: Final = rf"\$\{{[^{{}}]+\}}|\$\({_VARIABLE}\)|\{{\{{[^{{}}]+\}}\}}"
"""Such a reference as a part of a text."""
_DEFAULT: Final = re.compile(r"\$\{\w+:?[-=](?P<default>[^{}]+)\}")
"""A variable of a shell with what holds where it is not set."""
_CROSSED_OUT: Final = re.compile(r"(.)\1*|(?:[A-Za-z]{1,6}[-_])?[xX*.•…_-]+", re.DOTALL)
"""One character again and again, `hf_xxxxxxxx`."""
_MARKS: Final = words_of(
    "change changeme changeit replace replaceme your yours insert enter fill todo fixme tbd "
    "placeholder example sample redacted dummy fake here override provide supply injected "
    "managed filled unset generated externally"
)
"""Words of which each placeholder has one."""
_DESCRIBING: Final = words_of(
    "token tokens key keys secret secrets pass passwd password passwords pwd credential "
    "credentials apikey"
)
"""Words that say what it is."""
_PLACEHOLDER_WORDS: Final = words_of(
    "a access account actual add admin an and api app argocd at auth aws azure base base64 be before by ci client "
    "cluster code commit config cookie data database dataset db default deploy deployment dev do encoded encrypted "
    "encryption env environment existing face flux for from gcp git github gitlab google helm hf hub hugging "
    "huggingface in it its job jwt later local main manually master me minio ml mlflow model must my name never not "
    "oauth of on openai operator or outside own passphrase pat personal pipeline please postgres private prod "
    "production put real redis registry root runtime s3 sealed service session set should signing sk some something "
    "sops ssh staging string strong team terraform test text that the this time to train trainer training user "
    "username using value vault via wandb webhook with yaml"
).union(_MARKS, _DESCRIBING)
"""All that it may have."""
_COUNT: Final = re.compile(r"(?<!\d)\d{1,2}\Z")
_WORD_ENDS: Final = re.compile(r"[\s_.,:;!?'\"()-]+|(?<=[a-z])(?=[A-Z])")


def is_placeholder(text: str) -> bool:
    """Whether the whole of it stands in the place of a secret until you or a tool fills it in: `changeme`, `${TOKEN}`.

    `change-Kirschbaum-2031!` is a password, and so is `$ecret-Winter`.
    """
    own = text.strip()
    default = _DEFAULT.fullmatch(own)
    if default:
        return is_no_password(default["default"])
    if not own or compiled(_REFERENCE).fullmatch(own) or _CROSSED_OUT.fullmatch(own):
        return True
    return _only_says(own, _MARKS)


def without_references(text: str) -> str:
    """The text without what tools put in: `https://team:${TOKEN}@host` has no secret by itself."""
    return compiled(_INSIDE).sub("", text)


def with_defaults(text: str) -> str:
    """The text with what a shell takes where a variable is not set: `${TOKEN:-a}` is `a`."""
    return _DEFAULT.sub(r"\g<default>", text)


def _only_says(text: str, needed: frozenset[str]) -> bool:
    """Whether it has but words of placeholders, with numbers that count them, and one of those that are needed."""
    words = {_COUNT.sub("", each).lower() for each in _WORD_ENDS.split(text)} - {""}
    return not words.isdisjoint(needed) and words <= _PLACEHOLDER_WORDS
