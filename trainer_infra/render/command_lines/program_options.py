"""Programs that start a training on all nodes or stand before one, and which of their options have a value.

Facts: the options of torch.distributed.run (PyTorch 2.9), of `accelerate launch` (1.15), of deepspeed
(0.19), of Open MPI's mpirun (4.1 and 5.0) with those of MPICH's mpiexec, and of Python (3.13).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from trainer_infra import names


class LauncherKind(StrEnum):
    """What starts the processes."""

    TORCHRUN = "torchrun"
    ACCELERATE = "accelerate launch"
    DEEPSPEED = "deepspeed"
    MPIRUN = "mpirun"
    TUNE = "tune run"
    HOROVODRUN = "horovodrun"
    PYTHON = "python"
    SHELL = "shell"
    """A shell that runs a file, or what it reads."""
    OTHER = ""
    """A program of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the words before the program are read."""

    flags: frozenset[str] = frozenset()
    """Options without a value; of one that is not listed the next word is its value."""
    values: Mapping[str, int] | None = None
    """How many words follow these options; where it is given, one that is not listed has none."""
    repeated: frozenset[str] = frozenset()
    """Options that may stand there several times, and count each time."""
    modes: frozenset[str] = frozenset()
    """Options after which what is started is not a file: a module, a program."""

    def following(self, name: str) -> int:
        """How many of the words after an option are its value."""
        if self.values is not None:
            return self.values.get(name, 0)
        return 0 if name in self.flags or name in self.modes else 1


def canonical(option: str) -> str:
    """An option's name as it is compared: without leading dashes, with underscores."""
    return option.lstrip("-").replace("-", "_")


