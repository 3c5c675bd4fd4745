"""A Python function as `train`: its source travels alone, so it must be complete by itself.

What cannot work is found here, at preview: SDK contract 3.1 lists what a function loses when only
its source is shipped.
"""

import __future__

import ast
import builtins
import dis
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.code import parsed, shown_path
from trainer_infra.trainers.custom import source
from trainer_infra.trainers.custom.source import CodeSource, Function

LAZY = __future__.annotations.compiler_flag
# Consoles and notebooks put these among the builtins; a pod does not have them.
BUILTINS = frozenset(dir(builtins)) - {"_", "display", "get_ipython"}
READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})


def read_function(train: Callable[..., object]) -> CodeSource:
    """Source of a function, at the lines it has in its file so that tracebacks are true.

    Raises:
        InvalidInput: it is not a plain function, or its source cannot be found.
    """
    original = inspect.unwrap(train)
    if not isinstance(original, FunctionType) or original.__name__ == "<lambda>":
        raise InvalidInput([_no_function(train)])
    lines, node = _definition(original)
    text = _alone(original, lines, node)
    file = Path(original.__code__.co_filename)
    name = f"{file.stem if file.stem.isidentifier() else node.name}.py"
    where = f"{shown_path(file)}:{node.lineno}"
    # A cell of a notebook has a file by name only, and imports from the working directory.
    beside = file if file.exists() else Path(file.name)
    problems = (
        *source.never_runs(node, where),
        *_decorated(original, node, where),
        *_wrapped(train, node, where),
        *_closure(original, where),
        *_undefined(original, text),
        *source.left_behind(node, beside, f"function {node.name}", _give_folder(original)),
    )
    launch = {"file": name, "function": node.name}
    return CodeSource({name: text}, launch, node, where, problems)


def _no_function(train: Any) -> Problem:
    """Why something that can be called is not a function whose source can be shipped."""
    if isinstance(train, functools.partial):
        inner = getattr(train.func, "__name__", train.func)
        what = f"is functools.partial of {inner}"
        return Problem("train", what, fix=f"give {inner} itself, with its arguments in func_args")
    if inspect.ismethod(train):
        what = f"{train.__qualname__} is a method, and its object would not travel with it"
        fix = "write a function that makes the object and calls the method"
        return Problem("train", what, fix=fix, where=_place(train.__func__))
    if isinstance(train, FunctionType):
        what = "a lambda has no definition that could be shipped"
        return Problem("train", what, fix="write a function with def", where=_place(train))
    fix = 'give a function, "train.py", "train.py:function" or "folder:main.py"'
    if train is None:
        return Problem("train", "is missing", fix=fix)
    return Problem("train", "is not a function and not a path", got=train, fix=fix)


def _place(function: Any) -> str:
    code = getattr(function, "__code__", None)
    return f"{shown_path(code.co_filename)}:{code.co_firstlineno}" if code else ""


def _definition(function: FunctionType) -> tuple[list[str], Function]:
    """Lines of the function's file, and its definition in there."""
    try:
        lines, _ = inspect.findsource(function)
        tree = parsed("".join(lines))
    except (OSError, SyntaxError):
        lines, tree = [], ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, Function) and node.name == function.__code__.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == function.__code__.co_firstlineno:
                return lines, node
    what = f"the source of function {function.__name__} cannot be found there"
    fix = (
        "define it in a file that does not change while the program runs, or in a notebook's cell "
        "that begins with no %%magic"
    )
    raise InvalidInput([Problem("train", what, fix=fix, where=_place(function))])


def _alone(function: FunctionType, lines: list[str], node: Function) -> str:
    """The function's own lines, at their place; what stood before them is blank."""
    blank = [""] * (node.lineno - 1)
    if node.col_offset:
        # Its indentation stays as it is: dedenting would change texts of several lines in it.
        blank[-1] = "if True:"
    if function.__code__.co_flags & LAZY:
        # A notebook keeps the flag for later cells, where no line may be free for it.
        free = len(blank) > bool(node.col_offset)
        blank[: int(free)] = ["from __future__ import annotations"]
    own = lines[node.lineno - 1 : node.end_lineno]
    return "\n".join([*blank, "".join(own)])


def _decorated(function: FunctionType, node: Function, where: str) -> Iterator[Problem]:
    for each in node.decorator_list:
        what = f"function {node.name} is decorated with @{ast.unparse(each)}, which would not travel with it"
        fix = f"remove the decorator, or {_give_file(function)}"
        yield Problem("train", what, fix=fix, where=where)


def _wrapped(train: Callable[..., object], node: Function, where: str) -> Iterator[Problem]:
    if inspect.unwrap(train) is not train and not node.decorator_list:
        what = f"function {node.name} is wrapped by another one, which would not travel with it"
        yield Problem("train", what, fix=f"give {node.name} itself", where=where)


