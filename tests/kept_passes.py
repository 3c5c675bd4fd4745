"""Tests of what is not ours and does not change, each left out once it has passed as it is.

One that passes is written down by its id, under the hash of all that decides what it does. So nothing is
ever left out that has not passed with the same tests, tools and versions; a run of some tests writes down
some, one that fails writes none. A machine keeps them in its cache folder, `make passes` in the repository
for machines that are new. With ASK_AGAIN set, as by `make soak`, all run.
"""

import hashlib
import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import pytest

from from_source.cluster import build

AGAIN: Final = "ASK_AGAIN"

COMMITTED: Final = Path(__file__).parent / "passed"
"""The folder of what is kept for machines that are new."""
_FAILED: Final = pytest.StashKey[bool]()
"""Whether a part of a test has not passed."""
_ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class KeptPasses:
    """The tests that one subject has passed; a room's conftest has its two methods as pytest's hooks."""

    subject: str
    """Whose answers they are about, as in a file's name."""
    fixture: str
    """The parametrized fixture that says what a test is about."""
    value: object
    """Its value where that is the subject."""
    decisive: tuple[str, ...]
    """Patterns of the files that decide what it is asked, and of which version."""
    besides: Callable[[], str] = str
    """What decides too and is in no such file."""

    def leave_out(self, items: list[pytest.Item]) -> None:
        """Mark what has passed to be skipped."""
        known = self._known()
        reason = f"the {self.subject} has passed this test as it is; {AGAIN}=1 runs it again"
        for each in items:
            if self._concerns(each) and each.nodeid in known:
                each.add_marker(pytest.mark.skip(reason=reason))

    @pytest.hookimpl(wrapper=True)
    def keep(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Write a test down whose every part has passed."""
        report = yield
        if self._concerns(item):
            item.stash[_FAILED] = item.stash.get(_FAILED, False) or not report.passed
            if call.when == "teardown" and not item.stash[_FAILED]:
                # A line at a time, whoever else writes.
                with self._file.open("a") as file:
                    file.write(f"{item.nodeid}\n")
        return report

    def commit(self) -> None:
        """Write what has passed on this machine into the repository, in place of what is there.

        Raises:
            FileNotFoundError: Nothing has passed as it is now.
        """
        passed = sorted(set(self._file.read_text().splitlines()))
        for each in COMMITTED.glob(f"{self.subject}-passes-*"):
            each.unlink()
        (COMMITTED / self._file.name).write_text("".join(f"{each}\n" for each in passed))

    def _concerns(self, item: pytest.Item) -> bool:
        parameters = getattr(item, "callspec", None)
        return parameters is not None and parameters.params.get(self.fixture) == self.value

    def _known(self) -> frozenset[str]:
        if os.environ.get(AGAIN):
            return frozenset()
        files = (self._file, COMMITTED / self._file.name)
        return frozenset(
            line for file in files if file.exists() for line in file.read_text().splitlines()
        )

    @cached_property
    def _file(self) -> Path:
        digest = hashlib.sha256(self.besides().encode())
        for file in self._files():
            digest.update(f"{file.relative_to(_ROOT)}\0".encode() + file.read_bytes())
        return build.cache() / f"{self.subject}-passes-{digest.hexdigest()[:12]}"

    def _files(self) -> Iterator[Path]:
        for pattern in self.decisive:
            yield from sorted(_ROOT.glob(pattern))
