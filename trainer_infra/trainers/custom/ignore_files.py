"""Which files of a folder do not travel: those that `.gitignore` and `.trainerignore` name.

Called by `folder`. Patterns are those of git (gitignore(5)); a `.trainerignore` beside a `.gitignore`
is read after it, so that `!data.csv` in it takes a file along that git leaves out. Files of git above
the folder count too, up to the root of the repository.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILES: Final = (".gitignore", ".trainerignore")


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
        """Read what stands in a folder; called for each one before its entries are judged."""
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
                lines += (folder / name).read_text(encoding="utf-8", errors="replace").splitlines()
        if lines:
            # Most folders have none, and every Pulumi program would load it.
            from pathspec import GitIgnoreSpec  # noqa: PLC0415  see above

            self._specs.append((folder, GitIgnoreSpec.from_lines(lines)))


def _above(root: Path) -> Iterator[Path]:
    """The folders above one up to the repository's root, outermost first; none outside of one."""
    found = []
    for each in (root, *root.parents):
        if each != root:
            found.append(each)
        if (each / ".git").exists():
            yield from reversed(found)
            return
