"""The commands that an object has run, as the one reader of command lines reads them, and texts with code in them.

They stand in containers, in their probes and lifecycle handlers, and in ConfigMaps whose texts are scripts;
Python code, here documents and files that a script writes have further ones in them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra.render.command_lines import program, python_code, references
from trainer_infra.render.command_lines.command_line import NOTHING, CommandLine, Program, file_name
from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.python_code import PythonCode
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables
from trainer_infra.rules import pods
from trainer_infra.rules.placement import policy_variables
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Finding, Subject, Value
from trainer_infra.rules.value import ABSENT

CONFIG_MAP, _RAY_JOB = "ConfigMap", "RayJob"
_ENTRYPOINT: Final = ("spec", "entrypoint")
"""The command line that a RayJob gives to its cluster."""
KINDS: Final = pods.WORKLOADS | {CONFIG_MAP}
"""Objects with commands."""
_HANDLERS: Final = (
    *(("lifecycle", each, "exec", "command") for each in ("postStart", "preStop")),
    *((each, "exec", "command") for each in ("livenessProbe", "readinessProbe", "startupProbe")),
)
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?|inf(?:inity)?)([smhd]?)", re.IGNORECASE)
_SHELL_FILE: Final = re.compile(r".*\.(sh|bash|ksh|zsh)|\.?(bash|z)rc|\.?(bash_)?profile")
_MOST_UNNAMED: Final = 2**13
"""Characters of a text that may be a script though its name does not say so: it has no ending."""
_SHELL_TEXT: Final = re.compile(r"\s*(#![^\n]*\b(ba|da|z|k)?sh\b|set -[a-z]+)")
_REQUIREMENTS: Final = re.compile(r"(.*[-_.])?(requirements|constraints|packages)[\w.-]*\.(txt|in)")
"""Files whose lines are words of `pip install`."""
_PYTHON_TEXT: Final = re.compile(r"\s*#![^\n]*\bpython")
_CODE_OPTION: Final = re.compile(r"\w?\w?c")
"""`-c` of Python, alone or behind others, without its dash."""
_WRITERS: Final = ("cat", "tee", "read")
_DESCRIPTOR: Final = re.compile(r"\d+|stdout|stderr|null")


@dataclass(frozen=True, slots=True)
class ContainerCommand:
    """One command line, or one text with code."""

    words: tuple[Value, ...]
    """Where its items stand; of code one, the text that it stands in."""
    line: CommandLine = NOTHING
    container: PodContainer | None = None
    """None for that of a ConfigMap."""
    variables: ContainerVariables = references.NONE_KNOWN
    is_main: bool = False
    """Whether it is what the container is for: not a handler, nor code in another command."""
    codes: tuple[PythonCode, ...] = ()
    """Python code in it."""

    def finding(self, found: Program | PythonCode, what: str, fix: str) -> Finding:
        """A finding about one of its programs or codes; no word of it is shown, which may be a secret."""
        if isinstance(found, PythonCode):
            return self.holder(found.text).finding(what, None, fix)
        return self.words[min(found.item, len(self.words) - 1)].finding(what, None, fix)

    def holder(self, text: str) -> Value:
        """The word that a text stands in; the last one where a shell makes the text."""
        known = (each for each in self.words if isinstance(each.raw, str) and text in each.raw)
        return next(known, self.words[-1])


@dataclass(frozen=True, slots=True)
class CodeText:
    """A text that is a command, a part of one, or the value of a variable, or that stands in a ConfigMap."""

    value: Value
    name: str
    """That of the variable or key; empty for a word of a command."""
    text: str
    small: str
    """Name and text in small letters."""


Place = ContainerCommand | CodeText


def commands_of(subject: Subject) -> tuple[ContainerCommand, ...]:
    """All of an object's commands, each of which is read once for all rules."""
    return subject.once(_commands)


def slept(program: Program) -> tuple[tuple[str, float], ...]:
    """For how long `sleep` waits: its words with their seconds, perhaps infinite; none of another program."""
    words = program.starts if program.file == "sleep" else ()
    parts = (found for each in words if (found := _DURATION.fullmatch(each)))
    return tuple((each[0], float(each[1]) * _UNITS[each[2].lower()]) for each in parts)


def texts_with(*marks: str) -> Callable[[Subject], Iterator[CodeText]]:
    """What finds the texts in which code may stand and that have one of these parts, in small letters."""

    def found(subject: Subject) -> Iterator[CodeText]:
        texts = subject.once(_texts)
        # Most objects have none of them.
        whole = "\n".join(each.small for each in texts)
        if any(mark in whole for mark in marks):
            yield from (each for each in texts if any(mark in each.small for mark in marks))

    return found


def places_with(*marks: str) -> Callable[[Subject], Iterator[Place]]:
    """What finds all commands, and the texts that have one of these parts, in small letters."""
    texts = texts_with(*marks)

    def found(subject: Subject) -> Iterator[Place]:
        yield from commands_of(subject)
        yield from texts(subject)

    return found


