"""helm: the one on PATH, else v3.19.0 built from Go modules."""

from typing import Final

from from_source.cluster import build
from from_source.cluster.build import Program

HELM: Final = Program("helm", "helm", "helm.sh/helm/v3/cmd/helm")
"""What is built where no helm is on PATH."""


def program() -> str:
    """Its file.

    Raises:
        NotAvailable: There is none and it cannot be built.
    """
    return build.found(HELM)
