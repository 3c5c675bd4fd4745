"""Paths -> documents: files, folders with what tools build of them, and stdin.

The one reader of files and folders, for `check`, `render`, `run` and `migrate`. What cannot be read
is a sentence beside what could be: one broken file hides nothing. A folder that is a chart or a
kustomization is rendered or built, and so are those below a folder. What helm and kustomize make objects of
is then not read by itself; all else that stands there is. What became of each file says the inventory.
"""

from collections.abc import Sequence
from pathlib import Path

from trainer_infra.review import source_objects
from trainer_infra.review.inventory import SourceFile, Use
from trainer_infra.review.source_objects import ALL, EXCLUDED, STDIN, SourceObjects, SourceScope


def read_sources(paths: Sequence[str], wanted: SourceScope = ALL) -> SourceObjects:
    """The objects below all paths, each once; `-` is stdin."""
    return source_objects.joined_sources(_read(each, wanted) for each in paths)


def _read(path: str, wanted: SourceScope) -> SourceObjects:
    where = Path(path)
    if path == STDIN:
        return source_objects.uneditable(source_objects.read_file(STDIN))
    if not where.exists():
        return source_objects.unread(path, f"{path}: is not there")
    if wanted.exclusion.has(path):
        return SourceObjects(files=(SourceFile(str(where), Use.PASSED_OVER, EXCLUDED),))
    if where.is_dir():
        from trainer_infra.review import built_folder  # noqa: PLC0415  a file does not need it

        return built_folder.read_folder(where, wanted)
    return source_objects.read_file(where)
