"""What a hook of pre-commit judges: what is pushed, what is staged, or the files that it names.

Sources: pre-commit 4, `commands/run.py`: it sets PRE_COMMIT_FROM_REF and PRE_COMMIT_TO_REF for pushes and
`--from-ref`; it passes staged files, and with `--all-files` or `--files` others too. Only for what is staged
does it put away what is not, and untracked files stay.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from trainer_infra.cli.policy import CheckRequest
from trainer_infra.review import revision
from trainer_infra.review.revision import EMPTY, HEAD, INDEX, Span


def asked_change(
    asked: CheckRequest, variables: Mapping[str, str]
) -> tuple[CheckRequest, Span | None, tuple[str, ...] | None]:
    """The request for folders, else the repository; and the change that is judged, else the files whose objects are.

    Raises:
        NotAvailable: There is no git, no repository or no such revision.
    """
    folders = [each for each in asked.paths or () if Path(each).is_dir()]
    files = tuple(each for each in asked.paths or () if each not in folders)
    asked = asked._replace(paths=folders or [os.curdir])
    start, end = (variables.get(f"PRE_COMMIT_{each}_REF") for each in ("FROM", "TO"))
    if start and end:
        return asked, Span(start, end, end), None
    (repository,) = revision.by_repository([os.curdir])
    before = HEAD if revision.has_head(repository) else EMPTY
    trees = (revision.tree_of(repository, each) for each in (before, INDEX))
    changed = revision.changed_paths(repository, *trees)
    staged = {os.path.realpath(Path(repository, each)) for each in changed}
    if all(os.path.realpath(each) in staged for each in files):
        return asked, Span(before, before, INDEX), None
    return asked, None, files
