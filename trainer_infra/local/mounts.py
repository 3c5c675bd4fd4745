"""Mount paths as folders of this machine. Pure.

Mounting a path needs privileges, so a mountPath is a folder somewhere else, and every occurrence of
it at a path boundary in command, args and env values is rewritten to that folder.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, slots=True)
class Mounts:
    """The mounts of one container."""

    folders: Mapping[str, Path]
    """mountPath without a trailing slash, to the folder that stands for it."""

    def local(self, text: str) -> str:
        """The text with every mountPath replaced, the longest first, each place once.

        A mountPath begins at the start, after `://`, or after what cannot be part of a path.
        """
        if not self.folders:
            return text
        paths = "|".join(re.escape(path) for path in sorted(self.folders, key=len, reverse=True))
        pattern = rf"(?:(?<![\w./~-])|(?<=://))(?:{paths})(?![\w.-])"
        return re.sub(pattern, lambda match: str(self.folders[match[0]]), text)

    def folder(self, path: str) -> Path | None:
        """The folder of an absolute path at or below a mount; None when it is below none."""
        wanted = PurePosixPath(path)
        for mount in sorted(self.folders, key=len, reverse=True):
            if wanted.is_relative_to(mount):
                return self.folders[mount] / wanted.relative_to(mount)
        return None
