"""package-index: packages that a container installs when it starts come from indexes that are trusted."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import separated
from trainer_infra.render.command_lines.references import UNREAD, Fault
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, Place
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity
from trainer_infra.rules.supply_chain import downloads

INDEX, EXTRA, TRUSTED, CHANNEL = "index", "further index", "trusted host", "channel"
"""What an option, a variable or a setting says of where packages come from."""
_ROLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("i", "index-url", "pypi-url", "default-index", "registry"), INDEX),
    **dict.fromkeys(("f", "extra-index-url", "find-links", "uv-index", "index"), EXTRA),
    **dict.fromkeys(("trusted-host", "allow-insecure-host", "insecure-host"), TRUSTED),
    **dict.fromkeys(("c", "channel", "channels", "channel-alias", "default-channels"), CHANNEL),
}
"""Of pip, uv, conda and npm, by the name without dashes before it and without the program."""
_OPTIONS: Final = frozenset(f"{'--' if each[1:] else '-'}{each}" for each in _ROLES)
_VARIABLE: Final = re.compile(r"(?:PIP|UV(?!_INDEX$)|NPM_CONFIG|npm_config|CONDA)_(\w+)|(UV_INDEX)")
_OF_CONDA: Final = frozenset({"conda", "mamba", "micromamba"})
_OF_NPM: Final = frozenset({"npm", "pnpm", "yarn"})
_ADD: Final = ("--add", "--prepend", "--append", "--set")
"""Options of `conda config`."""
_ONLY_IN: Final = {
    "registry": ("npm", "yarn"),
    **dict.fromkeys(("channels", "channel_alias", "default_channels"), ("conda", "environment.y")),
}
"""Parts of the name or the text of a file without which a setting is that of another program."""
_SETTING: Final = re.compile(
    r"(?:^|[\"']|\\n)[ \t]*((?:extra[-_])?index[-_]url|default-index|registry|find[-_]links|trusted[-_]host"
    r"|allow-insecure-host|channels|channel_alias|default_channels)"
    r"[ \t]*[=:]((?:[^\n\"']*)(?:\n[ \t]+-?[ \t]*\S+|\n-[ \t]+\S+)*)",
    re.MULTILINE,
)
"""Of pip.conf, uv.toml, .npmrc and .condarc."""
_MARKS: Final = (
    *("index", "source]]", "find-links", "find_links"),
    *("trusted", "insecure", "registry", "channel"),
)
_NAMED: Final = re.compile(r"^[\w.-]+=(?=https?:)")
"""What uv has before the URL of an index with a name."""
_TABLE: Final = re.compile(
    r"\[\[(?:tool\.uv\.|tool\.poetry\.|tool\.pdm\.)?(?:index|source)\]\][^\[]*?\burl[ \t]*=[ \t]*[\"']([^\"'\n]+)"
)
"""An index of uv.toml or of pyproject.toml."""
_PUBLIC: Final = ("pypi.org", "files.pythonhosted.org", "pypi.python.org", "test.pypi.org")
_OF_VENDORS: Final = (
    *("download.pytorch.org", "pypi.nvidia.com", "pypi.ngc.nvidia.com", "data.pyg.org"),
    *("storage.googleapis.com/jax-releases", "storage.googleapis.com/libtpu-releases"),
    *("storage.googleapis.com/libtpu-wheels", "wheels.vllm.ai", "flashinfer.ai", "repo.radeon.com"),
    *("pip.repos.neuron.amazonaws.com", "conda.anaconda.org", "repo.anaconda.com"),
    *("registry.npmjs.org", "developer.download.nvidia.com", "download.openmmlab.com"),
    *("us-python.pkg.dev/ml-oss-artifacts-published", "pytorch-extension.intel.com"),
    *("vault.habana.ai", "www.paddlepaddle.org.cn", "aiinfra.pkgs.visualstudio.com"),
)
"""Indexes of the makers of frameworks and accelerators, which their guides name beside PyPI."""
_TEST: Final = "test.pypi.org"
"""To which anybody uploads any name."""


class PackageIndex(Parameters):
    """Where packages may come from."""

    allow: tuple[str, ...] | None = None
    """Hosts of indexes, or hosts with the beginning of a path, `pypi.org`, and names of conda's channels; None
    for any: then indexes beside the first one, plain HTTP and trusted hosts are found."""


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where packages come from, as one option, variable or setting says it."""

    role: str
    value: str
    """A URL, a host or a channel."""
    named: str
    """The option, variable or setting."""


def _check_indexes(place: Place, context: Context[PackageIndex]) -> Iterator[Finding]:
    allow = context.parameters.allow
    if isinstance(place, CodeText):
        for what, fix in _faults(_of_text(place), allow):
            yield place.value.finding(what, None, fix)
        return
    for each in place.line.every:
        for what, fix in _faults(_of_program(each), allow):
            yield place.finding(each, what, fix)


def _faults(origins: Iterable[_Origin], allow: tuple[str, ...] | None) -> Iterator[Fault]:
    """What is wrong with where one command, variable or file has packages from."""
    given = tuple(origins)
    urls = (each.value for each in given if each.role == INDEX and "://" in each.value)
    has_own = not all(_is_in(each, (*_PUBLIC, *_OF_VENDORS)) for each in urls)
    # Beside an index of one's own, anybody's uploads replace what is there.
    trusted = _OF_VENDORS if has_own else (*_PUBLIC, *_OF_VENDORS)
    for each in given:
        if what := _fault(each, allow, trusted):
            yield what, _fix(each, allow)


