"""Secrets that are known by their form, wherever they stand.

Each form is the issuer's published one: a fixed beginning, then enough characters to be no word.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.secret_texts.values import compiled, is_no_password

_REPEATED: Final = re.compile(r"(.)\1{7}")
"""One character again and again, as in `hf_xxxxxxxxxxxx`."""
_BEFORE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""No letter, or one of an escape: `\\n` in JSON, `%3D` in a URL."""

_TOKENS: Final = (
    ("Hugging Face token", "hf_", r"hf_(?=[A-Za-z]*[A-Z0-9])[A-Za-z0-9]{20,}"),
    ("Hugging Face token", "api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    ("AWS access key", "AKIA", r"AKIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS access key", "ASIA", r"ASIA[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("AWS access key", "ABSK", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("Alibaba Cloud access key", "LTAI", r"LTAI[A-Za-z0-9]{12,26}(?![0-9A-Za-z])"),
    ("GitHub token", "gh", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    ("GitHub token", "github_pat_", r"github_pat_\w{22,}"),
    ("GitLab token", "gl", r"gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|agent|imt)-[\w-]{20,}"),
    ("Atlassian token", "AT", r"AT(?:ATT|CTT|BB)3[\w=.-]{60,}"),
    ("Slack token", "xox", r"xox[abeprs]-[A-Za-z0-9-]{10,}"),
    ("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{10,}"),
    ("Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}"),
    ("Teams webhook", "webhook.office.com", r"webhook\.office\.com/webhookb2/[^\s\"']{40,}"),
    ("Discord webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d{15,}/[\w-]{50,}"),
    ("Telegram token", ":AA", r"\d{8,10}:AA[\w-]{33}(?![\w-])"),
    ("Google API key", "AIza", r"AIza[\w-]{30,}"),
    ("Google access token", "ya29.", r"ya29\.[\w-]{20,}"),
    ("Google refresh token", "1//0", r"1//0[\w-]{30,}"),
    ("Google client secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    ("OpenAI or Anthropic key", "sk-", r"sk-(?:proj|svcacct|admin|None|ant|or-v1|lf)-[\w-]{20,}"),
    ("OpenAI or Anthropic key", "sk-", r"sk-(?:[A-Za-z0-9]{48}|[0-9a-f]{32})(?![A-Za-z0-9])"),
    ("NVIDIA API key", "nvapi-", r"nvapi-[\w-]{30,}"),
    ("Weights & Biases API key", "wandb_v1_", r"wandb_v1_\w{30,}"),
    ("Replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{30,}"),
    ("xAI key", "xai-", r"xai-[A-Za-z0-9]{60,}"),
    ("Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    ("Fireworks key", "fw_", r"fw_[A-Za-z0-9]{20,}(?![A-Za-z0-9_])"),
    ("Tavily key", "tvly-", r"tvly-[\w-]{20,}"),
    ("Jina key", "jina_", r"jina_[0-9a-f]{32}[\w-]{20,}"),
    ("Pinecone key", "pcsk_", r"pcsk_\w{30,}"),
    ("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{20,}_?[0-9a-f]*"),
    ("RunPod key", "rpa_", r"rpa_[A-Za-z0-9]{30,}"),
    ("Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![0-9A-Za-z])"),
    ("DigitalOcean token", "_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    ("Docker token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{20,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{30,}"),
    ("Vault token", "hv", r"hv[sbr]\.[\w-]{20,}"),
    ("Doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{36,}"),
    ("1Password token", "ops_eyJ", r"ops_eyJ[\w-]{50,}"),
    ("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,}"),
    ("Pulumi token", "pul-", r"pul-[0-9a-f]{40}(?![0-9a-f])"),
    ("Grafana token", "gl", r"gl(?:sa|c)_[\w+/=]{30,}"),
    ("Sentry token", "sntry", r"sntry[su]_[\w+/=-]{40,}"),
    ("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    ("SendGrid key", "SG.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    ("Stripe key", "k_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("Tailscale key", "tskey-", r"tskey-\w+-[\w-]{20,}"),
    ("Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    ("Azure client secret", "Q~", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"),
    ("Azure access signature", "sig=", r"sig=[A-Za-z0-9%+/]{40,}={0,2}(?![A-Za-z0-9])"),
    ("AWS access signature", "X-Amz-Signature=", r"X-Amz-Signature=[0-9a-f]{64}"),
    ("Azure storage key", "Account", r"Account[Kk]ey=[A-Za-z0-9+/]{80,}={0,2}"),
    ("Azure access key", "SharedAccessKey=", r"SharedAccessKey=[A-Za-z0-9+/]{40,}={0,2}"),
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{20,}"),
    ("JSON web token", "eyJ", r"(?<![\w-])eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    ("password of a .netrc", "password", r"(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(?P<own>\S{4,})"),
    ("password of an .npmrc", ":_", r":_(?:authToken|auth|password)\s*=\s*[\"']?(?P<own>[^\s\"']{4,})"),
    ("password of a registry", "auth", r"\\?[\"']auth\\?[\"']\s*:\s*\\?[\"'](?P<basic>[A-Za-z0-9+/]{6,}={0,2})\\?[\"']"),
    ("password of an address", "@tcp(", r"[^\s:/@\"']{1,64}:(?P<own>[^\s@]{1,256})@tcp\("),
)  # fmt: skip
"""What such a secret is, as findings name it; a part that each has; the expression of the whole of it. Its group `own`
is the secret itself, or `basic` base64 of `user:secret`, where not all of it is."""
_PARTS: Final = (
    ("private key", "PRIVATE KEY", r"-----? ?BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY[\s\S]{0,9000}?(?:----END [A-Z0-9 ]*PRIVATE KEY[A-Z -]*|\Z)"),
    ("private key", "PuTTY-User-Key-File", r"PuTTY-User-Key-File-\d: [\s\S]{0,9000}?(?:Private-MAC: \w+|\Z)"),
    *(
        ("password of a .pgpass", f":{port}:", rf"(?m)^[^\s:#/]{{1,255}}:{re.escape(port)}:[^\s:]{{1,63}}:[^\s:]{{1,63}}:(?P<own>\S{{4,}})$")
        for port in ("5432", "5433", "6432", "*")
    ),
    ("token in a URL", ":x-oauth-basic@", r"://(?P<own>[^\s/:@'\"]{8,256}):x-oauth-basic@"),
    ("Anaconda token", "/t/", r"/t/[a-z]{2}-[0-9a-f][0-9a-f-]{30,}"),
    ("password in a URL", "://", r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'\"]{0,128}:(?P<own>[^\s/@?#'\"]{1,256})@(?!sha256:)"),
)  # fmt: skip
"""The same of what may stand behind a letter."""
_FORMS: Final = (
    *((kind, mark, f"{_BEFORE}{expression}") for kind, mark, expression in _TOKENS),
    *_PARTS,
)
_SHORTEST: Final = 10
"""Characters of the shortest text that can have one."""
_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/]{20,}={0,2}(?![\w-])")
_LONGEST: Final = 1 << 16
"""Characters of what is decoded: beyond are files of other kinds."""


def secrets_by_form(text: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each secret that a text has in it; not of what only stands in the place of one."""
    if len(text) < _SHORTEST:
        return
    for kind, expression in [(kind, rest) for kind, mark, rest in _FORMS if mark in text]:
        found = compiled(expression).finditer(text)
        yield from ((kind, each[0]) for each in found if _is_own(each))


def _is_own(found: re.Match[str]) -> bool:
    parts = found.groupdict()
    own = parts.get("own") or decoded_text(parts.get("basic") or "").partition(":")[2]
    is_one = not is_no_password(own) if own else parts.get("basic") is None
    return is_one and not _REPEATED.search(found[0])


def decoded_parts(text: str) -> Iterator[tuple[str, str]]:
    """Parts of a text that are base64 of another one, which hides nothing; each with that."""
    for found in _BASE64.finditer(text):
        whole = found[0][: len(found[0]) // 4 * 4]
        plain = decoded_text(whole) if len(whole) < _LONGEST else ""
        if plain:
            yield found[0], plain


def decoded_text(text: str) -> str:
    """What base64 stands for; empty where it is none, or stands for no text."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""
