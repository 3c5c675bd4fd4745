"""The programs that a command line starts, each with its options: the one reader of command lines."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from trainer_infra.render.command_lines import program_options, references, shell_script
from trainer_infra.render.command_lines.command_line import (
    ALONE,
    CommandLine,
    Program,
    ProgramSurroundings,
    ShellCommand,
    ShellScript,
    WordFault,
    file_name,
)
from trainer_infra.render.command_lines.program_options import LauncherKind, Options, canonical
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables, Fault

_Words = Sequence[tuple[int, str]]
"""Words, each with the item of the command line that it stands in."""
MOST_WORDS, MOST_PROGRAMS = 2**12, 2**10
"""Of a command line that is read."""
_PYTHON: Final = re.compile(r"(i?python|pypy)[\d.]*t?")
_OF_POSITIONS: Final = re.compile(r"\$\{?[@*\d]")
_SCRIPT_OPTION: Final = re.compile(r"[-+][a-z]*c")
_OPTION_WITH_VALUE: Final = re.compile(r"--?[A-Za-z][\w-]* [^\s=]+")
_EACH_WORD: Final = "write each word as an item of its own"
_SETTING: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SU: Final = "su"
_SHOWN: Final = ("echo", "printf")
_OF_SHELL: Final = frozenset({"eval", "trap", ".", "source"})
"""Commands of a shell itself that run something."""


@dataclass(slots=True)
class _Reading:
    """What is found while a command line is read."""

    variables: ContainerVariables
    programs: list[Program] = field(default_factory=list)
    faults: list[WordFault] = field(default_factory=list)
    unread: bool = False
    around: ProgramSurroundings = ALONE
    """Of the command that is read now."""
    is_main: bool = True
    depth: int = 0

    def start(self, program: Program, *, is_main: bool = True) -> None:
        """Notes a program."""
        is_main = is_main and self.is_main
        self.programs.append(replace(program, around=self.around, is_main=is_main))

    def start_other(self, item: int, name: str, starts: Iterable[str] = ()) -> None:
        """Notes a program that only prepares something, or of which no more is known."""
        self.start(Program(LauncherKind.OTHER, name, item, starts=tuple(starts)), is_main=False)

    def add(self, item: int, *faults: Fault) -> None:
        self.faults += [WordFault(item, *each) for each in faults]

    def line(self) -> CommandLine:
        return CommandLine(tuple(self.programs), tuple(self.faults), self.unread)


def read_command_line(
    words: Sequence[str], variables: ContainerVariables = references.NONE_KNOWN
) -> CommandLine:
    """What the items of a container's `command`, then those of its `args`, start."""
    if len(words) > MOST_WORDS:
        return CommandLine((), (), unread=True)
    reading = _Reading(variables)
    own = []
    for item, word in enumerate(words):
        replaced, missing = references.after_kubelet(word, variables)
        reading.add(item, *missing)
        own.append((item, replaced))
    _read(own, reading, has_shell=False)
    return reading.line()


def read_shell_text(text: str) -> CommandLine:
    """What a script starts that is a file: nothing is known of its variables and arguments."""
    reading = _Reading(references.NONE_KNOWN)
    _read_script(text, 0, reading)
    return reading.line()


def _read(words: _Words, reading: _Reading, *, has_shell: bool) -> None:
    """Reads one command."""
    whole, words = words, _unwrapped(words, reading)
    if not words:
        if whole and whole[0][1] != "exec":
            reading.start_other(*whole[0])
        return
    item, name = words[0]
    file = file_name(name)
    if file in program_options.SHELLS:
        _read_shell(words, reading)
    elif has_shell and file in _OF_SHELL:
        _read_of_shell(file, item, [each for _, each in words[1:]], reading)
    else:
        if not has_shell:
            _read_literals(words, reading)
        if UNREAD in name:
            reading.unread = True
            reading.start_other(item, name, (each for _, each in words[1:]))
        else:
            _read_program(words if has_shell else _as_words(words, reading), reading)


