"""Write `golden/full.<format>`: run it, then read what changed.

.venv/bin/python -m tests.review.write_golden
"""

from pathlib import Path

from tests.review.reports import FULL
from trainer_infra.review.formats import FORMATS

FOLDER = Path(__file__).parent / "golden"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, made in FORMATS.items():
        (FOLDER / f"full.{name}").write_text(made(FULL), encoding="utf-8")


if __name__ == "__main__":
    main()
