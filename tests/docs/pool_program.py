"""Programs of docs/gpu-node-pools.md: a pool in the program of docs/platform.md, on every backend."""

import re

from tests.docs import page

PAGE = page.ROOT / "docs" / "gpu-node-pools.md"
SECTION = "From a pool to a job on it"
LINES = {
    line.split('"')[1]: line for line in re.findall(r"\| `(backend=.*,)` \|", PAGE.read_text())
}
"""By backend, the line of the program that names it."""


def platform_blocks() -> list[str]:
    """The program of docs/platform.md that installs, and its job."""
    made = page.blocks(page.ROOT / "docs" / "platform.md")
    return [each.text for each in made if each.language == "python"][:2]


def pool_block(backend: str) -> str:
    """The program that installs with a pool of a backend."""
    (block,) = (each for each in page.blocks(PAGE) if each.section == SECTION)
    shown = LINES["existing"].replace(", ", ",\n    ")
    assert shown in block.text
    return block.text.replace(shown, LINES[backend])


def code_lines(text: str) -> list[str]:
    """Its lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()]
