"""The programs that a command line starts, each with its options: the one reader of command lines."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from trainer_infra.render.command_lines import program_options, references, shell_script
from trainer_infra.render.command_lines.program_options import LauncherKind, Options, canonical
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables

MOST_WORDS: Final = 2**12
"""Of a command line that is read."""
_PYTHON: Final = re.compile(r"(i?python|pypy)[\d.]*t?")
_OF_POSITIONS: Final = re.compile(r"\$\{?[@*\d]")
_SCRIPT_OPTION: Final = re.compile(r"[-+][a-z]*c")
_OPTION_WITH_VALUE: Final = re.compile(r"--?[A-Za-z][\w-]* [^\s=]+")
_EACH_WORD: Final = "write each word as an item of its own"


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and what it is told before what it starts itself."""

    kind: LauncherKind
    name: str
    """The word that names it."""
    item: int
    """Which word of the command line it stands in, from 0."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Of a launcher, by canonical name; an option without a value has an empty one."""
    starts: tuple[str, ...] = ()
    """What it starts, with its arguments."""
    unread: bool = False
    """Whether it has further words that are known only when it runs."""

    def option(self, *names: str) -> str | None:
        """The value of an option under one of its names; None where it is not given."""
        return next((self.options[each] for each in names if each in self.options), None)


@dataclass(frozen=True, slots=True)
class WordFault:
    """What is wrong with one word of a command line."""

    item: int
    """Which word, from 0."""
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What was read of a command line."""

    programs: tuple[Program, ...]
    """In order, those that only prepare something among them."""
    faults: tuple[WordFault, ...]
    """Words that are not what they look like: variables that nothing replaces, several words in one."""
    unread: bool
    """Whether what is started is decided when it runs, or by a script in the image."""

    def launchers(self) -> tuple[Program, ...]:
        """Those that start, or may start, the training: launchers, else Python programs."""
        others = (LauncherKind.OTHER, LauncherKind.PYTHON)
        known = tuple(each for each in self.programs if each.kind not in others)
        return known or tuple(each for each in self.programs if each.kind == LauncherKind.PYTHON)

    def exports(self) -> frozenset[str] | None:
        """Variables that mpirun's -x gives to processes on other nodes; None where no mpirun is read."""
        started = [each for each in self.programs if each.kind == LauncherKind.MPIRUN]
        if not started or any(each.unread for each in started):
            return None
        words = (each.option("x") or "" for each in started)
        return frozenset(word.partition("=")[0] for each in words for word in each.split())


@dataclass(slots=True)
class _Reading:
    """What is found while a command line is read."""

    variables: ContainerVariables
    programs: list[Program] = field(default_factory=list)
    faults: list[WordFault] = field(default_factory=list)
    unread: bool = False

    def add(self, item: int, what: str, fix: str = _EACH_WORD) -> None:
        self.faults.append(WordFault(item, what, fix))

    def add_missing(self, item: int, missing: Iterable[references.Missing]) -> None:
        self.faults += [WordFault(item, each.what, each.fix) for each in missing]


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
        reading.add_missing(item, missing)
        own.append((item, replaced))
    _read(own, reading, has_shell=False)
    return CommandLine(tuple(reading.programs), tuple(reading.faults), reading.unread)


def _read(words: Sequence[tuple[int, str]], reading: _Reading, *, has_shell: bool) -> None:
    """Reads one command; each word stands with its item."""
    words = _unwrapped(words)
    if not words:
        return
    item, name = words[0]
    file = PurePosixPath(name).name
    if file in program_options.SHELLS:
        _read_shell(words, reading)
        return
    if not has_shell:
        _read_literals(words, reading)
    if UNREAD in name:
        reading.unread = True
        return
    if not has_shell and _is_a_line(name):
        reading.add(item, "is the name of one program, blanks included")
        words = [(item, each) for each in _split(name)] + list(words[1:])
    _read_program(words, reading)


