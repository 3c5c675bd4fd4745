"""What `train` of a CustomTrainer turns into: files, what to start, and what is wrong with it.

`function` makes it of a Python function and `files` of a path; the checks here are those that both share. Pure but
for a look at which files lie beside the user's own.
"""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.errors import Problem
from trainer_infra.trainers.code import shown_path

Function = ast.FunctionDef | ast.AsyncFunctionDef
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign
_ENTRIES: Final = ("main", "train", "run", "fit", "train_func", "train_fn")
"""Names that people give the function that starts everything."""
_SETS_UP: Final = re.compile(
    r"(?:logging|warnings|logger|log|os\.environ|sys\.path|random|np\.random|numpy\.random)\."
    r"|(?:torch|multiprocessing|mp|tf|jax|matplotlib)[\w.]*\.(?:set|manual|config|use|update|seed)\w*"
    r"|(?:load_dotenv|set_seed|seed_everything)\("
)
"""Calls that prepare a program and are none of its work."""


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
        what = f"function {function.name} is async, and nothing would await it"
        fix = "make it a plain function that calls asyncio.run"
        yield Problem("train", what, fix=fix, where=where)
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
        what = f"function {function.name} is a generator, so calling it runs nothing"
        fix = "make it a plain function without yield"
        yield Problem("train", what, fix=fix, where=where)


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body that run in its own frame."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))


def runs_nothing(tree: ast.Module, entry: str, where: str) -> Iterator[Problem]:
    """A script, such as `train.py`, that only defines things, or is empty: it ends at once and counts as complete."""
    functions = {each.name: each for each in tree.body if isinstance(each, Function)}
    classes = [each.name for each in tree.body if isinstance(each, ast.ClassDef)]
    own = frozenset((*functions, *classes))
    steps = tuple(_run_steps(tree.body))
    mistaken = [each for each in tree.body if _name_test(each) not in {None, "__main__"}]
    # Without a definition any other statement may be the program, also an import.
    may_be_all = not own and not mistaken
    if may_be_all and not all(isinstance(each, ast.Expr | ast.Pass) for each in steps):
        return
    if any(_does_something(each, own, functions) for each in steps):
        return
    fix = "call it at the end of the file" if own else "name the file that trains"
    if functions:
        started = next((name for name in _ENTRIES if name in functions), _last_uncalled(functions))
        fix = f'did you mean "{entry}:{started}"?'
    for each in mistaken:
        fix = f'line {each.lineno} compares __name__ with {_name_test(each)!r}; write "__main__"'
    waiting = (each for each in steps if _called(each) in functions)
    for each in waiting:
        fix = f"line {each.lineno} calls {_called(each)} and runs nothing of it; write asyncio.run(...)"
        if not isinstance(functions[_called(each)], ast.AsyncFunctionDef):
            fix = f"{_called(each)} is a generator; make it a plain function without yield"
    what = f"defines {', '.join(functions or classes)} and runs nothing" if own else "runs nothing"
    yield Problem("train", what, fix=fix, where=where)


def _last_uncalled(functions: Mapping[str, Function]) -> str:
    """The last function that no other one calls."""
    called = {
        each.func.id
        for function in functions.values()
        for each in ast.walk(function)
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
    }
    return ([name for name in functions if name not in called] or list(functions))[-1]


