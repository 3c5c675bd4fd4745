"""`packages` and `pip_index_urls`: pinned requirements of the job's Python, and where they come from.

Called by `custom_trainer`; pure. A requirement is what PEP 508 says; the urls travel as options
before them, as in a requirements file.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit

from trainer_infra.errors import Problem

if TYPE_CHECKING:
    from packaging.requirements import Requirement

OPTION: Final = "--"
"""How a line that is no requirement begins."""
_COMMIT: Final = re.compile(r"@[0-9a-f]{40}(#|$)")
_HASH: Final = re.compile(r"(^|&)(sha256|sha384|sha512)=[0-9a-f]{64,}")
_PIN: Final = 'write name==version, for example "jax[cpu]==0.9.0"'
_PIN_URL: Final = (
    "add the hash of the file to its end, #sha256=<64 hex digits>, or to a git URL "
    "the commit, @<40 hex digits>"
)
_CREDENTIALS: Final = "may hold a credential, which everybody who may read the state would see"
_LEAVE_OUT: Final = (
    "leave out user, password and query, and put them into ~/.netrc, or the whole URL into "
    "PIP_EXTRA_INDEX_URL, of the machine that installs"
)


def requirement_lines(packages: Sequence[str], index_urls: Sequence[str] = ()) -> tuple[str, ...]:
    """Lines of a requirements file: the indexes in their order, then the requirements, each once."""
    first, rest = index_urls[:1], index_urls[1:]
    return (
        *(f"{OPTION}index-url={url}" for url in first),
        *(f"{OPTION}extra-index-url={url}" for url in rest),
        *sorted({package.strip() for package in packages}),
    )


def requirement_problems(packages: Sequence[str]) -> Iterator[Problem]:
    """Requirements without an exact version, and two versions of one package."""
    if not packages:
        return
    # Slow to import, and most programs have no packages.
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    first: dict[tuple[str, str], str] = {}
    for index, package in enumerate(packages):
        path = f"packages[{index}]"
        try:
            requirement = Requirement(package)
        except (InvalidRequirement, TypeError) as error:
            said = str(error).splitlines()[0] if isinstance(package, str) else "it is not a text"
            yield Problem(path, f"is not a requirement: {said}", got=_shown(package), fix=_PIN)
            continue
        if found := _unpinned(requirement, path, package):
            yield found
            continue
        key = canonicalize_name(requirement.name), str(requirement.marker or "")
        if first.setdefault(key, package) != package:
            yield Problem(path, f"differs from {first[key]!r} above", got=package, fix="keep one")


def _unpinned(requirement: "Requirement", path: str, package: str) -> Problem | None:
    """What is wrong with a requirement that could be other code tomorrow."""
    moving = "so the same job could train with other code"
    if requirement.url is None:
        exact = any(
            each.operator in {"==", "==="} and not each.version.endswith(".*")
            for each in requirement.specifier
        )
        return None if exact else Problem(path, f"has no exact version, {moving}", package, _PIN)
    url = _split(requirement.url)
    if url is None or _has_credentials(url):
        return Problem(path, f"has a URL that {_CREDENTIALS}", fix=_LEAVE_OUT)
    if _COMMIT.search(requirement.url) or _HASH.search(url.fragment):
        return None
    return Problem(path, f"has a URL whose content can change, {moving}", package, _PIN_URL)


def _shown(package: object) -> object:
    """What an error shows of a text that could not be parsed: not of one that may have a credential."""
    return None if isinstance(package, str) and "://" in package else package


def index_problems(urls: Sequence[str], packages: Sequence[str]) -> Iterator[Problem]:
    """Indexes that are no URL, that have credentials in them, or that no requirement needs."""
    for index, url in enumerate(urls):
        path = f"pip_index_urls[{index}]"
        split = _split(url)
        if split is not None and _has_credentials(split):
            yield Problem(path, _CREDENTIALS, fix=_LEAVE_OUT)
        elif split is None or split.scheme not in {"http", "https", "file"} or split.fragment:
            fix = 'give the URL of an index, for example "https://<host>/simple"'
            yield Problem(path, "is not the URL of a package index", got=url, fix=fix)
    if urls and not packages:
        what = "says where packages come from, and there are none"
        yield Problem("pip_index_urls", what, fix="leave it out, or give packages")


def _split(url: object) -> SplitResult | None:
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


def _has_credentials(url: SplitResult) -> bool:
    return bool("@" in url.netloc.removeprefix("git@") or url.query)
