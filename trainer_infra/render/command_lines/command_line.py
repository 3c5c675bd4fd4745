"""What is read of a command line: its scripts, the programs that they start, and what is wrong with words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.references import Fault

_WITH_FILE: Final = ("--rcfile", "--init-file")
"""Options of Bash with a value."""


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """One command of a script."""

    words: tuple[str, ...]
    """Its words as the program gets them; `UNREAD` stands for what is known only when it runs."""
    missing: tuple[Fault, ...] = ()
    """Variables in it that are empty."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set before it."""
    files: tuple[str, ...] = ()
    """Files and descriptors that it is redirected to and from."""
    here: tuple[str, ...] = ()
    """Texts of the script that it reads."""
    made_by: tuple["ShellScript", ...] = ()
    """Scripts whose output its words have or name."""
    reads: range = range(0)
    """The commands of the script whose output a pipe gives to it, by their places."""
    is_background: bool = False
    """Whether the script goes on while it runs."""
    is_endless: bool = False
    """Whether it runs again and again, in a loop without a condition."""


@dataclass(frozen=True, slots=True)
class ShellScript:
    """What is read of a script."""

    commands: tuple[ShellCommand, ...]
    """What it starts, in order."""
    unread: bool
    """Whether what is started is decided when it runs."""


@dataclass(frozen=True, slots=True)
class ProgramSurroundings:
    """What a shell gives to a program beside its words; fields without a text are those of `ShellCommand`."""

    reads: tuple["Program", ...] = ()
    """Programs whose output a pipe gives to it."""
    made_by: tuple["Program", ...] = ()
    """Programs whose output its words have or name."""
    here: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables that are set before it, or by it."""
    is_background: bool = False
    is_endless: bool = False

    def within(self, outer: "ProgramSurroundings", *, takes_words: bool) -> "ProgramSurroundings":
        """Those of a program in a script that has surroundings itself; `takes_words` where programs print it."""
        return replace(
            self,
            reads=self.reads or outer.reads,
            made_by=(*self.made_by, *outer.made_by) if takes_words else self.made_by,
            here=self.here or outer.here,
            files=(*self.files, *outer.files),
            settings={**outer.settings, **self.settings},
            is_background=self.is_background or outer.is_background,
            is_endless=self.is_endless or outer.is_endless,
        )


ALONE: Final = ProgramSurroundings()


def file_name(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2] or path


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
    around: ProgramSurroundings = ALONE
    is_main: bool = True
    """Whether it is started for its own sake: not for its output, nor to start what stands in its words."""

    @property
    def file(self) -> str:
        """The name of its file."""
        return file_name(self.name)

    @property
    def operands(self) -> tuple[str, ...]:
        """Of a shell that runs a file: that and its arguments."""
        left = [*reversed(self.starts)]
        while left and left[-1][:1] in ("-", "+") and left[-1] != "-":
            word = left.pop()
            if left and (word in _WITH_FILE or (word[1:2] != "-" and word.endswith(("o", "O")))):
                left.pop()
        return tuple(each for each in reversed(left) if each != "-")

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

    every: tuple[Program, ...]
    """All that may be started, in order."""
    faults: tuple[WordFault, ...]
    """Words that are not what they look like: variables that nothing replaces, several words in one."""
    unread: bool
    """Whether what is started is decided when it runs, or by a script in the image."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """Those that are started for their own sake, those that only prepare something among them."""
        return tuple(each for each in self.every if each.is_main)

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


NOTHING: Final = CommandLine((), (), unread=True)
"""What is read of something that is no command line."""