def _run_steps(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run where a file is the program; one that holds others is not among them."""
    for each in body:
        if isinstance(each, ast.If):
            tested = _name_test(each)
            yield from _run_steps(each.body if tested in {None, "__main__"} else ())
            yield from _run_steps(each.orelse)
        elif isinstance(each, ast.Try):
            handlers = (step for one in each.handlers for step in one.body)
            yield from _run_steps((*each.body, *handlers, *each.orelse, *each.finalbody))
        else:
            yield each


def _name_test(step: ast.stmt) -> str | None:
    """The text that an `if` compares `__name__` with; None where it is another statement."""
    test = step.test if isinstance(step, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return None
    sides = (test.left, *test.comparators)
    is_name = any(isinstance(each, ast.Name) and each.id == "__name__" for each in sides)
    texts = [e.value for e in sides if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return texts[0] if is_name and texts else None


def _does_something(step: ast.stmt, own: frozenset[str], functions: Mapping[str, Function]) -> bool:
    """Whether a statement may train: it calls something that is not only there to set things up."""
    if isinstance(step, Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Pass):
        return False
    called = _called(step)
    if called in functions and any(never_runs(functions[called], "")):
        return False
    names = {each.id for each in ast.walk(step) if isinstance(each, ast.Name)}
    calls = [each for each in ast.walk(step) if isinstance(each, ast.Call)]
    if isinstance(step, _Assignment) and functions:
        return any(isinstance(each.func, ast.Name) and each.func.id in own for each in calls)
    if isinstance(step, ast.Expr | _Assignment):
        value = ast.unparse(step.value) if step.value else ""
        return bool(calls) and (bool(names & own) or not _SETS_UP.match(value))
    return True


def _called(step: ast.stmt) -> str:
    """The function that a statement calls and does nothing else; empty for none."""
    call = step.value if isinstance(step, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
        return call.func.id
    return ""


def left_behind(tree: ast.AST, file: Path, subject: str, fix: str) -> Iterator[Problem]:
    """Imports in what travels, `function fit` for example, of modules that lie beside its file and would not travel."""
    seen: set[str] = set()
    for node in ast.walk(tree):
        for module in _imported(node):
            if module in seen or not _beside(file, module):
                continue
            seen.add(module)
            what = f"{subject} imports {module or 'from its own package'}, which would not travel with it"
            where = f"{shown_path(file)}:{getattr(node, 'lineno', 1)}"
            yield Problem("train", what, fix=fix, where=where)


def _imported(node: ast.AST) -> list[str]:
    """Top-level names that an import statement needs; an empty one for the own package."""
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return ["" if node.level else (node.module or "").partition(".")[0]]
    return []


def package_of(file: Path) -> tuple[Path, str]:
    """The folder above the packages that a file is in, and the name of its module from there."""
    folder, parts = file.absolute().parent, [file.stem]
    while (folder / "__init__.py").is_file() and folder.name:
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def outside_folder(
    tree: ast.Module, root: Path, entry: str, function: str, *, is_script: bool
) -> Iterator[Problem]:
    """Imports of the file that starts that mean its own package, whose parent folder does not travel with `root`.

    One that runs as a program by its path, a script, is in no package and has no function to call.
    """
    depth = 0 if is_script else entry.count("/")
    above, module = package_of(root / entry)
    own = module.partition(".")[0] if "." in module and above != root.absolute() else ""
    for node in ast.walk(tree):
        is_relative = isinstance(node, ast.ImportFrom) and node.level > depth
        if is_relative or (own and own in _imported(node)):
            what = "imports from its own package, which is not there when it starts in this way"
            fix = f'give the folder above: "{in_folder(root / entry, function)}"'
            where = f"{shown_path(root / entry)}:{getattr(node, 'lineno', 1)}"
            yield Problem("train", what, fix=fix, where=where)
            return


def in_folder(file: Path, function: str = "") -> str:
    """How `train` names a file together with all that it may import."""
    root, module = package_of(file)
    entry = module if "." in module else file.name
    return ":".join(filter(None, (shown_path(root), entry, function)))


def _beside(file: Path, module: str) -> bool:
    """Whether an import means a file beside this one; installed packages are found elsewhere."""
    if not module:
        return True
    _, own = package_of(file)
    if "." in own and own.partition(".")[0] == module:
        return True
    if module in {*sys.stdlib_module_names, "trainer_infra"} or "site-packages" in file.parts:
        return False
    folder = file.parent
    return (folder / f"{module}.py").is_file() or (folder / module / "__init__.py").is_file()