def _closure(function: FunctionType, where: str) -> Iterator[Problem]:
    free = function.__code__.co_freevars
    if inner := _decorated_by(function):
        made_by = function.__qualname__.partition(".<locals>")[0]
        what = (
            f"is {function.__name__}, which the decorator @{made_by} puts around function "
            f"{inner.__name__} of {_place(inner)}, and which would not travel with it"
        )
        fix = f"remove the decorator from {inner.__name__}, or {_give_file(inner)}"
        yield Problem("train", what, fix=fix, where=where)
    elif free:
        what = f"function {function.__name__} uses {', '.join(free)} of the function around it"
        fix = "pass what it needs as an argument in func_args, or define it inside"
        yield Problem("train", what, fix=fix, where=where)


def _decorated_by(function: FunctionType) -> FunctionType | None:
    """The function that this one stands for when it is what a decorator without `wraps` returned."""
    if ".<locals>." not in function.__qualname__:
        return None
    held = [_content(cell) for cell in function.__closure__ or ()]
    inner = [each for each in held if isinstance(each, FunctionType)]
    named = [each for each in inner if each.__globals__.get(each.__name__) is function]
    return named[0] if named else None


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        # Nothing was assigned yet.
        return None


def _undefined(function: FunctionType, text: str) -> Iterator[Problem]:
    """Names that the function takes from its module, or that exist nowhere."""
    try:
        missing = undefined_names(text)
    except SyntaxError:
        # Only a `nonlocal` of the function around it stops making sense: a closure, named above.
        return
    for name, line in missing.items():
        if name in function.__code__.co_freevars:
            continue
        origin, advice = _origin(function, name)
        what = f"function {function.__name__} uses {name}, {origin}"
        fix = f"{advice}, or {_give_file(function)}"
        where = f"{shown_path(function.__code__.co_filename)}:{line}"
        yield Problem("train", what, fix=fix, where=where)


def _origin(function: FunctionType, name: str) -> tuple[str, str]:
    """What a missing name is in the function's module, and what to do about it."""
    if name == "get_ipython":
        return "which only a notebook has", "remove each %magic and each !command from it"
    if name not in function.__globals__:
        return "which is not defined anywhere", "import or define it inside the function"
    value = function.__globals__[name]
    home = getattr(value, "__module__", None)
    if isinstance(value, ModuleType) or (callable(value) and home != function.__module__):
        return "which is imported outside of it", "import it inside the function"
    if callable(value):
        return "which is defined outside of it", "define it inside the function"
    return "a variable outside of it", "pass it as an argument in func_args"


def _give_file(function: FunctionType) -> str:
    """The other way: let the whole file travel. Not a program's own file, which would run again."""
    name = function.__name__
    if function.__module__ == "__main__":
        return f'move it to a file of its own: CustomTrainer("{name}.py:{name}")'
    file = shown_path(function.__code__.co_filename)
    return f'give the file: CustomTrainer("{file}:{name}")'


def _give_folder(function: FunctionType) -> str:
    """The same for everything beside its file."""
    name, file = function.__name__, Path(function.__code__.co_filename)
    if function.__module__ == "__main__":
        where = shown_path(file.parent)
        return f'move it to a file of its own and give the folder: "{where}:{name}:{name}"'
    root, module = source.package_of(file)
    return f'give the folder: CustomTrainer("{shown_path(root)}:{module}:{name}")'


def undefined_names(text: str) -> dict[str, int]:
    """Name -> line of its first use, of every name that running the source of a module would not find.

    Read from the compiled code, so scopes, comprehensions, `except ... as`, `global` and annotations
    count exactly as they do when it runs. Nothing is run.

    Raises:
        SyntaxError: the text is not Python.
    """
    module = compile(text, "<source>", "exec", dont_inherit=True)
    lines: dict[str, int] = {}
    defined: set[str] = set()
    for code in _scopes(module):
        # What a class body defines is found there first, and nowhere else.
        local = set() if code is module else _written(code, "STORE_NAME")
        defined |= _written(code, "STORE_GLOBAL") | (_written(code, "STORE_NAME") - local)
        for name, line in _read(code):
            if name not in local:
                lines[name] = min(line, lines.get(name, line))
    # A module or class body has names such as `__name__` by itself.
    by_itself = {name for name in lines if name.startswith("__") and name.endswith("__")}
    missing = lines.keys() - defined - BUILTINS - by_itself
    return {name: lines[name] for name in sorted(missing, key=lambda name: (lines[name], name))}


def _scopes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _scopes(each)


def _read(code: CodeType) -> Iterator[tuple[str, int]]:
    for step in dis.get_instructions(code):
        if step.opname in READS:
            line = step.positions.lineno if step.positions else None
            yield step.argval, line or code.co_firstlineno


def _written(code: CodeType, how: str) -> set[str]:
    """Names that get a value; `x += 1` gives none to a name that has none."""
    found: set[str] = set()
    before: dis.Instruction | None = None
    for step in dis.get_instructions(code):
        added = before is not None and before.opname == "BINARY_OP" and "=" in before.argrepr
        if step.opname == how and not added:
            found.add(step.argval)
        before = step
    return found
