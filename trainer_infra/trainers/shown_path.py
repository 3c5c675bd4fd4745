"""A path as messages show it."""

from pathlib import Path


def shown_path(path: str | Path) -> str:
    """A path from the working directory when it lies there."""
    full = Path(path)
    here = Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(path)
