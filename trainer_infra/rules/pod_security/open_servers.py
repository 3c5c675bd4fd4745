"""open-servers: servers in a pod ask for a token."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject

_ANY: Final = ("0.0.0.0", "::", "[::]", "*", "+")  # noqa: S104  looked for
_LOCAL: Final = ("127.0.0.1", "localhost", "::1", "[::1]")
_JUPYTER: Final = re.compile(
    r"jupyter(?:-?(?:lab|notebook|server|_server))?|start-(?:notebook|singleuser)(?:\.sh|\.py)?"
)
_TOKEN: Final = re.compile(r"--(?:\w*App|IdentityProvider)\.token")
_UNAUTHENTICATED: Final = ("--ServerApp.allow_unauthenticated_access",)


@dataclass(frozen=True, slots=True)
class _Server:
    """A program that answers to anybody when it is started in some ways."""

    hosts: tuple[str, ...] = ()
    """Options with the address on which it listens; one that is not local opens it."""
    listens_to_all: bool = False
    """Whether it does so where no such option is given."""
    opens: tuple[str, ...] = ()
    """Options that open it, with their value where they have one, whatever the address."""
    asks: tuple[str, ...] = ()
    """Options by which it asks for a password or a token."""
    subcommands: tuple[str, ...] = ()
    """The first word that makes it a server; empty: none is needed."""


_SERVERS: Final[Mapping[str, _Server]] = {
    "tensorboard": _Server(("--host",), opens=("--bind_all", "--bind-all")),
    "code-server": _Server(("--bind-addr", "--host"), opens=("--auth none",)),
    "openvscode-server": _Server(opens=("--without-connection-token",)),
    "code": _Server(opens=("--without-connection-token",), subcommands=("serve-web",)),
    "ray": _Server(("--dashboard-host",), subcommands=("start",)),
    "mlflow": _Server(("--host", "-h"), asks=("--app-name",), subcommands=("server", "ui")),
    "http.server": _Server(("--bind", "-b"), listens_to_all=True),
    "SimpleHTTPServer": _Server(listens_to_all=True),
    "debugpy": _Server(("--listen",)),
    "gdbserver": _Server(listens_to_all=True),
    "dockerd": _Server(("-H", "--host"), asks=("--tlsverify",)),
    "ttyd": _Server(
        ("-i", "--interface"),
        listens_to_all=True,
        asks=("-c", "--credential", "-H", "--auth-header"),
    ),
    "gotty": _Server(("-a", "--address"), listens_to_all=True, asks=("-c", "--credential")),
    "redis-server": _Server(opens=("--protected-mode no",), asks=("--requirepass",)),
    "filebrowser": _Server(opens=("--noauth",)),
    "marimo": _Server(opens=("--no-token",), subcommands=("edit", "run")),
    "optuna-dashboard": _Server(("--host",)),
    "aim": _Server(("--host", "-h"), subcommands=("up", "server")),
    "kubectl": _Server(("--address",), subcommands=("proxy", "port-forward")),
    "mongod": _Server(("--bind_ip",), opens=("--bind_ip_all",), asks=("--auth", "--keyFile")),
    "x11vnc": _Server(opens=("-nopw",), asks=("-rfbauth", "-passwd")),
    "node": _Server(("--inspect", "--inspect-brk")),
}
"""By the name of the file, or of Python's module."""
_MODULES: Final = {
    "tensorboard.main": "tensorboard",
    "jupyterlab": "jupyter",
    "notebook": "jupyter",
    "jupyter_server": "jupyter",
}
_VALUED: Final = frozenset(each for server in _SERVERS.values() for each in server.hosts) | {
    "--auth",
    "--protected-mode",
}


_WRITTEN: Final = re.compile(
    r"\bc\.\w+\.token[ \t]*=[ \t]*u?(?:''(?!')|\"\"(?!\"))|(?:^|[\"'])[ \t]*PermitEmptyPasswords[ \t]+yes"
    r"|^[ \t]*auth:[ \t]*[\"']?none\b|^[ \t]*protected-mode[ \t]+no\b",
    re.MULTILINE,
)
"""The same in the settings of Jupyter, sshd, code-server and Redis."""
_OF_CODE_SERVER: Final = "bind-addr"
_OF_JUPYTER: Final = "JUPYTER_TOKEN"
_OF_SETTINGS: Final = (".token", "PermitEmpty", "auth:", "protected-mode")