_MODULE: Final = frozenset({"m", "module", "no_python"})
TORCHRUN: Final = Options(
    frozenset({"standalone", "run_path", "virtual_local_rank", "use_env", "h", "help"}),
    modes=_MODULE,
)
ONLY_OF_TORCHRUN: Final = frozenset(
    {
        *("nnodes", "nproc_per_node", "node_rank", "standalone", "max_restarts", "master_addr"),
        *("master_port", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf"),
    }
)
"""Options that scripts seldom have themselves."""
ACCELERATE: Final = Options(
    frozenset(
        {
            *("h", "help", "q", "quiet", "cpu", "multi_gpu", "tpu", "enable_cpu_affinity", "debug"),
            *("dynamo_use_fullgraph", "dynamo_use_dynamic", "dynamo_use_regional_compilation"),
            *("use_deepspeed", "use_fsdp", "use_parallelism_config", "use_megatron_lm"),
            *("same_network", "tpu_cluster", "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16"),
            *("fp8_use_autocast_during_eval", "use_xpu", "ipex", "num_cpu_threads_per_process="),
        }
    ),
    modes=_MODULE,
)
DEEPSPEED: Final = Options(
    frozenset(
        {
            *("h", "help", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid"),
            *("bind_cores_to_rank", "q", "quiet", "elastic_training"),
        }
    ),
    modes=_MODULE,
)
MPIRUN: Final = Options(
    values={
        **dict.fromkeys(
            (
                *("np", "n", "c", "N", "npernode", "npersocket", "ppn", "x", "H", "host", "hosts"),
                *("hostfile", "machinefile", "default_hostfile", "f", "map_by", "bind_to"),
                *("rf", "rankfile", "wdir", "wd", "path", "prefix", "app", "timeout", "output"),
                *("rank_by", "output_filename", "cpu_set", "cpu_list", "ppr", "iface", "launcher"),
                *("am", "tune", "prtemca_", "report_events", "stdin", "xml_file", "max_restarts"),
                *("personality", "genvlist", "envlist", "bootstrap", "rmk", "runtime_options"),
                "display",
            ),
            1,
        ),
        **dict.fromkeys(("mca", "gmca", "omca", "gomca", "prtemca", "pmixmca", "env", "genv"), 2),
    },
    repeated=frozenset({"x", "mca"}),
)
HOROVODRUN: Final = Options(
    frozenset(
        {
            *("h", "help", "v", "version", "disable_cache", "verbose", "gloo", "mpi", "jsrun"),
            *(
                "check_build",
                "autotune",
                "elastic_timeout_disabled",
                "prefix_output_with_timestamp",
            ),
        }
    )
)
PYTHON: Final = Options(values={"X": 1, "W": 1, "check_hash_based_pycs": 1})

MODULES: Final[Mapping[str, LauncherKind]] = {
    "torch.distributed.run": LauncherKind.TORCHRUN,
    "torch.distributed.launch": LauncherKind.TORCHRUN,
    "torch.distributed.launcher": LauncherKind.TORCHRUN,
    "accelerate.commands.launch": LauncherKind.ACCELERATE,
    "deepspeed.launcher.runner": LauncherKind.DEEPSPEED,
    "deepspeed": LauncherKind.DEEPSPEED,
}
"""Launchers that `python -m` starts."""
PROGRAMS: Final[Mapping[str, LauncherKind]] = {
    "torchrun": LauncherKind.TORCHRUN,
    **dict.fromkeys(("accelerate", "accelerate-launch"), LauncherKind.ACCELERATE),
    **dict.fromkeys(("deepspeed", "ds"), LauncherKind.DEEPSPEED),
    **dict.fromkeys(("mpirun", "mpiexec", "orterun", "prterun"), LauncherKind.MPIRUN),
    **dict.fromkeys(("mpirun.openmpi", "mpiexec.openmpi", "mpiexec.hydra"), LauncherKind.MPIRUN),
    "tune": LauncherKind.TUNE,
    "horovodrun": LauncherKind.HOROVODRUN,
}
"""Launchers by the names of their files."""
OPTIONS: Final[Mapping[LauncherKind, Options]] = {
    LauncherKind.TORCHRUN: TORCHRUN,
    LauncherKind.TUNE: TORCHRUN,
    LauncherKind.ACCELERATE: ACCELERATE,
    LauncherKind.DEEPSPEED: DEEPSPEED,
    LauncherKind.MPIRUN: MPIRUN,
    LauncherKind.HOROVODRUN: HOROVODRUN,
    LauncherKind.PYTHON: PYTHON,
}
SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "rbash", "fish", "su"})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts the command that stands after its own words."""

    valued: frozenset[str]
    """Its options that have a value in the next word."""
    subcommand: str = ""
    """The word after its name that makes it one, as `run` of uv; empty: none is needed."""
    positional: int = 0
    """How many words of its own stand after the options."""


_WRAPPERS: Final = (
    ("exec nohup time setsid catchsegv ddtrace-run catatonit dumb-init unbuffer", "", ""),
    ("jemalloc.sh prlimit busybox command builtin coproc npx", "", ""),
    ("xvfb-run", "", "-n -e -f -p -s -w"),
    ("chrt taskset gosu su-exec chroot flock", "", ""),
    ("nsenter", "", "-t --target -S -G"),
    ("xargs", "", "-I -n -P -L -d -a -s -E"),
    ("watch strace doas runuser", "", "-n -o -e -u -s"),
    ("setpriv", "", "--reuid --regid --groups"),
    ("tini opentelemetry-instrument env", "", "-u -C -p -e"),
    ("nice", "", "-n --adjustment"),
    ("sshpass", "", "-p -f -P"),
    ("ionice", "", "-c -n -p"),
    ("stdbuf", "", "-i -o -e"),
    ("timeout", "", "-k -s --kill-after --signal"),
    ("numactl", "", "-m -N -C -i -p"),
    ("sudo", "", "-u -g -h -p -C"),
    ("ncu", "", "-o -k -c -s"),
    (
        "uv",
        "run",
        "--with --python -p --project --directory --extra --group --env-file --index --with-requirements",
    ),
    ("poetry pdm pipenv rye hatch pixi", "run", "-e --environment"),
    ("conda mamba micromamba", "run", "-n --name -p --prefix --cwd"),
    ("nsys", "profile", "-o -t -c -s -d -y -b -e -w -x -f"),
    ("py-spy", "record", "-o -r -d -f -p"),
)
"""Names of files, the subcommand, and options with a value."""
_WITH_A_WORD: Final = ("chrt", "taskset", "gosu", "su-exec", "chroot", "flock", "timeout")
"""Those that have one word of their own after the options."""
WRAPPERS: Final[Mapping[str, Wrapper]] = {
    name: Wrapper(frozenset(valued.split()), subcommand, int(name in _WITH_A_WORD))
    for names, subcommand, valued in _WRAPPERS
    for name in names.split()
}
"""By the names of their files."""
STEPS: Final = re.compile(rf"{names.CODE_MOUNT}/(init|packages)\.py")
"""Programs of a code mount that start what follows: `trainers.code_mount`."""
OF_SSH: Final = frozenset(f"-{each}" for each in "bcDeFIiJLlmoOpQRSwW")
"""Options of ssh with a value."""


def separated(
    words: Sequence[str], valued: frozenset[str]
) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    """Options and the words that are neither an option nor its value, wherever each stands.

    `valued` are the options whose value may be in the next word. Short ones may stand in one word: `-sSLo FILE`.
    """
    found: dict[str, tuple[str, ...]] = {}
    others: list[str] = []
    left = [*reversed(words)]
    while left:
        word = left.pop()
        if word == "--":
            others += reversed(left)
            break
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        for name, value in _pairs(word, valued):
            takes_next = value is None and name in valued and left
            found[name] = (*found.get(name, ()), left.pop() if takes_next else value or "")
    return found, tuple(others)


def _pairs(word: str, valued: frozenset[str]) -> Iterator[tuple[str, str | None]]:
    """The options of one word with their values; None where it has none."""
    name, equals, value = word.partition("=")
    if word.startswith("--") or name in valued:
        yield name, value if equals else None
        return
    for at, letter in enumerate(word[1:], 1):
        if f"-{letter}" in valued:
            yield f"-{letter}", word[at + 1 :].removeprefix("=") or None
            return
        yield f"-{letter}", None
