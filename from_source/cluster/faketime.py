"""libfaketime of Debian: a wrong clock for one process, by its environment.

Only the time of day is wrong: the time since boot runs as it does, as on a machine whose clock is
set.
"""

from pathlib import Path
from typing import Final

from from_source.cluster import packages
from trainer_infra.errors import NotAvailable

PACKAGE: Final = "libfaketime"
_PLACES: Final = (
    "/usr/lib/*/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
)
_ALWAYS: Final = {
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "DONT_FAKE_MONOTONIC": "1",
    "NO_FAKE_STAT": "1",
}


def variables(offset: str) -> dict[str, str]:
    """Environment of a process whose clock is wrong by so much, for example `+2h`.

    Raises:
        NotAvailable: The library cannot be installed.
    """
    return {"LD_PRELOAD": library(), "FAKETIME": offset, **_ALWAYS}


def followed(file: Path) -> dict[str, str]:
    """Environment of a process whose clock is wrong by what a file says from second to second.

    Raises:
        NotAvailable: The library cannot be installed.
    """
    following = {"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_CACHE_DURATION": "1"}
    return {"LD_PRELOAD": library(), **following, **_ALWAYS}


def library() -> str:
    """The library's file, installed where it is missing.

    Raises:
        NotAvailable: It cannot be.
    """
    found = _found()
    if found is None:
        packages.add(PACKAGE)
        found = _found()
    if found is None:
        raise NotAvailable(f"the package {PACKAGE} has no {' or '.join(_PLACES)}")
    return str(found)


def _found() -> Path | None:
    return next((each for place in _PLACES for each in Path("/").glob(place[1:])), None)
