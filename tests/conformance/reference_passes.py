"""Which tests the reference has passed, kept in the cache: it does not change, so it is not asked again.

One that passes is written down by its id, under the hash of all that decides what it does. So nothing is
ever left out that has not passed with the same tests, tools and versions; a run of some tests writes down
some, one that fails writes none. With REFERENCE_AGAIN set, as by `make soak`, all run.
"""

import hashlib
import json
import os
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.implementations import UPSTREAM
from tools.cluster import build
from trainer_infra.api import crd

AGAIN: Final = "REFERENCE_AGAIN"
REASON: Final = f"the reference has passed this test as it is; {AGAIN}=1 runs it again"

_FAILED: Final = pytest.StashKey[bool]()
"""Whether a part of a test has not passed."""
_ROOT: Final = Path(__file__).resolve().parents[2]
_DECISIVE: Final = (
    "tests/apiserver/trainer_webhooks.py",
    "tests/conformance/**/*.py",
    "tools/cluster/*.py",
    "tools/cluster/go/*/go.mod",
    "tools/cluster/go/*/go.sum",
    "tools/schemas.py",
)
"""Files that decide what the reference is asked, and of which version; our CRDs come besides."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what the reference has passed."""
    known = _passed()
    for each in items:
        if is_of_the_reference(each) and each.nodeid in known:
            each.add_marker(pytest.mark.skip(reason=REASON))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write a test of the reference down whose every part has passed."""
    report = yield
    item.stash[_FAILED] = item.stash.get(_FAILED, False) or not report.passed
    if call.when == "teardown" and not item.stash[_FAILED] and is_of_the_reference(item):
        # A line at a time, whoever else writes.
        with _file().open("a") as file:
            file.write(f"{item.nodeid}\n")
    return report


def is_of_the_reference(item: pytest.Item) -> bool:
    """Whether it is the reference that a test tries."""
    parameters = getattr(item, "callspec", None)
    return parameters is not None and parameters.params.get("manager") is UPSTREAM


def _passed() -> frozenset[str]:
    if os.environ.get(AGAIN) or not _file().exists():
        return frozenset()
    return frozenset(_file().read_text().splitlines())


@cache
def _file() -> Path:
    digest = hashlib.sha256(json.dumps(crd.crd_definitions(), sort_keys=True).encode())
    for file in _files():
        digest.update(f"{file.relative_to(_ROOT)}\0".encode() + file.read_bytes())
    return build.cache() / f"reference-passes-{digest.hexdigest()[:12]}"


def _files() -> Iterator[Path]:
    for pattern in _DECISIVE:
        yield from sorted(_ROOT.glob(pattern))
