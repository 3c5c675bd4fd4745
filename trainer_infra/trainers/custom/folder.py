"""Files of a folder as texts, exact, ready for a ConfigMap.

Called by `files`. Left out are hidden files, `__pycache__`, virtual environments, what ignore files
name (`ignore_files`), and of a Pulumi project its own files: they change without the training. What a
ConfigMap cannot hold is refused with its path.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.custom.ignore_files import IgnorePatterns
from trainer_infra.trainers.custom.source import shown_path

LIMIT = 1024 * 1024
"""Bytes that a ConfigMap may hold (Kubernetes: 1 MiB of data)."""
LARGEST = 3


def read_folder(root: Path) -> dict[str, str]:
    """Path below the folder -> text, of every file that travels.

    Raises:
        InvalidInput: holds every file that cannot travel, or the size when that is too much.
    """
    return texts_of(root, sorted(_paths(root)))


def texts_of(root: Path, paths: Iterable[str]) -> dict[str, str]:
    """Path -> text of the given files below a folder.

    Raises:
        InvalidInput: as `read_folder`.
    """
    found: dict[str, str] = {}
    problems: list[Problem] = []
    sizes: dict[str, int] = {}
    for path in paths:
        problem = _outside(root, path)
        if problem:
            problems.append(problem)
            continue
        sizes[path] = (root / path).stat().st_size
        # A checkpoint in the folder is named by size below; it need not be read for that.
        content = (root / path).read_bytes() if sizes[path] <= LIMIT else b""
        try:
            found[path] = content.decode()
            path.encode()
        except UnicodeError:
            what = "is not UTF-8 text, and a ConfigMap carries text only"
            fix = "move it out of the folder, and mount or download it in the job"
            problems.append(Problem("train", what, fix=fix, where=shown_path(root / path)))
    problems += too_large(sizes, shown_path(root))
    if problems:
        raise InvalidInput(problems)
    return found


def too_large(sizes: Mapping[str, int], where: str) -> Iterator[Problem]:
    """The one problem of files that are together over the limit: path -> bytes."""
    total = sum(sizes.values()) + sum(len(path.encode(errors="replace")) for path in sizes)
    if total > LIMIT:
        largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:LARGEST]
        yield Problem(
            "train",
            f"the code has {_size(total)}, over a ConfigMap's limit of {_size(LIMIT)}; "
            f"largest: {', '.join(f'{path} ({_size(size)})' for path, size in largest)}",
            fix="keep data out of it, and mount or download it in the job",
            where=where,
        )


def syntax_trees(root: Path, files: Mapping[str, str]) -> dict[str, ast.Module]:
    """The syntax tree of each Python file.

    Raises:
        InvalidInput: holds the first syntax error of each file.
    """
    trees: dict[str, ast.Module] = {}
    problems: list[Problem] = []
    for path, text in files.items():
        if not path.endswith(".py"):
            continue
        try:
            trees[path] = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            place = f"{shown_path(root / path)}:{getattr(error, 'lineno', None) or 1}"
            what = f"cannot be compiled: {getattr(error, 'msg', error)}"
            problems.append(Problem("train", what, where=place))
    if problems:
        raise InvalidInput(problems)
    return trees


def _paths(root: Path) -> Iterator[str]:
    ignored = IgnorePatterns(root)
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        ignored.enter(here)
        # The files of a Pulumi project in a folder with these: its program, and what configures
        # it.
        known = [each for each in names if re.fullmatch(r"Pulumi(\..+)?\.ya?ml", each)]
        is_project = not {"Pulumi.yaml", "Pulumi.yml"}.isdisjoint(known)
        program = frozenset((*known, "__main__.py")) if is_project else frozenset()
        kept = [
            name
            for name in folders
            if name != "__pycache__"
            and not name.startswith(".")
            and not (here / name / "pyvenv.cfg").exists()
            and not ignored.names(here / name, is_folder=True)
        ]
        # os.walk does not enter a link; it comes out as a file, so that it is not lost silently.
        links = [name for name in kept if (here / name).is_symlink()]
        folders[:] = sorted(set(kept).difference(links))
        for name in [*names, *links]:
            hidden = name.startswith(".") or name in program
            if not hidden and not ignored.names(here / name, is_folder=False):
                yield (here / name).relative_to(root).as_posix()


def _outside(root: Path, path: str) -> Problem | None:
    """Why a path is no file of this folder."""
    real = (root / path).resolve()
    where = shown_path(root / path)
    fix = "copy what it points to into the folder"
    if not real.is_relative_to(root.resolve()):
        return Problem("train", "is a link out of the folder", got=str(real), fix=fix, where=where)
    if real.is_dir():
        what = "is a link to a folder, which a ConfigMap cannot hold"
        return Problem("train", what, got=str(real), fix=fix, where=where)
    if not real.is_file():
        return Problem("train", "is not a file", got=str(real), fix="remove it", where=where)
    return None


def _size(count: int) -> str:
    """Bytes, for people."""
    for unit, factor in (("MiB", 1024 * 1024), ("KiB", 1024)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
