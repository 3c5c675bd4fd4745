"""A path as `train`: a script, a folder with an entry, or a function in either.

Files travel as they are, below the mount's folder `source`; `folder` reads them.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.code import shown_path
from trainer_infra.trainers.custom import folder, source
from trainer_infra.trainers.custom.source import CodeSource, Function
from trainer_infra.words import nearest

LEFT_OUT = "left out are hidden files, those that ignore files name, and a Pulumi program's own"

_LITERALS = (ast.Constant, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.JoinedStr)
"""Values that are no function."""

FORMS = (
    '"train.py", "train.py:function", "folder:main.py", "folder:package.module" '
    'or "folder:package.module:function"'
)


def read_path(train: str, root: Path | None = None, *, stores: bool = False) -> CodeSource:
    """What a path means, one of FORMS, relative to `root`; None is the working directory.

    `stores` says whether there is a store for what a ConfigMap cannot hold.

    Raises:
        InvalidInput: nothing is there, the form is another, or a file cannot travel.
    """
    head, *rest = train.split(":")
    path = (root or Path()) / head
    if path.is_dir() and len(rest) in {1, 2}:
        files = folder.read_folder(path, stores=stores)
        trees = folder.syntax_trees(path, files)
        found = (
            _script(path, rest[0], train, trees, files)
            if len(rest) == 1
            else _called(path, rest, trees, files)
        )
        return replace(found, problems=(*found.problems, *_outside(path, rest, trees, files)))
    if path.is_file() and path.suffix == ".py" and len(rest) <= 1:
        files = folder.texts_of(path.parent, [path.name], stores=stores)
        trees = folder.syntax_trees(path.parent, files)
        fix = f'give the folder: CustomTrainer("{source.in_folder(path, *rest)}")'
        alone = tuple(source.left_behind(trees[path.name], path, path.name, fix))
        found = (
            _called(path.parent, [path.name, *rest], trees, files)
            if rest
            else _script(path.parent, path.name, head, trees, files)
        )
        return replace(found, problems=(*alone, *found.problems))
    raise InvalidInput([_misread(train, path, root)])


def _outside(
    root: Path, entry: list[str], trees: Mapping[str, ast.Module], files: Mapping[str, str]
) -> Iterator[Problem]:
    """What starts and imports from a package whose folder does not travel."""
    name, function = entry[0], "".join(entry[1:])
    file = _module_file(name, name, files, "__init__" if function else "__main__")
    if file in trees:
        is_script = not function and name.endswith(".py")
        yield from source.outside_folder(trees[file], root, file, function, is_script=is_script)


def _misread(train: str, path: Path, root: Path | None) -> Problem:
    if "://" in train:
        fix = "write git+https://HOST/ORG/REPO.git@REVISION#PATH for code of a git repository"
        return Problem("train", "is a URL", got=None if "@" in train else train, fix=fix)
    if not path.exists():
        fix = f"paths are relative to {root or Path.cwd()}"
        head, colon, rest = train.partition(":")
        if head.startswith("~"):
            fix = f'~ is not expanded; write str(Path("{head}").expanduser())'
        elif Path(f"{path}.py").is_file():
            fix = f"did you mean {head}.py{colon}{rest}?"
        return Problem("train", f"there is no file or folder {path}", got=train, fix=fix)
    if path.is_dir():
        fix = f'name what to run in it: "{path}:main.py" or "{path}:module:function"'
        return Problem("train", "is a folder without an entry", got=train, fix=fix)
    return Problem("train", "is not a Python file to run", got=train, fix=f"give {FORMS}")


def _script(
    root: Path,
    entry: str,
    train: str,
    trees: Mapping[str, ast.Module],
    files: Mapping[str, str],
) -> CodeSource:
    """A file that runs as the program; `train` is what the user wrote for it."""
    is_module = not entry.endswith(".py") and entry not in files
    path = _module_file(entry, entry, files, "__main__") if is_module else entry
    launch = {"main_module": entry} if is_module else {"script": entry}
    where = shown_path(root / path)
    if path not in files:
        return CodeSource(files, launch, None, where, (_no_entry(root, entry, files),))
    problems = tuple(source.runs_nothing(trees[path], train, where)) if path in trees else ()
    return CodeSource(files, launch, None, where, problems)


def _no_entry(root: Path, entry: str, files: Mapping[str, str]) -> Problem:
    near = nearest(entry, files)
    fix = f"the nearest is {near[0]}" if near else LEFT_OUT
    what = "the folder has no such file"
    if (root / entry).is_file():
        what, fix = "is a file of the folder that does not travel", LEFT_OUT
    return Problem("train", what, got=entry, fix=fix, where=shown_path(root))


def _called(
    root: Path, entry: list[str], trees: Mapping[str, ast.Module], files: Mapping[str, str]
) -> CodeSource:
    """A function of a module in the folder: entry is the module, or its file, and the function."""
    module = entry[0].removesuffix(".py").replace("/", ".")
    path = _module_file(entry[0], module, files)
    launch = {"module": module, "function": entry[1]}
    stem = path.removesuffix(".py")
    problem = None if path in files else _no_entry(root, path, files)
    if path in files and ("." in stem or stem == "__main__"):
        what = "cannot be imported as a module under this name"
        problem = Problem("train", what, fix="rename it", where=shown_path(root / path))
    if problem:
        return CodeSource(files, launch, None, shown_path(root), (problem,))
    definition = _top_level(trees[path]).get(entry[1])
    line = definition.lineno if definition else 1
    where = f"{shown_path(root / path)}:{line}"
    problems = tuple(_function_problems(trees[path], entry[1], where))
    # A decorator may have changed what the function takes.
    plain = definition if definition and not definition.decorator_list else None
    return CodeSource(files, launch, plain, where, problems)


def _module_file(
    entry: str, module: str, files: Mapping[str, str], of_package: str = "__init__"
) -> str:
    if entry.endswith(".py"):
        return entry
    path = module.replace(".", "/")
    package = f"{path}/{of_package}.py"
    return package if package in files else f"{path}.py"


def _top_level(tree: ast.Module) -> dict[str, Function]:
    """Functions that a module defines, also below an `if` or `try`."""
    found: dict[str, Function] = {}
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop(0)
        if isinstance(node, Function):
            found[node.name] = node
        elif not isinstance(node, ast.ClassDef | ast.expr):
            todo.extend(ast.iter_child_nodes(node))
    return found


def _function_problems(tree: ast.Module, name: str, where: str) -> Iterator[Problem]:
    functions = _top_level(tree)
    if name in functions:
        yield from source.never_runs(functions[name], where)
    elif kind := _no_functions(tree).get(name.partition(".")[0]):
        fix = "write a function that uses it, and name that"
        yield Problem("train", f"must be a function, not {kind}", got=name, fix=fix, where=where)
    elif name not in _imported(tree) | _stored(tree):
        near = nearest(name, functions)
        fix = f"the nearest is {near[0]}" if near else "define it in there"
        yield Problem("train", "the file has no such function", got=name, fix=fix, where=where)


def _no_functions(tree: ast.Module) -> Mapping[str, str]:
    """Classes of a module, and names that are a plain value wherever they are assigned: what each is."""
    assigned = [
        (target.id, isinstance(node.value, _LITERALS))
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    values = {name for name, is_plain in assigned if is_plain}
    values -= {name for name, is_plain in assigned if not is_plain} | _imported(tree)
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    classes -= {name for name, _ in assigned}
    return dict.fromkeys(values, "a value") | dict.fromkeys(classes, "a class or its method")


def _stored(tree: ast.Module) -> set[str]:
    """Names that something in a module assigns."""
    named = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {node.id for node in named if isinstance(node.ctx, ast.Store)}


def _imported(tree: ast.Module) -> set[str]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