def _as_words(words: _Words, reading: _Reading) -> _Words:
    """The words of a program that no shell reads; one of them may be a whole command line by mistake.

    An image's entrypoint may give such words to a shell: `-c` and a script, or a script alone.
    """
    (item, name), *rest = words
    is_option = _SCRIPT_OPTION.fullmatch(name) is not None
    if (is_option and rest) or " " in name.strip():
        at, text = rest[0] if is_option else words[0]
        _read_aside(reading, partial(_read_script, text, at))
    if not _is_a_line(name):
        return words
    reading.add(item, ("is the name of one program, blanks included", _EACH_WORD))
    return [*((item, each) for each in _split(name)), *rest]


def _is_a_line(name: str) -> bool:
    """Whether the name of a program is a whole command line; a path may have blanks."""
    first = file_name((_split(name) or ("",))[0])
    is_known = first in program_options.SHELLS or _kind(first) != LauncherKind.OTHER
    return " " in name.strip() and (is_known or not name.startswith("/"))


def _read_literals(words: _Words, reading: _Reading) -> None:
    is_text = False
    for item, word in words:
        if not is_text and "\n" not in word:
            found = references.literal(word, reading.variables)
            reading.add(item, *found)
            if not found and _OPTION_WITH_VALUE.fullmatch(word):
                what = "is one word with a blank in it, and no program has an option of that name"
                reading.add(item, (what, _EACH_WORD))
        is_text = word == "-c"


def _read_shell(words: _Words, reading: _Reading) -> None:
    (_, shell), *rest = words
    given = next((at for at, (_, each) in enumerate(rest) if _SCRIPT_OPTION.fullmatch(each)), None)
    # Further options, `--` among them, may stand between `-c` and the script.
    while given is not None and given + 2 < len(rest) and rest[given + 1][1][:1] in ("-", "+"):
        given += 1
    if given is None or given + 1 >= len(rest):
        _read_file(words, reading)
        return
    item, text = rest[given + 1]
    after = rest[given + 2 :]
    if after and not _OF_POSITIONS.search(text) and shell != _SU:
        what = f"is not run: {shell} -c runs the one word after it, and this one is an argument of that"
        reading.add(after[0][0], (what, "write the script as one word"))
    _read_script(text, item, reading, tuple(each for _, each in after))


def _read_script(
    text: str, item: int, reading: _Reading, arguments: tuple[str, ...] | None = None
) -> None:
    """A script that stands in one item of the command line."""
    script = shell_script.read_script(text, reading.variables, arguments, reading.depth)
    outer, reading.depth = reading.around, reading.depth + 1
    _read_commands(script, item, reading, takes_words=text.lstrip().startswith(UNREAD))
    reading.around, reading.depth = outer, reading.depth - 1


def _read_commands(
    script: ShellScript, item: int, reading: _Reading, *, takes_words: bool = False
) -> tuple[Program, ...]:
    """The programs that its commands start."""
    outer, started = reading.around, list[tuple[Program, ...]]()
    first, exported = len(reading.programs), dict[str, str]()
    reading.unread = reading.unread or (script.unread and reading.is_main)
    for command in script.commands:
        if len(reading.programs) > MOST_PROGRAMS:
            reading.unread = True
            break
        made_by = _substituted(command, item, reading)
        begin = len(reading.programs)
        own = ProgramSurroundings(
            tuple(each for at in command.reads for each in started[at]),
            made_by,
            command.here,
            command.files,
            {**exported, **command.settings},
            command.is_background,
            command.is_endless,
        )
        reading.around = own.within(outer, takes_words=takes_words)
        _read_command(command, item, reading)
        exported |= command.settings if command.words[:1] == ("export",) else {}
        started.append(tuple(reading.programs[begin:]))
    reading.around = outer
    return tuple(reading.programs[first:])


