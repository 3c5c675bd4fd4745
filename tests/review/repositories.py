"""Repositories as small trees in a text: `## name` begins one, `### path` a file of it.

Behind the name stand the rules of medium severity that are right about it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.review import trees

FOLDER: Final = Path(__file__).parent / "good_repositories"
SHORT: Final = {
    "%POD%": "{runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}",
    "%BOX%": "{allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}",
    "%IMG%": f"registry.example/team/train@sha256:{'1' * 64}",
    "%SHA%": f"@sha256:{'1' * 64}",
}
"""What stands for a security context that has all that is asked, and for an image with its digest."""


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository."""

    name: str
    right: frozenset[str]
    """Rules of medium severity that find something, and are right."""
    files: dict[str, str]

    def write(self, folder: Path) -> None:
        """Write its files."""
        trees.write(self.files, folder)


def repositories() -> Iterator[Repository]:
    """All of them."""
    for file in sorted(FOLDER.glob("*.txt")):
        for part in re.split(r"^## ", file.read_text(), flags=re.MULTILINE)[1:]:
            head, *files = re.split(r"^### ", part, flags=re.MULTILINE)
            name, _, right = head.strip().partition(": ")
            texts = dict(each.split("\n", 1) for each in files)
            rules = frozenset(right.split(", ")) - {""}
            yield Repository(name, rules, {path: _long(text) for path, text in texts.items()})


def _long(text: str) -> str:
    for short, long in SHORT.items():
        text = text.replace(short, long)
    return text
