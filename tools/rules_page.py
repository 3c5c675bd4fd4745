"""Writes docs/rules.md from the rules: `.venv/bin/python -m tools.rules_page`."""

from pathlib import Path
from typing import Final

from trainer_infra.review import rules_page
from trainer_infra.rules import RULES

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "rules.md"


def main() -> None:
    """Write the page."""
    PAGE.write_text(rules_page.rules_page(RULES), encoding="utf-8")


if __name__ == "__main__":
    main()
