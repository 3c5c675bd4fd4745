"""Files of a folder as texts, exact, ready for a ConfigMap.

Left out are hidden files, `__pycache__`, virtual environments, what ignore files name, and of a
Pulumi project its own files: they change without the training. What a ConfigMap cannot hold is
refused with its path, unless there is a store for it (`stored_code`). Patterns of ignore files are
those of git (gitignore(5)); a `.trainerignore` beside a `.gitignore` is read after it, so that
`!data.csv` in it takes a file along that git leaves out. Files of git above the folder count too,
up to the root of the repository.
"""

import ast
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.code import parsed, shown_path
from trainer_infra.trainers.custom import stored_code

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LIMIT = 1024 * 1024
"""Bytes that a ConfigMap may hold (Kubernetes: 1 MiB of data)."""
STORED_LIMIT = 256 * 1024 * 1024
"""Bytes of code that a store is for: a preview reads and hashes all of it."""
LARGEST = 3
NO_STORE: Final = (
    "mount data or download them in the job; for code name a store, `pulumi config set trainer:code "
    "s3://BUCKET/PREFIX`, or put it into an image, which ContainerTrainer starts"
)
FILES: Final = (".gitignore", ".trainerignore")


def read_folder(root: Path, *, stores: bool) -> dict[str, str]:
    """Path below the folder -> text, of every file that travels.

    Raises:
        InvalidInput: holds every file that cannot travel, or the size when that is too much.
    """
    return texts_of(root, sorted(_paths(root)), stores=stores)


def texts_of(root: Path, paths: Iterable[str], *, stores: bool) -> dict[str, str]:
    """As `read_folder`, of the given files; the text of one that is not a text is as `stored_code.BYTES` says."""
    limit = STORED_LIMIT if stores else LIMIT
    found: dict[str, str] = {}
    problems: list[Problem] = []
    sizes: dict[str, int] = {}
    for path in paths:
        if problem := _outside(root, path):
            problems.append(problem)
            continue
        sizes[path] = (root / path).stat().st_size
        # A checkpoint in the folder is named by size below; it need not be read for that.
        content = (root / path).read_bytes() if sizes[path] <= limit else b""
        found[path] = content.decode(*stored_code.BYTES)
        is_text = stored_code.is_text(found[path]) or (stores and not path.endswith(".py"))
        if not is_text or not stored_code.is_text(path):
            what = "is not UTF-8 text, and a ConfigMap carries text only"
            where = shown_path(root / path).encode(errors="backslashreplace").decode()
            problems.append(Problem("train", what, fix=NO_STORE, where=where))
    problems += too_large(sizes, shown_path(root), limit)
    if problems:
        raise InvalidInput(problems)
    return found


def too_large(sizes: Mapping[str, int], where: str, limit: int = LIMIT) -> Iterator[Problem]:
    """The one problem of files that are together over the limit: path -> bytes."""
    total = sum(sizes.values()) + sum(len(path.encode(errors="replace")) for path in sizes)
    if total > limit:
        in_map = limit == LIMIT
        whose, fix = ("ConfigMap", NO_STORE) if in_map else ("store", "keep data out of it")
        largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:LARGEST]
        named = ", ".join(f"{path} ({_size(size)})" for path, size in largest)
        what = f"the code has {_size(total)}, over a {whose}'s limit of {_size(limit)}"
        yield Problem("train", f"{what}; largest: {named}", fix=fix, where=where)


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
            trees[path] = parsed(text)
        except (RecursionError, MemoryError):
            what = "cannot be compiled: an expression is too long or too deep for Python"
            where = shown_path(root / path)
            problems.append(Problem("train", what, fix="make several of it", where=where))
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
        # The files of a Pulumi project in a folder with these: its program and its settings.
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
    """Why a path is not a file of this folder."""
    # Path.resolve raises an error for a link to itself.
    real = Path(os.path.realpath(root / path))
    where = shown_path(root / path)
    if real.is_symlink():
        return Problem("train", "is a link that leads to itself", fix="remove it", where=where)
    what, fix = "", "copy what it points to into the folder"
    if not real.is_relative_to(root.resolve()):
        what = "is a link out of the folder"
    elif real.is_dir():
        what = "is a link to a folder, which a ConfigMap cannot hold"
    elif not real.is_file():
        what, fix = "is not a file", "remove it"
    return Problem("train", what, got=str(real), fix=fix, where=where) if what else None


def _size(count: int) -> str:
    """Bytes, for people."""
    for unit, factor in (("MiB", 1024 * 1024), ("KiB", 1024)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"


@dataclass(slots=True)
class IgnorePatterns:
    """The patterns that hold in a folder, found as its folders are walked from the top."""

    root: Path
    """The folder that travels."""
    _specs: list[tuple[Path, "GitIgnoreSpec"]] = field(default_factory=list)
    """By the folder in which they stand, outermost first: the last one that says anything counts."""

    def __post_init__(self) -> None:
        for each in _above(self.root.resolve()):
            self._read(each)

    def enter(self, folder: Path) -> None:
        """Read what stands in a folder, before its entries are judged."""
        self._read(folder.resolve())

    def names(self, path: Path, *, is_folder: bool) -> bool:
        """Whether a file or a folder is left out."""
        # The path itself may be a link: only the folder that it is in is resolved.
        whole = path.parent.resolve() / path.name
        said = None
        for base, spec in self._specs:
            if whole.is_relative_to(base):
                below = whole.relative_to(base).as_posix()
                found = spec.check_file(f"{below}/" if is_folder else below).include
                said = said if found is None else found
        return bool(said)

    def _read(self, folder: Path) -> None:
        lines: list[str] = []
        for name in FILES:
            if (folder / name).is_file():
                # Lines end where git ends them: splitlines knows more characters.
                text = (folder / name).read_bytes().decode("utf-8-sig", errors="replace")
                lines += (line.removesuffix("\r") for line in text.split("\n"))
        if any(lines):
            self._specs.append((folder, _spec(lines)))


def _spec(lines: Iterable[str]) -> "GitIgnoreSpec":
    """The patterns of the lines, without what git takes as one that matches nothing: `x[z-a]`, a lone `!`."""
    # Most folders have none, and every Pulumi program would load it.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  see above

    patterns: list[Any] = []
    for line in lines:
        with suppress(re.error, ValueError):
            patterns += GitIgnoreSpec.from_lines([line]).patterns
    return GitIgnoreSpec(patterns)


def _above(root: Path) -> Iterator[Path]:
    """The folders above one up to the repository's root, outermost first; none outside of one."""
    parents = [*root.parents]
    for depth, each in enumerate((root, *parents)):
        if (each / ".git").exists():
            yield from reversed(parents[:depth])
            return