def _substituted(command: ShellCommand, item: int, reading: _Reading) -> tuple[Program, ...]:
    """Programs whose output the words of a command have."""
    outer = reading.around, reading.is_main
    reading.around, reading.is_main = ALONE, False
    found = [_read_commands(each, item, reading) for each in command.made_by]
    reading.around, reading.is_main = outer
    return tuple(each for programs in found for each in programs)


def _read_command(command: ShellCommand, item: int, reading: _Reading) -> None:
    words, before = command.words, len(reading.programs)
    if words and words[0] in shell_script.SHOWS:
        reading.start_other(item, words[0], words[1:])
    elif words:
        reading.add(item, *command.missing)
        _read([(item, each) for each in words], reading, has_shell=True)
    if len(reading.programs) == before:
        reading.start_other(item, "")


def _read_file(words: _Words, reading: _Reading) -> None:
    """A shell with a file, which is in the image, or one that runs what it reads."""
    (item, shell), *rest = words
    started = Program(LauncherKind.SHELL, shell, item, starts=tuple(each for _, each in rest))
    reading.start(started, is_main=False)
    operand = next(iter(started.operands), None)
    file = next(((at, each) for at, each in rest if each == operand), None)
    if file is None or "-s" in started.starts:
        texts = (*reading.around.here, *map(_shown, reading.around.reads))
        is_deep = reading.depth > shell_script.MOST_NESTED
        known = [each for each in texts if each.strip().strip(UNREAD) and not is_deep]
        reading.unread = reading.unread or not known
        for each in known:
            reading.around = replace(reading.around, here=(), reads=())
            _read_script(each, item, reading)
        return
    reading.unread = True
    name = (_split(file[1]) or ("",))[0]
    if " " in file[1].strip() or _kind(name) != LauncherKind.OTHER:
        what = f"would be the name of a script that {shell} opens"
        reading.add(file[0], (what, f"write -c after {shell}, and the script as one word"))


def _shown(program: Program) -> str:
    """What a program prints, where that stands in its words."""
    return " ".join(program.starts) if program.name in _SHOWN else ""


def _read_of_shell(name: str, item: int, own: list[str], reading: _Reading) -> None:
    """`eval`, whose words are a script; `trap`, with one for a signal or the end; a file that is sourced."""
    if name == "eval":
        _read_script(" ".join(own), item, reading)
    elif name == "trap":
        before, reading.is_main = reading.is_main, False
        _read_script("".join(own[:1]), item, reading)
        reading.is_main = before
    else:
        reading.unread = True
        sourced = Program(LauncherKind.SHELL, "source", item, starts=tuple(own))
        reading.start(sourced, is_main=False)


def _unwrapped(words: _Words, reading: _Reading) -> _Words:
    """The words without the programs before that only start what follows, such as `exec` and `env`."""
    while words:
        if len(words) > 1 and program_options.STEPS.fullmatch(words[1][1]):
            words = words[2:]
            continue
        name = file_name(words[0][1])
        wrapper = program_options.WRAPPERS.get(name)
        rest = words[1:]
        if wrapper is None or (name == "command" and rest and rest[0][1][:2] in ("-v", "-V")):
            break
        if wrapper.subcommand:
            if not rest or rest[0][1] != wrapper.subcommand:
                break
            rest = rest[1:]
        count = _own_words(wrapper, [each for _, each in rest])
        own = [each for _, each in rest[:count]]
        # The variables that `env` sets.
        found = (_SETTING.fullmatch(each) for each in own)
        if settings := {each[1]: each[2] for each in found if each}:
            given = {**reading.around.settings, **settings}
            reading.around = replace(reading.around, settings=given)
        if wrapper.subcommand and own:
            # It may install something, as `uv run --with` does.
            reading.start_other(*words[0], (wrapper.subcommand, *own))
        words = rest[count:]
    return words


