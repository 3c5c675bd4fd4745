"""remote-access: containers open no way in from outside, and do not mine."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import OF_SSH, LauncherKind, separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import CodeText, Place
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity
from trainer_infra.rules.supply_chain.downloads import host_of, is_inside, urls_of

_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
"""Files by which Bash opens a connection."""
_NETCATS: Final = ("nc", "ncat", "netcat", "nc.openbsd", "nc.traditional")
_GIVE_SHELL: Final = frozenset({"-e", "-c", "--exec", "--sh-exec", "--lua-exec"})
"""Options of netcats that name a program for the connection."""
_OF_NETCATS: Final = _GIVE_SHELL | {"-p", "-s", "-w", "-q"}
_TUNNELS: Final = re.compile(
    r"ngrok|pyngrok|cloudflared|frpc|chisel|bore|localtunnel|tailscaled?|zerotier-one|wstunnel|gs-netcat|gsocket"
    r"|rathole|pagekite(?:\.py)?|tmate|upterm|teleconsole|inlets(?:-pro)?|playit|sish|sshx|openvpn|wg-quick"
    r"|revsocks|gost|ligolo-ng"
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
_MARKS_OF_POOLS: Final = (
    *("stratum", "donate-level", "--coin", "randomx", "xmr", "nanopool", "2miners", "ethermine"),
    *("hashvault", "moneroocean", "unmineable", "nicehash"),
)
_OPENED: Final = re.compile(
    r"TCPSocket|fsockopen|IO::Socket|use Socket|net\.Socket|net\.connect|Sockets\.TCPClient|/inet/tcp"
)
_SHELL: Final = re.compile(
    r"(?:ba)?sh\s+-i|/bin/(?:ba)?sh|cmd\.exe|child_process|proc_open|getline|exec\b|fdopen|system\b"
)
"""Code of Perl, Ruby, PHP, Node and PowerShell that gives a shell to a connection."""
_INTERPRETER: Final = re.compile(r"(perl|ruby|php|node|pwsh|powershell|lua|awk|gawk)[\d.]*")
_KEYS: Final = re.compile(
    r"/var/run/secrets/|/etc/(?:passwd|shadow)|/\.(?:ssh|aws|kube|docker|netrc)|/proc/\d*(?:self)?/environ"
)
"""Files with keys, passwords or variables."""
_SENT: Final = re.compile(
    r"(?:^|\s)(?:(?:[^\s-]\S*)?@|(?:-T|--upload-file|--post-file|--body-file)[ =]?)\S*?"
    rf"(?:{_KEYS.pattern})"
)
"""One of them that curl or wget sends."""
_PRINT_VARIABLES: Final = ("env", "printenv", "set")
_TEST_A_PORT: Final = ("", ":", "echo", "true", "printf")
_OUT: Final = "remove it: nothing outside the cluster may take part in a training"


def _check_ways_out(place: Place, _context: Context[Parameters]) -> Iterator[Finding]:
    if isinstance(place, CodeText):
        if _POOLS.search(place.text):
            yield place.value.finding("mines for a pool of a cryptocurrency", None, "remove it")
        return
    for code in place.codes:
        if code.opens_shell:
            what = "has Python code that gives a shell to a connection"
            yield place.finding(code, what, _OUT)
    for each in place.line.every:
        if what := _way_out(each, place.line.every):
            yield place.finding(each, what, _OUT)


def _way_out(program: Program, every: Iterable[Program]) -> str:
    """What is wrong with one program; empty for nothing."""
    file = program.file
    if _MINERS.fullmatch(file):
        return f"runs {file}, a miner of cryptocurrencies"
    if _TUNNELS.fullmatch(file) or _is_tunnel(program):
        return f"opens a tunnel into the cluster by {file}"
    if _sends_keys(program):
        return f"sends variables or keys of the pod elsewhere by {file}"
    joined = file or "a shell" if _gives_shell(program) or _is_socket(program, every) else ""
    joined = joined or _joined(program)
    return joined and f"gives a shell, or what a program prints, to a connection by {joined}"


def _is_tunnel(program: Program) -> bool:
    words = program.starts
    if program.kind == LauncherKind.PYTHON:
        return "m" in program.options and any(map(_TUNNELS.fullmatch, words[:1]))
    if program.file in ("ssh", "autossh"):
        options, _ = separated(words, OF_SSH)
        forwards = any("remoteforward" in each.lower() for each in options.get("-o", ()))
        return "-R" in options or "-w" in options or forwards
    if program.file == "lt":
        return "--port" in words or "-p" in words
    return program.file in ("code", "code-insiders") and words[:1] == ("tunnel",)


def _gives_shell(program: Program) -> bool:
    """Whether an option or the code of a program that opens connections names a shell."""
    words = program.starts
    if program.file in _NETCATS:
        return not _GIVE_SHELL.isdisjoint(separated(words, _OF_NETCATS)[0])
    if program.file == "socat":
        return any(re.match(r"(exec|system|shell):", each, re.IGNORECASE) for each in words)
    if not _INTERPRETER.fullmatch(program.file):
        return False
    opened = ((each, _OPENED.search(each)) for each in words)
    return any(found and _SHELL.search(code, found.end()) for code, found in opened)


def _joined(program: Program) -> str:
    """The program with a connection that a pipe joins with a shell; empty for none."""
    read = program.around.reads
    if program.kind == LauncherKind.SHELL:
        return next((each.file for each in read if _connects(each)), "")
    is_fed = _connects(program) and any(each.kind == LauncherKind.SHELL for each in read)
    return program.file if is_fed else ""


def _connects(program: Program) -> bool:
    is_tls = program.file == "openssl" and program.starts[:1] == ("s_client",)
    return program.file in _NETCATS or program.file in ("socat", "telnet") or is_tls


def _sends_keys(program: Program) -> bool:
    """Whether a program that sends something gets all variables, or a file with keys, for another host."""
    if program.file not in ("curl", "wget", "http") and not _connects(program):
        return False
    hosts = [host_of(each) for each in urls_of(program)]
    if hosts and all(each and is_inside(each) for each in hosts):
        return False
    read = (*program.around.reads, *program.around.made_by)
    files = (word for each in read for word in each.starts)
    prints_all = any(each.file in _PRINT_VARIABLES for each in read)
    return (
        prints_all or any(map(_KEYS.search, files)) or bool(_SENT.search(" ".join(program.starts)))
    )


def _is_socket(program: Program, every: Iterable[Program]) -> bool:
    """Whether something but a test for a port that answers goes through a file of a connection."""
    files = program.around.files
    if not any(each.startswith(_SOCKETS) for each in files):
        return False
    if program.name in _TEST_A_PORT or "/dev/null" in files:
        return any(_is_given(each) for each in every if each is not program)
    return True


def _is_given(program: Program) -> bool:
    """Whether a program works with a descriptor that was opened before, or is read from it."""
    has_descriptor = any(each.isdigit() and int(each) > 2 for each in program.around.files)  # noqa: PLR2004
    is_shell = program.kind == LauncherKind.SHELL
    return (is_shell and has_descriptor) or program.name.startswith(UNREAD)


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
    places=commands.places_with(*_MARKS_OF_POOLS),
    check=_check_ways_out,
)
"""A shell's test for a port, `echo > /dev/tcp/HOST/PORT`, is left alone."""
