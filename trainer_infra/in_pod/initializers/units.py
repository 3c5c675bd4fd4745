"""Sizes, times and counts as people read them."""

from __future__ import annotations

STEP = 1024


def bytes_text(count: float) -> str:
    """Bytes in the largest unit of which there is one: `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < STEP:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= STEP
    return f"{count:.1f} TiB"


def seconds_text(seconds: float) -> str:
    """A time: `50 s`, `3 min`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 100:  # noqa: PLR2004  two digits of seconds
        return f"{whole} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004


def files_text(count: int) -> str:
    """A number of files: `1 file`, `1,000 files`."""
    return f"{count:,} file{'' if count == 1 else 's'}"
