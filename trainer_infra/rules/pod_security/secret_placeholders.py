"""Texts that stand in the place of a secret until you or a tool fills it in: `changeme`, `${TOKEN}`.

A text counts as one only as a whole: `change-Kirschbaum-2031!` is a password, and so is `$ecret-Winter`.
"""

import re
from typing import Final

_NAME: Final = r"[A-Za-z_][\w.-]{0,80}"
_REFERENCE: Final = re.compile(
    rf"\$\{{[^{{}}]+\}}|\$\([^()]+\)|\$[A-Z_][A-Z0-9_]*|\{{\{{[^{{}}]+\}}\}}|\{{{_NAME}\}}"
    rf"|<[^<>\n]+>|\[[A-Za-z][A-Za-z _.-]*\]|%\({_NAME}\)s|%[A-Z_][A-Z0-9_]*%|@[A-Z_][A-Z0-9_]*@"
    r"|ENC\[[^\]\n]*\]?|(?:vault|op|ref\+[a-z]+|secretref\+[a-z]+|gcpsm|awssm)://?\S+|vault:\S+"
    r"|arn:aws[\w-]*:(?:secretsmanager|ssm):\S+"
)
"""What tools put a value in the place of: shells, envsubst, Helm, Ansible, Argo CD's and other plugins, SOPS,
and addresses of stores of secrets."""
_INSIDE: Final = re.compile(rf"\$\{{[^{{}}]+\}}|\$\({_NAME}\)|\{{\{{[^{{}}]+\}}\}}")
"""Such a reference as a part of a text."""
_CROSSED_OUT: Final = re.compile(r"(.)\1*|(?:[A-Za-z]{1,6}[-_])?[xX*.•…_-]+", re.DOTALL)
"""One character again and again, `hf_xxxxxxxx`."""
_MARK: Final = (
    r"change|changeme|changeit|replace|replaceme|yours?|insert|enter|fill|todo|fixme|tbd|placeholder"
    r"|example|sample|redacted|dummy|fake|here|override|provide|supply"
)
_MARKS: Final = re.compile(_MARK)
"""Words of which each placeholder has one."""
_WORDS: Final = re.compile(
    rf"{_MARK}|a|access|account|actual|add|admin|an|api|app|auth|aws|azure|base64|be|before|by|client|cluster"
    r"|code|config|credentials?|database|db|deploy|deployment|encoded|encrypted|env|environment|face|for"
    r"|from|gcp|generated|git|github|gitlab|google|hf|hub|hugging|huggingface|in|its?|key|later|me|minio"
    r"|mlflow|must|my|name|of|openai|or|own|pass|passphrase|passwd|password|please|postgres|prod|production"
    r"|put|real|redis|registry|root|s3|secrets?|service|set|should|some|something|ssh|staging|string|strong"
    r"|team|test|text|that|the|this|to|token|user|username|value|vault|via|wandb|with|yaml"
)
"""All that it may have."""
_SPLIT: Final = re.compile(r"[\s_.,:;!?'\"-]+|(?<=[a-z])(?=[A-Z])")


def is_placeholder(text: str) -> bool:
    """Whether the whole of it stands in the place of a secret."""
    own = text.strip()
    if not own or _REFERENCE.fullmatch(own) or _CROSSED_OUT.fullmatch(own):
        return True
    words = [each.lower() for each in _SPLIT.split(own) if each]
    return any(map(_MARKS.fullmatch, words)) and all(map(_WORDS.fullmatch, words))


def without_references(text: str) -> str:
    """The text without what tools put in: `https://team:${TOKEN}@host` has no secret by itself."""
    return _INSIDE.sub("", text)
