"""The reference is not asked again what it has passed: it does not change."""

import json
from typing import Final

import pytest

from tests.conformance.implementations import UPSTREAM
from tests.kept_passes import KeptPasses
from trainer_infra.api import crd


def _is_of_the_reference(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return parameters is not None and parameters.params.get("manager") is UPSTREAM


PASSES: Final = KeptPasses(
    "reference",
    _is_of_the_reference,
    (
        "tests/apiserver/trainer_webhooks.py",
        "tests/conformance/**/*.py",
        "tests/kept_passes.py",
        "tools/cluster/*.py",
        "tools/cluster/go/*/go.mod",
        "tools/cluster/go/*/go.sum",
        "tools/schemas.py",
    ),
    lambda: json.dumps(crd.crd_definitions(), sort_keys=True),
)
