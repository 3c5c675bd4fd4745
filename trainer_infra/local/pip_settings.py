"""What pip of this machine is set to, as variables that say the same to uv. Pure.

A setting that cannot be said to uv is a reason to install with pip.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Final

LIST: Final = ("-m", "pip", "config", "list")
"""Arguments of a Python that has pip: prints all settings, of files and variables."""

_TOLD: Final = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "retries": ("UV_HTTP_RETRIES", " "),
}
"""A setting, and the variable of uv with what is between two values of it."""
_INDEXES: Final = frozenset({"UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"})
_IGNORED: Final = frozenset(
    {
        "break-system-packages", "cache-dir", "config-file", "disable-pip-version-check", "exists-action",
        "log", "no-cache-dir", "no-color", "no-input", "no-warn-script-location", "progress-bar",
        "quiet", "require-virtualenv", "root-user-action", "user", "verbose",
    }
)  # fmt: skip
"""Settings that change neither what is installed nor where it comes from."""
_SECTIONS: Final = ("global", "install", ":env:")
"""Which count for an installation, the last one most."""


def pip_settings(lines: Sequence[str]) -> dict[str, str]:
    """The settings that `pip config list` printed."""
    found: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in lines:
        name, equals, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if equals and section in found:
            found[section][key] = str(ast.literal_eval(value))
    return {key: value for each in found.values() for key, value in each.items()}


def pip_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings in PIP_* variables, where there is no pip to ask."""
    return {
        name.removeprefix("PIP_").lower().replace("_", "-"): value
        for name, value in environment.items()
        if name.startswith("PIP_") and name != "PIP_CONFIG_FILE"
    }


def not_passed_on(settings: Mapping[str, str]) -> str:
    """A setting that has no counterpart in uv; empty where each has one."""
    return next((key for key in settings if key not in _IGNORED and key not in _TOLD), "")


def for_uv(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Variables that say pip's settings to uv, each of which can be; what the user's `own` variables say stays."""
    told = {}
    for key, value in settings.items():
        if key in _TOLD:
            name, between = _TOLD[key]
            told[name] = between.join(value.split())
    if _INDEXES & own.keys():
        told = {name: value for name, value in told.items() if name not in _INDEXES}
    if "UV_INDEX" in told:
        # To pip all indexes are equal; uv by itself would take the first that knows a name.
        told["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return {name: value for name, value in told.items() if name not in own or name == _CERT}


_CERT: Final = "SSL_CERT_FILE"
"""pip's own certificate is meant for indexes, the machine's for everything."""