def _is_a_line(name: str) -> bool:
    """Whether the name of a program is a whole command line; a path may have blanks."""
    first = PurePosixPath((_split(name) or ("",))[0]).name
    is_known = first in program_options.SHELLS or _kind(first) != LauncherKind.OTHER
    return " " in name.strip() and (is_known or not name.startswith("/"))


def _read_literals(words: Sequence[tuple[int, str]], reading: _Reading) -> None:
    is_text = False
    for item, word in words:
        if not is_text and "\n" not in word:
            found = references.literal(word, reading.variables)
            reading.add_missing(item, found)
            if not found and _OPTION_WITH_VALUE.fullmatch(word):
                what = "is one word with a blank in it, and no program has an option of that name"
                reading.add(item, what)
        is_text = word == "-c"


def _read_shell(words: Sequence[tuple[int, str]], reading: _Reading) -> None:
    (_, shell), *rest = words
    given = next((at for at, (_, each) in enumerate(rest) if _SCRIPT_OPTION.fullmatch(each)), None)
    if given is None or given + 1 >= len(rest):
        _read_file(shell, rest, reading)
        return
    item, text = rest[given + 1]
    after = rest[given + 2 :]
    if after and not _OF_POSITIONS.search(text):
        what = f"is not run: {shell} -c runs the one word after it, and this one is an argument of that"
        reading.add(after[0][0], what, "write the script as one word")
    script = shell_script.read_script(text, reading.variables)
    reading.unread = reading.unread or script.unread
    for command in script.commands:
        reading.add_missing(item, command.missing)
        _read([(item, each) for each in command.words], reading, has_shell=True)


def _read_file(shell: str, rest: Sequence[tuple[int, str]], reading: _Reading) -> None:
    """A shell with a file, which is in the image."""
    file = next(((item, each) for item, each in rest if each[:1] not in ("-", "+")), None)
    reading.unread = True
    if file is None:
        return
    name = (_split(file[1]) or ("",))[0]
    if " " in file[1].strip() or _kind(name) != LauncherKind.OTHER:
        what = f"would be the name of a script that {shell} opens"
        reading.add(file[0], what, f"write -c after {shell}, and the script as one word")


def _unwrapped(words: Sequence[tuple[int, str]]) -> Sequence[tuple[int, str]]:
    """The words without the programs before that only start what follows, such as `exec` and `env`."""
    while words:
        wrapper = program_options.WRAPPERS.get(PurePosixPath(words[0][1]).name)
        rest = words[1:]
        if wrapper is None:
            break
        if wrapper.subcommand:
            if not rest or rest[0][1] != wrapper.subcommand:
                break
            rest = rest[1:]
        words = rest[_own_words(wrapper, [each for _, each in rest]) :]
    return words


def _own_words(wrapper: program_options.Wrapper, words: Sequence[str]) -> int:
    at, positional = 0, wrapper.positional
    while at < len(words):
        word = words[at]
        if word == "--":
            return at + 1
        if word.startswith("-"):
            at += 2 if word in wrapper.valued else 1
        elif re.match(r"[A-Za-z_]\w*=", word):
            at += 1
        elif positional:
            at, positional = at + 1, positional - 1
        else:
            break
    return at


def _read_program(words: Sequence[tuple[int, str]], reading: _Reading) -> None:
    (item, name), *rest = words
    own = [each for _, each in rest]
    kind = _kind(name)
    if kind == LauncherKind.PYTHON:
        kind, own = _module(own)
    elif kind == LauncherKind.ACCELERATE and PurePosixPath(name).name == "accelerate":
        kind, own = (kind, own[1:]) if own[:1] == ["launch"] else (LauncherKind.OTHER, own)
    elif kind == LauncherKind.TUNE:
        kind, own = (kind, own[1:]) if own[:1] == ["run"] else (LauncherKind.OTHER, own)
    if kind == LauncherKind.OTHER:
        reading.programs.append(Program(kind, name, item, starts=tuple(own)))
        return
    options, starts, unread = _options(own, program_options.OPTIONS[kind])
    reading.programs.append(Program(kind, name, item, options, tuple(starts), unread))


def _kind(name: str) -> LauncherKind:
    file = PurePosixPath(name).name
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
