"""Keeps in the repository what this machine's reference and CLI have passed: `python -m tests.committed_passes`."""

import sys

from tests.conformance import reference_passes
from tests.contract.engine import conftest as engine_contract


def main() -> None:
    """Write both files anew."""
    for each in (reference_passes.PASSES, engine_contract.PASSES):
        try:
            each.commit()
        except FileNotFoundError:
            sys.exit(
                f"Nothing of the {each.subject} has passed as it is now; run `make verify` first."
            )


if __name__ == "__main__":
    main()
