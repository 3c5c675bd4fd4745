"""Command lines in shell text, judged by the real command without running it."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

import typer
import typer.core
import typer.main

from trainer_infra.cli import main

NAME = "trainer-infra"
COMMAND = typer.main.get_command(main.app)
USAGE_ERROR: Any = typer.BadParameter.__base__
"""Of the click that typer uses, which newer ones bring along."""


def of(text: str) -> Iterator[list[str]]:
    """The arguments of every `trainer-infra` in a shell script."""
    words: list[str] = []
    for line in [*text.replace("\\\n", " ").splitlines(), ""]:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        skip = False
        for token in [*lexer, ";"]:
            if set(token) <= set("<>"):
                skip = True
            elif skip:
                skip = False
            elif set(token) <= set("|&;()"):
                if words[:1] == [NAME]:
                    yield words[1:]
                words = []
            else:
                words.append(token)


def problem(arguments: Sequence[str]) -> str:
    """Why the command would not take the arguments; empty when it would."""
    try:
        context = COMMAND.make_context(NAME, list(arguments))
        while isinstance(context.command, typer.core.TyperGroup):
            rest = [*context._protected_args, *context.args]  # noqa: SLF001  what it parses next
            name, command, left = context.command.resolve_command(context, rest)
            assert command is not None
            context = command.make_context(name, left, parent=context)
    except typer.Exit:
        return ""
    except USAGE_ERROR as error:
        said = str(error.format_message())
        # A command of commands shows its help.
        return "" if said.startswith("Usage: ") else said
    return ""
