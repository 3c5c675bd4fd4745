"""package-index: packages that a container installs when it starts come from indexes that are trusted."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.supply_chain import downloads

INDEX, EXTRA, TRUSTED, CHANNEL = "index", "further index", "trusted host", "channel"
"""What an option says of where packages come from."""
_OPTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("-i", "--index-url", "--pypi-url", "--default-index", "--index", "--registry"), INDEX
    ),
    **dict.fromkeys(("--extra-index-url", "-f", "--find-links"), EXTRA),
    **dict.fromkeys(("--trusted-host", "--allow-insecure-host"), TRUSTED),
    **dict.fromkeys(("-c", "--channel"), CHANNEL),
}
"""Of pip, uv, conda and npm."""
_OF_CONDA: Final = frozenset({"conda", "mamba", "micromamba"})
_OF_NPM: Final = frozenset({"npm", "pnpm", "yarn"})
_VARIABLES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"), INDEX),
    **dict.fromkeys(("NPM_CONFIG_REGISTRY", "npm_config_registry"), INDEX),
    **dict.fromkeys(("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX"), EXTRA),
    **dict.fromkeys(("PIP_FIND_LINKS", "UV_FIND_LINKS"), EXTRA),
    **dict.fromkeys(("PIP_TRUSTED_HOST", "UV_INSECURE_HOST"), TRUSTED),
    **dict.fromkeys(("CONDA_CHANNELS", "CONDA_CHANNEL_ALIAS"), CHANNEL),
}
_SETTINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("index-url", "index_url", "default-index", "registry"), INDEX),
    **dict.fromkeys(("extra-index-url", "extra_index_url", "find-links", "find_links"), EXTRA),
    **dict.fromkeys(("trusted-host", "trusted_host", "allow-insecure-host"), TRUSTED),
    **dict.fromkeys(("channels", "channel_alias", "default_channels"), CHANNEL),
}
"""Of pip.conf, uv.toml, .npmrc and .condarc."""
_ONLY_IN: Final = {
    "registry": ("npm", "yarn"),
    **dict.fromkeys(("channels", "channel_alias", "default_channels"), ("conda", "environment.y")),
}
"""Parts of the name or the text of a file without which a setting is that of another program."""
_SETTING: Final = re.compile(
    rf"(?:^|[\"']|\\n)[ \t]*({'|'.join(_SETTINGS)})[ \t]*[=:]((?:[^\n\"']*)(?:\n[ \t]+-?[ \t]*\S+|\n-[ \t]+\S+)*)",
    re.MULTILINE,
)
_MARKS: Final = ("index", "source]]", "find-links", "find_links", "trusted", "registry", "channel")
_NAMED: Final = re.compile(r"^[\w.-]+=(?=https?:)")
"""What uv has before the URL of an index with a name."""
_TABLE: Final = re.compile(
    r"\[\[(?:tool\.uv\.|tool\.poetry\.|tool\.pdm\.)?(?:index|source)\]\][^\[]*?\burl[ \t]*=[ \t]*[\"']([^\"'\n]+)"
)
"""An index of uv.toml or of pyproject.toml."""
_OF_VENDORS: Final = (
    *("pypi.org", "files.pythonhosted.org", "pypi.python.org", "test.pypi.org"),
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


Place = ContainerCommand | CodeText


def _places(subject: Subject) -> Iterator[Place]:
    yield from commands.commands_of(subject)
    yield from commands.texts_of(subject)


def _check_indexes(place: Place, context: Context[PackageIndex]) -> Iterator[Finding]:
    if isinstance(place, ContainerCommand):
        for each in place.line.every:
            for origin in _of_program(each):
                if what := _fault(origin, context.parameters.allow):
                    yield place.finding(each, what, _fix(origin, context.parameters.allow))
        return
    for origin in _of_text(place):
        if what := _fault(origin, context.parameters.allow):
            yield place.value.finding(what, None, _fix(origin, context.parameters.allow))


def _of_program(program: Program) -> Iterator[_Origin]:
    given = program.around.settings
    yield from (
        each
        for name in given.keys() & _VARIABLES.keys()
        for each in _of_variable(name, given[name])
    )
    words, file = downloads.installed_words(program), program.file
    is_npm = file in _OF_NPM
    if not words and not is_npm:
        return
    words = program.starts if is_npm else words
    options, others = separated(words, frozenset(_OPTIONS))
    is_conda = file in _OF_CONDA
    for name, values in options.items():
        role = _OPTIONS.get(name)
        if role is not None and (role == CHANNEL) == is_conda:
            yield from (_Origin(role, each, name) for each in values)
    if others[:1] == ("config",):
        yield from _of_settings(others[1:], options)


def _of_settings(
    words: tuple[str, ...], options: Mapping[str, tuple[str, ...]]
) -> Iterator[_Origin]:
    """`pip config set global.index-url URL`, `npm config set registry URL`, `conda config --add channels C`."""
    given = (
        *words,
        *(
            value
            for each in ("--add", "--prepend", "--append", "--set")
            for value in options.get(each, ())
        ),
    )
    for name, value in itertools.pairwise(given):
        key, equals, behind = name.rpartition(".")[2].partition("=")
        if key in _SETTINGS:
            yield from (
                _Origin(_SETTINGS[key], each, key) for each in (behind if equals else value).split()
            )


def _of_variable(name: str, value: str) -> Iterator[_Origin]:
    role = _VARIABLES.get(name)
    if role is not None:
        yield from (
            _Origin(role, _NAMED.sub("", each), name) for each in re.split(r"[\s,]+", value) if each
        )


def _of_text(place: CodeText) -> Iterator[_Origin]:
    text = place.value.raw
    if not isinstance(text, str):
        return
    if place.name in _VARIABLES:
        yield from _of_variable(place.name, text)
    elif any(each in text for each in _MARKS):
        for found in _SETTING.finditer(text):
            if all(each not in text + place.name for each in _ONLY_IN.get(found[1], ("",))):
                continue
            for value in re.split(r"[\s,\[\]\"']+|\\n.*", found[2]):
                if value.strip("-"):
                    yield _Origin(_SETTINGS[found[1]], value, found[1])
        yield from (_Origin(EXTRA, found[1], "url") for found in _TABLE.finditer(text))


def _fault(origin: _Origin, allow: tuple[str, ...] | None) -> str:
    """What is wrong with where packages come from, in words that show no credential; empty for nothing."""
    value = origin.value
    host = downloads.host_of(value) if value.startswith(("http://", "https://", "//")) else ""
    is_named = origin.role in (CHANNEL, TRUSTED)
    if UNREAD in value or not (host or is_named):
        return ""
    shown = f"{host or downloads.host_of(value)} by {origin.named}"
    if allow is not None:
        return "" if _is_in(value, allow) else f"takes packages from {shown}, which is not allowed"
    if _is_inside(host or value):
        return ""
    if origin.role == TRUSTED:
        return f"trusts {shown} without checking its certificate"
    return _fault_of_url(origin, host, shown)


def _fault_of_url(origin: _Origin, host: str, shown: str) -> str:
    if origin.value.startswith("http://"):
        return f"takes packages from {shown}, over plain HTTP"
    if host == _TEST:
        return f"takes packages from {shown}, where anybody uploads any name"
    if origin.role == EXTRA and not _is_in(origin.value, _OF_VENDORS):
        return f"takes packages from {shown} too, and pip installs the highest version of any index"
    return ""


def _is_in(value: str, allow: Iterable[str]) -> bool:
    """Whether a URL, a host or a channel is, or is below, one that is allowed."""
    whole = re.sub(r"^(?:https?:)?//(?:[^/@]*@)?", "", value).rstrip("/")
    found = (whole, re.sub(r":\d+(?=/|$)", "", whole, count=1))
    return any(
        one == each.rstrip("/") or one.startswith(f"{each.rstrip('/')}/")
        for each in allow
        for one in found
    )


def _is_inside(host: str) -> bool:
    """Whether a host is in the cluster or on this machine: a name without a domain, or of a Service."""
    name = host.partition(":")[0]
    return (
        "." not in name
        or name.endswith((".svc", ".cluster.local", ".local"))
        or name == "127.0.0.1"
    )


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
    places=_places,
    check=_check_indexes,
    parameters=PackageIndex,
)
"""Dependency confusion: pip, "--extra-index-url" (https://pip.pypa.io/en/stable/cli/pip_install/)."""