def _places(subject: Subject) -> Iterator[ContainerCommand | CodeText]:
    yield from commands.commands_of(subject)
    yield from commands.texts_of(subject)


def _check_servers(
    place: ContainerCommand | CodeText, _context: Context[Parameters]
) -> Iterator[Finding]:
    fix = "let it ask for a token, or listen on 127.0.0.1 and reach it by kubectl port-forward"
    if isinstance(place, CodeText):
        text = place.value.raw
        if place.name == _OF_JUPYTER and text == "":
            yield place.value.finding("lets anybody in: Jupyter asks for no token then", None, fix)
        elif isinstance(text, str) and any(each in text for each in _OF_SETTINGS):
            found = _WRITTEN.search(text)
            if found and (_OF_CODE_SERVER in text or "auth:" not in found[0]):
                yield place.value.finding(f"lets anybody in by {found[0].strip()}", None, fix)
        return
    for each in place.line.every:
        name, words = _server_of(each)
        if what := _openness(name, words):
            yield place.finding(each, f"starts {name}, which {what}", fix)


def _server_of(program: Program) -> tuple[str, tuple[str, ...]]:
    """The name of a server and the words after it; Python's module where it runs one."""
    if program.kind == LauncherKind.PYTHON and "m" in program.options and program.starts:
        return _MODULES.get(program.starts[0], program.starts[0]), program.starts[1:]
    return program.file, program.starts


def _openness(name: str, words: tuple[str, ...]) -> str:
    """How a server lets anybody in; empty where it does not, or where that is not known."""
    options, others = separated(words, _VALUED)
    if _JUPYTER.fullmatch(name):
        return _of_jupyter(options)
    if name == "sshd":
        joined = " ".join(words).lower()
        return "takes empty passwords" if re.search(r"permitemptypasswords[= ]+yes", joined) else ""
    server = _SERVERS.get(name)
    if server is None or (
        server.subcommands and others[:1] and others[0] not in server.subcommands
    ):
        return ""
    if options.keys() & {*server.asks} or (server.subcommands and not others):
        return ""
    hosts = [value for each in server.hosts for value in options.get(each, ())]
    if any(each in words or _has(options, each) for each in server.opens):
        return "" if hosts and all(map(_is_local, hosts)) else "asks for no token"
    if name == "gdbserver":
        hosts = list(others[:1])
    is_open = any(map(_is_any, hosts)) if hosts else server.listens_to_all
    return "listens on every address and asks for no token" if is_open else ""


def _has(options: Mapping[str, tuple[str, ...]], option: str) -> bool:
    name, _, value = option.partition(" ")
    given = options.get(name, ("false",))
    return value in given if value else given[-1].lower() not in ("false", "0")


def _of_jupyter(options: Mapping[str, tuple[str, ...]]) -> str:
    hosts = [
        each
        for name in ("--ip", *(f"--{app}.ip" for app in _APPS))
        for each in options.get(name, ())
    ]
    empty = [
        name
        for name, values in options.items()
        if _TOKEN.fullmatch(name) and values[-1].strip("'\"") == ""
    ]
    allows = [each for each in _UNAUTHENTICATED if options.get(each, ("",))[-1].lower() == "true"]
    if (empty or allows) and not (hosts and all(map(_is_local, hosts))):
        return "asks for no token"
    return ""


_APPS: Final = ("ServerApp", "NotebookApp", "LabApp")


def _is_local(address: str) -> bool:
    return _host(address) in _LOCAL or address.startswith("unix:")


def _is_any(address: str) -> bool:
    host = _host(address)
    return UNREAD not in host and host in _ANY


def _host(address: str) -> str:
    """The host of `tcp://HOST:PORT`, `HOST:PORT` or `HOST`; every address where only a port is named after a colon."""
    plain = address.rpartition("//")[2]
    if plain.startswith(":") and plain[1:].isdigit():
        return _ANY[0]
    return plain if plain.count(":") > 1 and "]" not in plain else re.sub(r":\d+$", "", plain)


RULE: Final = Rule(
    id="open-servers",
    title="Servers in a pod must ask for a token",
    severity=Severity.MEDIUM,
    kinds=commands.KINDS,
    tags=("pod-security", "commands", "network"),
    why=(
        "Every pod of the cluster reaches that port, and a notebook, a debugger or a dashboard of jobs runs "
        "code for anyone who asks."
    ),
    fix="Give it a token from a Secret, or let it listen on 127.0.0.1 and use kubectl port-forward.",
    places=_places,
    check=_check_servers,
)
