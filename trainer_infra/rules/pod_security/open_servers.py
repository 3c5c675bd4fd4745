"""open-servers: servers in a pod ask for a token."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, Place
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity

_ANY: Final = ("0.0.0.0", "::", "[::]", "*", "+")  # noqa: S104  looked for
_LOCAL: Final = ("127.0.0.1", "localhost", "::1", "[::1]", "unix:")
_JUPYTER: Final = re.compile(
    r"jupyter(?:-?(?:lab|notebook|server|_server))?|notebook|start-(?:notebook|singleuser)(?:\.sh|\.py)?"
)
_APPS: Final = ("ServerApp", "NotebookApp", "LabApp", "JupyterApp", "IdentityProvider")
_EMPTY_PASSWORDS: Final = re.compile(r"permitemptypasswords[= ]+yes", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Server:
    """A program that answers to anybody when it is started in some ways."""

    hosts: tuple[str, ...] = ()
    """Options with the address on which it listens; one that is not local opens it."""
    listens_to_all: bool = False
    """Whether it does so where no such option is given."""
    opens: tuple[str, ...] = ()
    """Options that open it, with their value behind an equals sign where one does, in small letters."""
    asks_itself: bool = False
    """Whether it asks for a password or a token unless one of these says otherwise."""
    asks: tuple[str, ...] = ()
    """Options by which it asks for a password or a token."""
    subcommands: tuple[str, ...] = ()
    """The first word that makes it a server; empty: none is needed."""

    def valued(self) -> frozenset[str]:
        """Options with a value in the next word."""
        opens = (each.partition("=")[0] for each in self.opens if "=" in each)
        return frozenset((*self.hosts, *opens))


_SERVERS: Final[Mapping[str, _Server]] = {
    "jupyter": _Server(
        ("--ip", *(f"--{each}.ip" for each in _APPS)),
        opens=(
            *(f"--{each}.token=" for each in _APPS),
            "--ServerApp.allow_unauthenticated_access=true",
        ),
        asks_itself=True,
    ),
    "tensorboard": _Server(("--host",), opens=("--bind_all", "--bind-all")),
    "code-server": _Server(("--bind-addr", "--host"), opens=("--auth=none",), asks_itself=True),
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
    "redis-server": _Server(opens=("--protected-mode=no",), asks=("--requirepass",)),
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
_WRITTEN: Final = re.compile(
    r"\bc\.\w+\.token[ \t]*=[ \t]*u?(?:''(?!')|\"\"(?!\"))|(?:^|[\"'])[ \t]*PermitEmptyPasswords[ \t]+yes"
    r"|^[ \t]*auth:[ \t]*[\"']?none\b|^[ \t]*protected-mode[ \t]+no\b",
    re.MULTILINE,
)
"""The same in the settings of Jupyter, sshd, code-server and Redis."""
_MARKS: Final = (".token", "permitempty", "auth:", "protected-mode", "jupyter_token")
_OF_CODE_SERVER: Final = "bind-addr"
_FIX: Final = "let it ask for a token, or listen on 127.0.0.1 and reach it by kubectl port-forward"


def _check_servers(place: Place, _context: Context[Parameters]) -> Iterator[Finding]:
    if isinstance(place, CodeText):
        if what := _opened_by(place):
            yield place.value.finding(f"lets anybody in{what}", None, _FIX)
        return
    for each in place.line.every:
        name, words = server_of(each)
        if what := _openness(name, words):
            yield place.finding(each, f"starts {name}, which {what}", _FIX)


def _opened_by(place: CodeText) -> str:
    """How a text lets anybody in; empty where it does not."""
    if place.name == "JUPYTER_TOKEN":
        return "" if place.text else ": Jupyter asks for no token then"
    found = _WRITTEN.search(place.text)
    is_known = found and (_OF_CODE_SERVER in place.text or "auth:" not in found[0])
    return f" by {found[0].strip()}" if found and is_known else ""


def server_of(program: Program) -> tuple[str, tuple[str, ...]]:
    """The name of a server and the words after it: Python's module where it runs one, `jupyter` for all of that."""
    name, words = program.file, program.starts
    if program.kind == LauncherKind.PYTHON and "m" in program.options and words:
        name, words = words[0].removesuffix(".main"), words[1:]
    return ("jupyter" if _JUPYTER.fullmatch(name) else name), words


def _openness(name: str, words: tuple[str, ...]) -> str:
    """How a server lets anybody in; empty where it does not, or where that is not known."""
    if name == "sshd":
        return "takes empty passwords" if _EMPTY_PASSWORDS.search(" ".join(words)) else ""
    server = _SERVERS.get(name)
    if server is None:
        return ""
    options, others = separated(words, server.valued())
    is_other = server.subcommands and (not others or others[0] not in server.subcommands)
    if is_other or not options.keys().isdisjoint(server.asks):
        return ""
    hosts = [value for each in server.hosts for value in options.get(each, ())]
    hosts = [*map(_host, others[:1] if name == "gdbserver" else hosts)]
    if any(each in words or _has(options, each) for each in server.opens):
        return "" if hosts and all(each in _LOCAL for each in hosts) else "asks for no token"
    is_open = any(each in _ANY for each in hosts) if hosts else server.listens_to_all
    is_silent = is_open and not server.asks_itself
    return "listens on every address and asks for no token" if is_silent else ""


def _has(options: Mapping[str, tuple[str, ...]], option: str) -> bool:
    """Whether an option is given, with its value where it has one."""
    name, has_value, value = option.partition("=")
    given = [each.strip("'\"").lower() for each in options.get(name, ())]
    return value in given if has_value else bool(given) and given[-1] not in ("false", "0")


def _host(address: str) -> str:
    """The host of `tcp://HOST:PORT`, `HOST:PORT` or `HOST`; every address where only a port is named after a colon."""
    if address.startswith("unix:"):
        return "unix:"
    plain = address.strip("'\"").rpartition("//")[2]
    if plain.startswith(":") and plain[1:].isdigit():
        return _ANY[0]
    is_ipv6 = plain.count(":") > 1 and "]" not in plain
    return plain if is_ipv6 else re.sub(r":\d+$", "", plain)


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
    places=commands.places_with(*_MARKS),
    check=_check_servers,
)
