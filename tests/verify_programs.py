"""Builds what `make verify` runs, in one pass: `python -m tests.verify_programs`.

make runs it before the tests: pytest shows nothing of what a fixture prints, and minutes are long.
"""

import sys
from typing import Final

from from_source.cluster import (
    build,
    distribution,
    etcd,
    helm,
    jobset,
    kube_apiserver,
    kubectl,
    kubernetes,
    kueue,
    trainer,
    versitygw,
)
from tests.parity import reference
from trainer_infra.errors import NotAvailable

ON_PATH_OR_BUILT: Final = (etcd.ETCD, kubectl.KUBECTL, helm.HELM)
"""What an installed one does as well for."""
BUILT: Final = (
    kube_apiserver.KUBE_APISERVER,
    kubernetes.program("kube-controller-manager"),
    jobset.JOBSET,
    kueue.KUEUE,
    trainer.TRAINER,
    versitygw.VERSITYGW,
    distribution.REGISTRY,
    reference.PROGRAM,
)
"""What has to have one version."""


def main() -> int:
    """Build what is missing; the exit code."""
    try:
        build.build_all([*build.not_on_path(ON_PATH_OR_BUILT), *BUILT])
    except NotAvailable as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
