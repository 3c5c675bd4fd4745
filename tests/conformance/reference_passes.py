"""The reference is not asked again what it has passed: it does not change."""

import json
from typing import Final

from tests.conformance.implementations import UPSTREAM
from tests.kept_passes import KeptPasses
from trainer_infra.api import crd

PASSES: Final = KeptPasses(
    "reference",
    "manager",
    UPSTREAM,
    (
        "tests/apiserver/trainer_webhooks.py",
        "tests/conformance/**/*.py",
        "tests/kept_passes.py",
        "from_source/cluster/*.py",
        "from_source/cluster/go/*/go.mod",
        "from_source/cluster/go/*/go.sum",
        "tools/schemas.py",
    ),
    lambda: json.dumps(crd.crd_definitions(), sort_keys=True),
)
