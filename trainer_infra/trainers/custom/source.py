"""What `train` of a CustomTrainer turns into: files, what to start, and what is wrong with it.

Made by `function` (a Python function) and by `files` (a path); used by `custom_trainer`. Holds the
checks that both share. Pure but for a look at which files lie beside the user's own.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trainer_infra.errors import Problem
from trainer_infra.trainers.shown_path import shown_path

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class CodeSource:
    """The user's code, ready to travel."""

    files: Mapping[str, str]
    """Path below the mount's folder `source` -> text."""
    launch: Mapping[str, str]
    """What launch.json says: `script`, or `function` with its `module` or `file`."""
    function: Function | None
    """Definition of the function that will be called; None for a script or when not known."""
    where: str
    """File and line of that function, or the file."""
    problems: tuple[Problem, ...] = ()
    """Everything that is wrong with it."""
    origin: str = ""
    """Of a git reference: the same with the commit in place of its revision."""


def never_runs(function: Function, where: str) -> Iterator[Problem]:
    """A function whose call does not run its body."""
    if isinstance(function, ast.AsyncFunctionDef):
        yield Problem(
            "train",
            f"function {function.name} is async, and nothing would await it",
            fix="make it a plain function that calls asyncio.run",
            where=where,
        )
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
        yield Problem(
            "train",
            f"function {function.name} is a generator, so calling it runs nothing",
            fix="make it a plain function without yield",
            where=where,
        )


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body that run in its own frame."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))


def left_behind(tree: ast.AST, file: Path, subject: str, fix: str) -> Iterator[Problem]:
    """Imports of modules that lie beside the file and would not travel with it.

    Args:
        tree: what travels.
        file: the file it is from.
        subject: what the sentence is about, for example `function fit`.
        fix: how to give the whole folder instead.
    """
    seen: set[str] = set()
    for node in ast.walk(tree):
        for module in _imported(node):
            if module in seen or not _beside(file, module):
                continue
            seen.add(module)
            yield Problem(
                "train",
                f"{subject} imports {module or 'from its own package'}, which would not travel with it",
                fix=fix,
                where=f"{shown_path(file)}:{getattr(node, 'lineno', 1)}",
            )


def _imported(node: ast.AST) -> list[str]:
    """Top-level names that an import statement needs; an empty one for the own package."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else (node.module or "").partition(".")[0]]
    return []


def _beside(file: Path, module: str) -> bool:
    """Whether an import means a file beside this one; installed packages are found elsewhere."""
    if not module:
        return True
    if module in sys.stdlib_module_names or module == "trainer_infra":
        return False
    if "site-packages" in file.parts:
        return False
    folder = file.parent
    return (folder / f"{module}.py").is_file() or (folder / module / "__init__.py").is_file()
