"""The commands that an object has run, as the one reader of command lines reads them, and texts with code in them.

They stand in containers, in their probes and lifecycle handlers, and in ConfigMaps whose texts are scripts;
Python code, here documents and files that a script writes have further ones in them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra.render.command_lines import program, python_code, references
from trainer_infra.render.command_lines.command_line import NOTHING, CommandLine, Program
from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.python_code import PythonCode
from trainer_infra.render.command_lines.references import UNREAD, ContainerVariables
from trainer_infra.rules import pods
from trainer_infra.rules.placement import policy_variables
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Finding, Subject, Value
from trainer_infra.rules.value import UNKNOWN

CONFIG_MAP: Final = "ConfigMap"
KINDS: Final = pods.WORKLOADS | {CONFIG_MAP}
"""Objects with commands."""
_HANDLERS: Final = (
    *(("lifecycle", each, "exec", "command") for each in ("postStart", "preStop")),
    *((each, "exec", "command") for each in ("livenessProbe", "readinessProbe", "startupProbe")),
)
_SHELL_FILE: Final = re.compile(r".*\.(sh|bash|ksh|zsh)|\.?(bash|z)rc|\.?(bash_)?profile")
_MOST_UNNAMED: Final = 2**13
"""Characters of a text that may be a script though its name does not say so: it has no ending."""
_SHELL_TEXT: Final = re.compile(r"\s*(#![^\n]*\b(ba|da|z|k)?sh\b|set -[a-z]+)")
_REQUIREMENTS: Final = re.compile(r"(.*[-_.])?(requirements|constraints|packages)[\w.-]*\.(txt|in)")
"""Files whose lines are words of `pip install`."""
_PYTHON_TEXT: Final = re.compile(r"\s*#![^\n]*\bpython")
_WRITERS: Final = ("cat", "tee", "read")
_SCRIPT_HEADERS: Final = ("sh", "-c")


@dataclass(frozen=True, slots=True)
class ContainerCommand:
    """One command line, or one text with code."""

    words: tuple[Value, ...]
    """Where its items stand; of code one, the text that it stands in."""
    line: CommandLine
    container: PodContainer | None = None
    """None for that of a ConfigMap."""
    variables: ContainerVariables = references.NONE_KNOWN
    is_main: bool = True
    """Whether it is what the container is for: not a handler, nor code in another command."""
    codes: tuple[PythonCode, ...] = ()
    """Python code in it."""

    def finding(self, found: Program, what: str, fix: str) -> Finding:
        """A finding about one of its programs; no word of it is shown, which may be a secret."""
        return self.words[min(found.item, len(self.words) - 1)].finding(what, None, fix)


@dataclass(frozen=True, slots=True)
class CodeText:
    """A text that is a command, a part of one, or the value of a variable, or that stands in a ConfigMap."""

    value: Value
    name: str
    """That of the variable or key; empty for a word of a command."""


def commands_of(subject: Subject) -> tuple[ContainerCommand, ...]:
    """All of an object's commands, each of which is read once for all rules."""
    return subject.once(_commands)


def texts_of(subject: Subject) -> tuple[CodeText, ...]:
    """All texts in which code may stand."""
    return subject.once(_texts)


def _texts(subject: Subject) -> Iterator[CodeText]:
    for container in pods.containers(subject):
        for each in (*_written(container.value), *_handlers(container.value)):
            yield from (CodeText(word, "") for word in each if not word.is_noted())
        for variable in container.value["env"].items():
            name, value = variable["name"].raw, variable["value"]
            if not value.is_noted():
                yield CodeText(value, name if isinstance(name, str) else "")
    yield from (CodeText(each, "") for each in _entrypoints(subject))
    if subject.kind == CONFIG_MAP:
        yield from (CodeText(value, key) for key, value in _data(subject))


def _data(subject: Subject) -> Iterator[tuple[str, Value]]:
    for key, value in subject.object["data"].fields():
        if not value.is_noted() and isinstance(value.raw, str):
            yield key, value


