"""The Roles that docs/kubernetes.md gives."""

import re
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kubernetes.md"
BLOCK = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def on_the_page() -> list[dict[str, Any]]:
    """Every Role and ClusterRole of the page, in order."""
    found = (
        each for block in BLOCK.findall(PAGE.read_text()) for each in yaml.safe_load_all(block)
    )
    return [each for each in found if each["kind"] in {"Role", "ClusterRole"}]
