"""helm: the one on PATH, else v3.19.0 built from Go modules.

Called by tests/e2e, which render charts with it; `main` builds it before they start.
"""

import shutil
import sys
from typing import Final

from tools.cluster import build
from tools.cluster.build import Program
from trainer_infra.errors import NotAvailable

HELM: Final = Program("helm", "helm", "helm.sh/helm/v3/cmd/helm")
"""What is built where no helm is on PATH."""


def program() -> str:
    """Its file.

    Raises:
        NotAvailable: There is none and it cannot be built.
    """
    return shutil.which("helm") or str(build.built(HELM))


def main() -> int:
    """Build it where it is missing; the exit code."""
    try:
        program()
    except NotAvailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