def _commands(subject: Subject) -> Iterator[ContainerCommand]:
    for container in pods.containers(subject):
        variables = policy_variables.variables_of(container, subject)
        for words in _written(container.value):
            line = program.read_command_line([*map(_text, words)], variables)
            yield from _with_code(ContainerCommand(words, line, container, variables))
        for words in _handlers(container.value):
            line = program.read_command_line([*map(_text, words)], variables)
            yield from _with_code(
                ContainerCommand(words, line, container, variables, is_main=False)
            )
    for entrypoint in _entrypoints(subject):
        line = program.read_shell_text(entrypoint.raw)
        yield from _with_code(ContainerCommand((entrypoint,), line, is_main=False))
    if subject.kind == CONFIG_MAP:
        for key, value in _data(subject):
            yield from _of_file(key, value.raw, ContainerCommand((value,), NOTHING))


def _entrypoints(subject: Subject) -> Iterator[Value]:
    """The command line that a RayJob gives to its cluster."""
    found = subject.object.at("spec", "entrypoint")
    if subject.kind == "RayJob" and not found.is_noted() and isinstance(found.raw, str):
        yield found


def _written(container: Value) -> Iterator[tuple[Value, ...]]:
    words = tuple(item for key in ("command", "args") for item in container[key].items())
    if words:
        yield words


def _handlers(container: Value) -> Iterator[tuple[Value, ...]]:
    for path in _HANDLERS:
        words = tuple(container.at(*path).items())
        if words:
            yield words


def _text(word: Value) -> str:
    if word.is_noted() or word.raw is UNKNOWN:
        return UNREAD
    return word.raw if isinstance(word.raw, str) else ""


def _with_code(command: ContainerCommand) -> Iterator[ContainerCommand]:
    """A command, and those in code and in files that it has in its words."""
    codes = []
    more: list[ContainerCommand] = []
    for each in command.line.every:
        place = (command.words[min(each.item, len(command.words) - 1)],)
        inner = ContainerCommand(place, NOTHING, command.container, is_main=False)
        for text in _python_texts(each):
            code = python_code.read_python(text)
            codes.append(code)
            more += _of_code(code, inner)
        for key, text in _files(each):
            more += _of_file(key, text, inner)
    yield ContainerCommand(
        command.words,
        command.line,
        command.container,
        command.variables,
        command.is_main,
        tuple(codes),
    )
    yield from more


def _python_texts(each: Program) -> Iterator[str]:
    """Code that Python is given in a word, or reads."""
    if each.kind != LauncherKind.PYTHON or "m" in each.options:
        return
    if any(name.endswith("c") and len(name) < 4 for name in each.options):  # noqa: PLR2004  -c, -Bc
        yield from each.starts[:1]
    elif each.starts[:1] in ((), ("-",)):
        yield from each.around.here
        yield from (" ".join(read.starts) for read in each.around.reads if read.name == "echo")


def _files(each: Program) -> Iterator[tuple[str, str]]:
    """Name and text of files that a script writes from texts in it."""
    if each.name in _WRITERS and each.around.here:
        name = next(iter((*each.around.files, *each.starts)), "")
        for text in each.around.here:
            yield (name.rpartition("/")[2] if each.name != "read" else ".py"), text


def _of_file(key: str, text: str, outer: ContainerCommand) -> Iterator[ContainerCommand]:
    """The commands of a file."""
    is_unnamed = key != "" and "." not in key and len(text) <= _MOST_UNNAMED
    if is_unnamed or _SHELL_FILE.fullmatch(key) or _SHELL_TEXT.match(text):
        line = program.read_shell_text(text)
        yield from _with_code(ContainerCommand(outer.words, line, outer.container, is_main=False))
    elif _REQUIREMENTS.fullmatch(key):
        pip = Program(LauncherKind.OTHER, "pip", 0, starts=("install", *_requirements(text)))
        line = CommandLine((pip,), (), unread=False)
        yield ContainerCommand(outer.words, line, outer.container, is_main=False)
    elif key.endswith(".py") or _PYTHON_TEXT.match(text):
        code = python_code.read_python(text)
        yield ContainerCommand(outer.words, NOTHING, outer.container, is_main=False, codes=(code,))
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
        line = _read(words)
        yield ContainerCommand(outer.words, line, outer.container, is_main=False)


def _read(words: Sequence[str]) -> CommandLine:
    if tuple(words[:2]) == _SCRIPT_HEADERS:
        return program.read_shell_text(words[2])
    return program.read_command_line(words)