def _own_words(wrapper: program_options.Wrapper, words: Sequence[str]) -> int:
    at, positional = 0, wrapper.positional
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if word.startswith("-"):
            at += 2 if word in wrapper.valued else 1
        elif _SETTING.fullmatch(word):
            at += 1
        elif positional:
            at, positional = at + 1, positional - 1
        else:
            break
    return at


def _read_program(words: _Words, reading: _Reading) -> None:
    (item, name), *rest = words
    own = [each for _, each in rest]
    kind = _kind(name)
    if kind == LauncherKind.PYTHON:
        kind, own = _module(own)
    elif kind == LauncherKind.ACCELERATE and file_name(name) == "accelerate":
        kind, own = (kind, own[1:]) if own[:1] == ["launch"] else (LauncherKind.OTHER, own)
    elif kind == LauncherKind.TUNE:
        kind, own = (kind, own[1:]) if own[:1] == ["run"] else (LauncherKind.OTHER, own)
    if kind == LauncherKind.OTHER:
        reading.start(Program(kind, name, item, starts=tuple(own)))
        _read_started(own, item, reading, is_launcher=False)
        if file_name(name) == "ssh":
            _, others = program_options.separated(own, program_options.OF_SSH)
            _read_aside(reading, partial(_read_script, " ".join(others[1:]), item))
        return
    options, starts, unread = _options(own, program_options.OPTIONS[kind])
    reading.start(Program(kind, name, item, options, tuple(starts), unread))
    if kind == LauncherKind.MPIRUN or "no_python" in options:
        _read_started(starts, item, reading, is_launcher=True)


def _read_started(words: Sequence[str], item: int, reading: _Reading, *, is_launcher: bool) -> None:
    """A shell that a program starts, on each node where it is a launcher: other programs only name most words."""
    shells = (at for at, each in enumerate(words) if file_name(each) in program_options.SHELLS)
    at = next(shells, len(words))
    has_script = any(map(_SCRIPT_OPTION.fullmatch, words[at + 1 : -1]))
    if has_script or (is_launcher and at == 0 and words):
        shell = [(item, each) for each in words[at:]]
        _read_aside(reading, partial(_read, shell, has_shell=True))


def _read_aside(reading: _Reading, read: Callable[[_Reading], None]) -> None:
    """Reads what runs elsewhere: its programs count, and not what is wrong with its words."""
    own = _Reading(reading.variables, around=reading.around, is_main=False, depth=reading.depth)
    read(own)
    reading.programs += own.programs


def _kind(name: str) -> LauncherKind:
    file = file_name(name)
    if _PYTHON.fullmatch(file):
        return LauncherKind.PYTHON
    return program_options.PROGRAMS.get(file, LauncherKind.OTHER)


def _module(words: list[str]) -> tuple[LauncherKind, list[str]]:
    """What Python runs: a launcher where it is one's module, and the words after it."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-c", "-"):
        if words[at] == "-m":
            kind = program_options.MODULES.get("".join(words[at + 1 : at + 2]))
            return (kind, words[at + 2 :]) if kind else (LauncherKind.PYTHON, words)
        at += 1 + program_options.PYTHON.following(canonical(words[at]))
    return LauncherKind.PYTHON, words


def _options(words: Sequence[str], known: Options) -> tuple[dict[str, str], Sequence[str], bool]:
    """Options by canonical name, what stands after them, and whether there may be more of either."""
    found: dict[str, str] = {}
    at, unread = 0, False
    while at < len(words):
        word = words[at]
        if word == "--":
            return found, words[at + 1 :], unread
        if word == UNREAD:
            unread, at = True, at + 1
            continue
        if not word.startswith("-") or word == "-":
            break
        name, equals, value = word.partition("=")
        short = canonical(name)
        count = 0 if equals else known.following(short)
        given = value if equals else " ".join(words[at + 1 : at + 1 + count])
        found[short] = f"{found.get(short, '')} {given}" if short in known.repeated else given
        at += 1 + count
    return found, words[at:], unread


def _split(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return tuple(text.split())
