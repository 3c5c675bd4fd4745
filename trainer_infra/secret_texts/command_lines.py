"""Passwords that command lines and calls take at a place of their own, without a name that says so."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.secret_texts.values import compiled
from trainer_infra.secret_texts.variable_names import is_secret_value

_VALUE: Final = r"[\"']?(?P<value>(?![-$=<{])[^\s\"'|;&<>()]{4,256})"
_QUOTED: Final = r"[rfb]?\\?[\"'](?P<value>[^\s\"'\\]{4,256})\\?[\"']"
_SAME: Final = r"(?:(?!&&)[^\n|;]){0,300}?"
"""The rest of the same command."""
_KEY: Final = "api_key"
_PASSWORD: Final = "password"  # noqa: S105  a name

_USER: Final = r"[\"'][^\"'\n]{0,128}[\"'],\s{0,4}"
_OPTIONS: Final = (
    *(("mysql", r"mysql[\w-]*", "-p"), ("mariadb", r"mariadb[\w-]*", "-p"), ("7z", "7z[ar]?", "-p")),
    *(("mongo", r"mongo\w*", "-p[ =]?"), ("sshpass", "sshpass", r"-p\s?"), ("zip", "(?:un)?zip", r"-P\s?")),
    *(("ldap", r"ldap\w+", r"-w\s?"), ("redis-cli", "redis-cli", r"-a\s+"), ("ssh-keygen", "ssh-keygen", r"-N\s?")),
    *(("cqlsh", "cqlsh", r"-p\s?"), ("sqlcmd", "sqlcmd", r"-P\s?"), ("openssl", "openssl", r"-k\s")),
)  # fmt: skip
"""A part of the name of a program, all of it, and the option that takes its password."""
_PLACES: Final = (
    *((_PASSWORD, mark, rf"\b{program}\b{_SAME}\s{option}{_VALUE}") for mark, program, option in _OPTIONS),
    *(
        (_PASSWORD, setting, rf"\b{setting}\s+(?:--plaintext\s+)?{_VALUE}")
        for setting in ("bindpw", "rootpw", "requirepass", "masterauth")
    ),
    *((_KEY, command, rf"\b{command}\s+{_VALUE}") for command in ("authtoken", "rclone obscure", "vault login")),
    (_KEY, "login(", rf"\blogin\(\s{{0,20}}(?:[^()\n]{{0,120}}?\b(?:key|token)\s?=\s?)?{_QUOTED}"),
    (_PASSWORD, "auth", rf"\b(?:basic_)?auth\s?=\s?\(\s{{0,2}}{_USER}{_QUOTED}"),
    (_PASSWORD, "BasicAuth", rf"BasicAuth\w*\(\s{{0,4}}{_USER}{_QUOTED}"),
    (_PASSWORD, ".login(", rf"\.login\(\s{{0,4}}{_USER}{_QUOTED}"),
    (_PASSWORD, "uthorization", rf"[Aa]uthorization\\?[\"']?\]?\s?[:=,]?\s?f?\\?[\"']?(?:[Bb]earer|[Bb]asic|[Tt]oken|[Aa]pi-?[Kk]ey)\s{{1,2}}{_VALUE}"),
    (_PASSWORD, "curl", rf"\bcurl\b{_SAME}\s(?:-[a-zA-Z]*u|--user|-U|--proxy-user)[ =]?[\"']?[^\s:\"'=-][^\s:\"']{{0,127}}:{_VALUE}"),
    (_PASSWORD, "creds", rf"--?(?:\w+-)?creds[ =][\"']?[^\s:\"']{{1,128}}:{_VALUE}"),
    (_PASSWORD, "http ", rf"\bhttps?\b{_SAME}\s(?:-a|--auth)[ =][\"']?[^\s:\"']{{1,128}}:{_VALUE}"),
    (_PASSWORD, "login", rf"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane|regctl|az|oc|hub){_SAME}\blogin\b{_SAME}\s-p[ =]?{_VALUE}"),
    (_PASSWORD, ".token", rf"--(?:NotebookApp|ServerApp|IdentityProvider)\.token[= ][\"']?{_VALUE}"),
    (_PASSWORD, "pass:", rf"\bpass:{_VALUE}"),
    (_PASSWORD, "smbclient", rf"\bsmbclient\b{_SAME}\s-U\s?[\"']?[^\s%]{{1,64}}%{_VALUE}"),
    (_PASSWORD, "lftp", rf"\blftp\b{_SAME}\s-u\s?[\"']?[^\s,]{{1,64}},{_VALUE}"),
    (_PASSWORD, "_passwd", rf"\bmosquitto_passwd\b{_SAME}\s-b\s+\S+\s+\S+\s+{_VALUE}"),
    (_PASSWORD, "htpasswd", rf"\bhtpasswd\b{_SAME}\s-(?:(?=\w*n)\w*b\w*|\w*b\w*\s+\S+)\s+\S+\s+{_VALUE}"),
    (_PASSWORD, "rabbitmqctl", rf"\brabbitmqctl\b{_SAME}\s(?:add_user|change_password)\s+\S+\s+{_VALUE}"),
    (_PASSWORD, "assword(", rf"\b(?:set|with)?_?[Pp]assword\(\s{{0,4}}{_QUOTED}"),
    (_PASSWORD, "echo ", r"\becho\s+(?:-n\s+)?[\"']?(?:[\w.-]{1,64}:)?(?P<value>(?![-$])[^\s\"'|]{4,256})[\"']?\s*\|[^\n|]{0,120}(?:-stdin|--with-token|--stdin|\bchpasswd\b|sudo -S|\bpasswd\b)"),
    (_PASSWORD, " '", r"\b(?:IDENTIFIED (?:WITH \w+ )?BY|PASSWORD) '(?P<value>[^\s']{4,256})'"),
    (_PASSWORD, "--from-literal", rf"\bsecret generic{_SAME}--from-literal[ =][\"']?[\w.-]{{1,80}}={_VALUE}"),
    ("wandb_api_key", "wandb", rf"\bwandb\s+login\s+(?:--?\S+\s+)*{_VALUE}"),
    (_KEY, "mc", rf"\bmc\b{_SAME}\b(?:(?:alias set|config host add)\s+\S+|admin user add)\s+\S+\s+\S+\s+{_VALUE}"),
    (_PASSWORD, "spark.", rf"\bspark\.[\w.]*(?:password|secret|key|token)[ \t]+{_VALUE}"),
)  # fmt: skip
"""What the value would be named, a part that each such text has, and where the value stands."""
_LISTED: Final = re.compile(r"\\?[\"']\s?,\s{0,40}\\?[\"'](?=[^\s\"'])|\n\s*-\s+[\"']?")
"""What stands between words of a list, as code or YAML writes it."""


def given_passwords(text: str) -> Iterator[tuple[str, str]]:
    """What would be the name of each password, and the password."""
    if " " not in text and "(" not in text:
        return
    for each in dict.fromkeys((text, _LISTED.sub(" ", text))):
        for name, pattern in [(name, rest) for name, mark, rest in _PLACES if mark in each]:
            values = (found["value"] for found in compiled(pattern).finditer(each))
            yield from ((name, value) for value in values if is_secret_value(name, value))