def _of_program(program: Program) -> Iterator[_Origin]:
    for name, value in program.around.settings.items():
        yield from _of_variable(name, value)
    is_npm, is_conda = program.file in _OF_NPM, program.file in _OF_CONDA
    words = program.starts if is_npm else downloads.installed_words(program)
    if not words:
        return
    options, others = separated(words, _OPTIONS)
    for name, values in options.items():
        role = _ROLES.get(name.lstrip("-"))
        if role is not None and (role == CHANNEL) == is_conda:
            yield from (_Origin(role, each, name) for each in values)
    if others[:2] == ("source", "add"):
        yield from (_Origin(EXTRA, each, "source add") for each in others if "://" in each)
    if others[:1] == ("config",):
        added = (value for each in _ADD for value in options.get(each, ()))
        yield from _of_settings((*others[1:], *added))


def _of_settings(words: Iterable[str]) -> Iterator[_Origin]:
    """`pip config set global.index-url URL`, `npm config set registry URL`, `conda config --add channels C`."""
    for name, value in itertools.pairwise(words):
        key, equals, behind = name.rpartition(".")[2].partition("=")
        if role := _ROLES.get(key.replace("_", "-")):
            yield from (_Origin(role, each, key) for each in (behind if equals else value).split())


def _of_variable(name: str, value: str) -> Iterator[_Origin]:
    found = _VARIABLE.fullmatch(name)
    role = _ROLES.get((found[1] or found[2]).lower().replace("_", "-")) if found else None
    if role is not None:
        given = (_NAMED.sub("", each) for each in re.split(r"[\s,]+", value) if each)
        yield from (_Origin(role, each, name) for each in given)


def _of_text(place: CodeText) -> Iterator[_Origin]:
    text = place.text
    if _VARIABLE.fullmatch(place.name):
        yield from _of_variable(place.name, text)
        return
    for found in _SETTING.finditer(text):
        key = found[1]
        if any(each in text + place.name for each in _ONLY_IN.get(key, ("",))):
            role, values = _ROLES[key.replace("_", "-")], re.split(r"[\s,\[\]\"']+|\\n.*", found[2])
            yield from (_Origin(role, each, key) for each in values if each.strip("-"))
    yield from (_Origin(EXTRA, found[1], "url") for found in _TABLE.finditer(text))


def _fault(origin: _Origin, allow: tuple[str, ...] | None, trusted: Iterable[str]) -> str:
    """What is wrong with where packages come from, in words that show no credential; empty for nothing."""
    role, value = origin.role, origin.value
    is_named = role == TRUSTED or (role == CHANNEL and allow is not None)
    is_known = is_named or value.startswith(("http://", "https://", "//"))
    host = downloads.host_of(value)
    if UNREAD in value or not is_known or not host:
        return ""
    shown = f"{host} by {origin.named}"
    if allow is not None:
        return "" if _is_in(value, allow) else f"takes packages from {shown}, which is not allowed"
    if downloads.is_inside(host):
        return ""
    is_foreign = role in (EXTRA, CHANNEL) and not _is_in(value, trusted)
    source = f"takes packages from {shown}"
    faults = {
        f"trusts {shown} without checking its certificate": role == TRUSTED,
        f"{source}, over plain HTTP": value.startswith("http://"),
        f"{source}, where anybody uploads any name": host == _TEST,
        f"{source} too, and a package may come from either": is_foreign,
    }
    return next((what for what, is_wrong in faults.items() if is_wrong), "")


def _is_in(value: str, allow: Iterable[str]) -> bool:
    """Whether a URL, a host or a channel is, or is below, one that is allowed."""
    whole = re.sub(r"^(?:https?:)?//(?:[^/@]*@)?", "", value).rstrip("/") + "/"
    given = (whole, re.sub(r":\d+(?=/)", "", whole, count=1))
    allowed = tuple(f"{each.rstrip('/')}/" for each in allow)
    return any(each.startswith(allowed) for each in given)


def _fix(origin: _Origin, allow: tuple[str, ...] | None) -> str:
    if allow is not None:
        return f"use {' or '.join(allow) or 'no index: none is allowed'}"
    if origin.role == TRUSTED:
        return "give pip the certificate of that host, --cert, and leave the option out"
    if origin.role == EXTRA:
        return "use one index that mirrors both, --index-url, or put the index in `allow`"
    return "use https, and an index whose uploads are yours"


RULE: Final = Rule(
    id="package-index",
    title="Packages must come from trusted indexes",
    severity=Severity.MEDIUM,
    kinds=commands.KINDS,
    tags=("supply-chain", "commands"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "With several indexes anyone can publish a higher version of a private package on a public one, and "
        "without TLS anyone on the way can replace a package: it runs with the job's data and tokens."
    ),
    fix="Use one index over HTTPS, and list the indexes that you trust in `allow`.",
    places=commands.places_with(*_MARKS),
    check=_check_indexes,
    parameters=PackageIndex,
)
"""Dependency confusion: pip, "--extra-index-url" (https://pip.pypa.io/en/stable/cli/pip_install/)."""