def _texts(subject: Subject) -> Iterator[CodeText]:
    for value, name in _values(subject):
        if not value.is_noted() and isinstance(value.raw, str):
            yield CodeText(value, name, value.raw, f"{name}\n{value.raw}".lower())


def _values(subject: Subject) -> Iterator[tuple[Value, str]]:
    for words, _, _ in subject.once(_words_of):
        yield from ((each, "") for each in words)
    for container in pods.containers(subject):
        for each in container.value["env"].items():
            name = each["name"].raw
            yield each["value"], name if isinstance(name, str) else ""
    if subject.kind == _RAY_JOB:
        yield subject.object.at(*_ENTRYPOINT), ""
    elif subject.kind == CONFIG_MAP:
        yield from ((value, key) for key, value in subject.object["data"].fields())


def _words_of(subject: Subject) -> Iterator[tuple[tuple[Value, ...], PodContainer, bool]]:
    """The words of each command of a container, and whether they are what it is for."""
    for each in pods.containers(subject):
        value = each.value
        yield tuple(item for key in ("command", "args") for item in value[key].items()), each, True
        for path in _HANDLERS:
            if value[path[0]].raw is not ABSENT:
                yield tuple(value.at(*path).items()), each, False


def _commands(subject: Subject) -> Iterator[ContainerCommand]:
    for words, container, is_main in subject.once(_words_of):
        if words:
            variables = policy_variables.variables_of(container, subject)
            line = program.read_command_line([*map(_text, words)], variables)
            yield from _with_code(ContainerCommand(words, line, container, variables, is_main))
    for text in subject.once(_texts) if subject.kind == CONFIG_MAP else ():
        yield from _of_file(text.name, text.text, ContainerCommand((text.value,)))
    entrypoint = subject.object.at(*_ENTRYPOINT)
    if subject.kind == _RAY_JOB and isinstance(entrypoint.raw, str):
        line = program.read_shell_text(entrypoint.raw)
        yield from _with_code(ContainerCommand((entrypoint,), line))


def _text(word: Value) -> str:
    if word.is_noted():
        return UNREAD
    return word.raw if isinstance(word.raw, str) else ""


def _with_code(command: ContainerCommand) -> Iterator[ContainerCommand]:
    """A command, and those in code and in files that it has in its words."""
    codes: list[PythonCode] = []
    more: list[ContainerCommand] = []
    for each in command.line.every:
        for text in _python_texts(each):
            codes.append(python_code.read_python(text))
            inner = ContainerCommand((command.holder(text),), container=command.container)
            more += _of_code(codes[-1], inner)
        for key, text in _files(each):
            inner = ContainerCommand((command.holder(text),), container=command.container)
            more += _of_file(key, text, inner)
    yield replace(command, codes=tuple(codes)) if codes else command
    yield from more


def _python_texts(each: Program) -> Iterator[str]:
    """Code that Python is given in a word, or reads."""
    if each.kind != LauncherKind.PYTHON or "m" in each.options:
        return
    if any(map(_CODE_OPTION.fullmatch, each.options)):
        yield from each.starts[:1]
    elif each.starts[:1] in ((), ("-",)):
        yield from each.around.here
        yield from (" ".join(read.starts) for read in each.around.reads if read.name == "echo")


def _files(each: Program) -> Iterator[tuple[str, str]]:
    """Name and text of files that a script writes from texts in it."""
    name = file_name(next(iter((*each.around.files, *each.starts)), ""))
    if each.name in ("echo", "printf") and each.around.files and "." in name:
        yield name, " ".join(each.starts).replace("\\n", "\n")
    elif each.name in _WRITERS and not _DESCRIPTOR.fullmatch(name):
        yield from ((".py" if each.name == "read" else name, text) for text in each.around.here)


def _of_file(key: str, text: str, outer: ContainerCommand) -> Iterator[ContainerCommand]:
    """The commands of a file."""
    is_unnamed = key != "" and "." not in key and len(text) <= _MOST_UNNAMED
    if is_unnamed or _SHELL_FILE.fullmatch(key) or _SHELL_TEXT.match(text):
        yield from _with_code(replace(outer, line=program.read_shell_text(text)))
    elif _REQUIREMENTS.fullmatch(key):
        pip = Program(LauncherKind.OTHER, "pip", 0, starts=("install", *_requirements(text)))
        yield replace(outer, line=CommandLine((pip,), (), unread=False))
    elif key.endswith(".py") or _PYTHON_TEXT.match(text):
        code = python_code.read_python(text)
        yield replace(outer, codes=(code,))
        yield from _of_code(code, outer)


def _requirements(text: str) -> Iterator[str]:
    for written in text.replace("\\\n", " ").splitlines():
        line = re.split(r"(?:^|\s)#", written, maxsplit=1)[0].strip()
        if line.startswith("-"):
            yield from line.split()
        elif line:
            yield re.split(r"\s+--hash=|\s*;", line, maxsplit=1)[0]


def _of_code(code: PythonCode, outer: ContainerCommand) -> Iterator[ContainerCommand]:
    for words in code.commands:
        yield replace(outer, line=program.read_command_line(words))
