"""remote-access: containers open no way in from outside, and do not mine."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject

_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
"""Files by which Bash opens a connection."""
_NETCATS: Final = frozenset({"nc", "ncat", "netcat", "nc.openbsd", "nc.traditional", "telnet"})
_TUNNELS: Final = frozenset(
    {
        *(
            "ngrok",
            "cloudflared",
            "frpc",
            "chisel",
            "bore",
            "localtunnel",
            "tailscale",
            "tailscaled",
        ),
        *("zerotier-one", "wstunnel", "gs-netcat", "gsocket", "rathole", "pagekite", "pagekite.py"),
        *("tmate", "upterm", "teleconsole", "inlets", "inlets-pro", "playit", "sish", "pyngrok"),
        *("sshx", "openvpn", "wg-quick", "revsocks", "gost", "ligolo-ng"),
    }
)
_MINERS: Final = re.compile(
    r"xmrig(?:-\w+)?|xmr-stak\S*|minerd|cpuminer\S*|ethminer|nbminer|lolminer|t-rex|trex-miner|gminer|phoenixminer"
    r"|bzminer|srbminer\S*|cgminer|bfgminer|teamredminer|teamblackminer|rigel|wildrig\S*|ccminer|nanominer|claymore\S*",
    re.IGNORECASE,
)
_POOLS: Final = re.compile(
    r"stratum\d?\+(?:tcp|ssl|tls|udp)://|--donate-level|--coin[= ](?:monero|xmr)|randomx"
    r"|\b(?:supportxmr|minexmr|nanopool|2miners|ethermine|hashvault|moneroocean|unmineable|nicehash)\.",
    re.IGNORECASE,
)
_OF_POOLS: Final = (
    *(
        "stratum",
        "donate-level",
        "--coin",
        "randomx",
        "xmr",
        "nanopool",
        "2miners",
        "ethermine",
        "hashvault",
    ),
    *("moneroocean", "unmineable", "nicehash"),
)
"""Texts without any of these are not searched."""
_OPENED: Final = re.compile(
    r"TCPSocket|fsockopen|IO::Socket|use Socket|net\.Socket|net\.connect|Sockets\.TCPClient|/inet/tcp"
)
_SHELL: Final = re.compile(
    r"(?:ba)?sh\s+-i|/bin/(?:ba)?sh|cmd\.exe|child_process|proc_open|getline|exec\b"
)
"""Code of Perl, Ruby, PHP, Node and PowerShell that gives a shell to a connection."""
_INTERPRETER: Final = re.compile(r"(perl|ruby|php|node|pwsh|powershell|lua|awk|gawk)[\d.]*")
_OUT: Final = "remove it: nothing outside the cluster may take part in a training"


def _places(subject: Subject) -> Iterator[ContainerCommand | CodeText]:
    yield from commands.commands_of(subject)
    yield from commands.texts_of(subject)


def _check_ways_out(
    place: ContainerCommand | CodeText, _context: Context[Parameters]
) -> Iterator[Finding]:
    if isinstance(place, CodeText):
        text = place.value.raw
        if (
            isinstance(text, str)
            and any(each in text for each in _OF_POOLS)
            and _POOLS.search(text)
        ):
            yield place.value.finding("mines for a pool of a cryptocurrency", None, "remove it")
        return
    if any(each.opens_shell for each in place.codes):
        yield place.words[-1].finding(
            "has Python code that gives a shell to a connection", None, _OUT
        )
    for each in place.line.every:
        if what := _way_out(each, place.line.every):
            yield place.finding(each, what, _OUT)


def _way_out(program: Program, every: Iterable[Program]) -> str:
    """What is wrong with one program; empty for nothing."""
    file = program.file
    if _MINERS.fullmatch(file):
        return f"runs {file}, a miner of cryptocurrencies"
    if file in _TUNNELS or _is_tunnel(program):
        return f"opens a tunnel into the cluster by {file}"
    if _gives_shell(program) or _is_socket(program, every):
        return _CONNECTED.format(file or "a shell")
    if _sends(program):
        return f"sends variables or keys of the pod elsewhere by {file}"
    joined = _joined(program)
    return _CONNECTED.format(joined.file) if joined else ""


_CONNECTED: Final = "gives a shell, or what a program prints, to a connection by {}"


def _is_tunnel(program: Program) -> bool:
    words = program.starts
    if program.kind == LauncherKind.PYTHON:
        return "m" in program.options and any(each in _TUNNELS for each in words[:1])
    if program.file in ("ssh", "autossh"):
        options, _ = separated(words, _OF_SSH)
        forwards = any("remoteforward" in each.lower() for each in options.get("-o", ()))
        return "-R" in options or "-w" in options or forwards
    if program.file == "lt":
        return "--port" in words or "-p" in words
    return program.file in ("code", "code-insiders") and words[:1] == ("tunnel",)


_OF_SSH: Final = frozenset(f"-{each}" for each in "bcDeFIiJLlmoOpQRSwW")
"""Options of ssh with a value."""


def _gives_shell(program: Program) -> bool:
    """Whether an option of a program that opens connections names a shell."""
    words = program.starts
    if program.file in _NETCATS:
        options = separated(
            words, frozenset({"-e", "-c", "-p", "-s", "-w", "-q", "--exec", "--sh-exec"})
        )[0]
        return (
            bool(options.keys() & {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"})
            and program.file != "telnet"
        )
    if program.file == "socat":
        return any(re.match(r"(exec|system|shell):", each, re.IGNORECASE) for each in words)
    return bool(_INTERPRETER.fullmatch(program.file)) and any(map(_opens_shell, words))


def _opens_shell(code: str) -> bool:
    opened = _OPENED.search(code)
    return opened is not None and _SHELL.search(code, opened.end()) is not None


def _joined(program: Program) -> Program | None:
    """The program with a connection that a pipe joins with a shell."""
    read = program.around.reads
    if program.kind == LauncherKind.SHELL:
        return next(filter(_connects, read), None)
    is_fed = _connects(program) and any(each.kind == LauncherKind.SHELL for each in read)
    return program if is_fed else None


def _sends(program: Program) -> bool:
    """Whether curl or wget sends all variables, or a file with keys."""
    if program.file not in ("curl", "wget", "http"):
        return False
    read = (*program.around.reads, *program.around.made_by)
    return any(
        each.file in ("env", "printenv", "set") or any(map(_KEYS.search, each.starts))
        for each in read
    ) or any(each[:1] != "-" and "@" in each and _KEYS.search(each) for each in program.starts)


_KEYS: Final = re.compile(
    r"/var/run/secrets/|/etc/(?:passwd|shadow)|/\.(?:ssh|aws|kube|docker|netrc)|/proc/\d*(?:self)?/environ"
)
"""Files with keys, passwords or variables."""


def _connects(program: Program) -> bool:
    is_tls = program.file == "openssl" and program.starts[:1] == ("s_client",)
    return program.file in _NETCATS or program.file == "socat" or is_tls


def _is_socket(program: Program, every: Iterable[Program]) -> bool:
    """Whether something but a test for a port that answers goes through a file of a connection."""
    files = program.around.files
    if not any(each.startswith(_SOCKETS) for each in files):
        return False
    if program.name in _TESTS_A_PORT or "/dev/null" in files:
        others = (each for each in every if each is not program)
        return any(_is_given(each) for each in others)
    return True


_TESTS_A_PORT: Final = ("", ":", "echo", "true", "printf")


def _is_given(program: Program) -> bool:
    """Whether a program works with a descriptor that was opened before, or is read from it."""
    has_descriptor = any(each.isdigit() and int(each) > 2 for each in program.around.files)  # noqa: PLR2004
    return (program.kind == LauncherKind.SHELL and has_descriptor) or program.name.startswith(
        UNREAD
    )


RULE: Final = Rule(
    id="remote-access",
    title="Containers must not open a way in from outside",
    severity=Severity.HIGH,
    kinds=commands.KINDS,
    tags=("pod-security", "commands"),
    frameworks=("owasp-k8s/K07",),
    why=(
        "A shell that calls out and a tunnel pass every firewall: the person at the other end works with the "
        "pod's data, tokens and GPUs, and reaches the cluster's network."
    ),
    fix="Remove it. To look into a pod use kubectl exec or kubectl port-forward, which the cluster authorizes.",
    places=_places,
    check=_check_ways_out,
)
"""A shell's test for a port, `echo > /dev/tcp/HOST/PORT`, is left alone."""
