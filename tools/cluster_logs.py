"""What the parts of a cluster said last: printed where its tests have failed, before the cluster goes."""

from typing import Final

from from_source.cluster import live

_LINES: Final = 25
"""Of each part."""
_WIDTH: Final = 300
"""Characters of a line."""


def main() -> None:
    """Print them, by part."""
    for file in sorted(live.folder().glob("logs/*.log")):
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"== {live.name()}: the last lines of {file.stem}, of {len(lines)}")
        print("\n".join(line[:_WIDTH] for line in lines[-_LINES:]))


if __name__ == "__main__":
    main()
