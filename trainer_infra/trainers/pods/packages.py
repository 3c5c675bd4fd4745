"""`packages`, `pip_index_urls`, `wheel_house`: pinned requirements of the job's Python, and their origin.

A requirement is what PEP 508 says; where they come from travels as options before them, as in a
requirements file.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.trainers import volume_address

if TYPE_CHECKING:
    from packaging.requirements import Requirement

INDEX: Final = "--index-url="
EXTRA_INDEX: Final = "--extra-index-url="
NO_DEPENDENCIES: Final = "--no-deps"
HASH: Final = " --hash="
"""What is between a requirement of a lock file and each of its hashes."""
_NAME: Final = re.compile(r"[A-Za-z0-9][-\w.]*", re.ASCII)
_COMMIT: Final = re.compile(r"@[0-9a-f]{40}(#|$)")
_HASH: Final = re.compile(r"(^|&)(sha256|sha384|sha512)=[0-9a-f]{64,}")
_PIN: Final = 'write name==version, for example "jax[cpu]==0.9.0", or give a lock file that `trainer-infra lock` makes'
_PIN_URL: Final = (
    "add the hash of the file to its end, #sha256=<64 hex digits>, or to a git URL "
    "the commit, @<40 hex digits>"
)
_LOCK: Final = "write name==version, or make the file with `trainer-infra lock`"
_NO_PACKAGES: Final = "says where packages come from, and there are none"
CREDENTIALS: Final = "may hold a credential, which everybody who may read the state would see"
LEAVE_OUT: Final = (
    "leave out user, password and query, and put them into ~/.netrc, or the whole URL into "
    "PIP_EXTRA_INDEX_URL, of the machine that installs"
)


@dataclass(frozen=True, slots=True)
class RequirementLine:
    """A requirement as it was written, and how an error names its place."""

    text: object
    path: str
    where: str = ""


def origin_lines(index_urls: Sequence[str], wheel_house: str | None) -> tuple[str, ...]:
    """Options of an installer that say where packages come from: the indexes in their order, or a folder."""
    if wheel_house:
        return ("--no-index", f"{names.FIND_LINKS}{wheel_house}")
    first, rest = index_urls[:1], index_urls[1:]
    return (*(f"{INDEX}{url}" for url in first), *(f"{EXTRA_INDEX}{url}" for url in rest))


def requirement_lines(packages: Sequence[str]) -> tuple[str, ...]:
    """Lines of a requirements file, each once."""
    return tuple(sorted({package.strip() for package in packages}))


def requirement_problems(given: Iterable[RequirementLine]) -> Iterator[Problem]:
    """Requirements without an exact version, and two versions of one package."""
    given = tuple(given)
    if not given:
        return
    # Slow to import, and most programs have no packages.
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    first: dict[tuple[str, str], str] = {}
    for each in given:
        package = each.text
        try:
            requirement = Requirement(package)  # type: ignore[arg-type]  # what is not a text is caught
        except (InvalidRequirement, TypeError) as error:
            said = str(error).splitlines()[0] if isinstance(package, str) else "it is not a text"
            # A text that could not be parsed may have a credential.
            got = None if isinstance(package, str) and "://" in package else package
            yield Problem(each.path, f"is not a requirement: {said}", got, _PIN, each.where)
            continue
        text = str(package)
        if found := _unpinned(requirement, each):
            yield found
            continue
        key = canonicalize_name(requirement.name), str(requirement.marker or "")
        if first.setdefault(key, text) != text:
            what = f"differs from {first[key]!r} above"
            yield Problem(each.path, what, text, "keep one", each.where)


def _unpinned(requirement: "Requirement", given: RequirementLine) -> Problem | None:
    """What is wrong with a requirement that could be other code tomorrow."""
    path, where = given.path, given.where
    moving = "so the same job could train with other code"
    if requirement.url is None:
        exact = any(
            each.operator in {"==", "==="} and not each.version.endswith(".*")
            for each in requirement.specifier
        )
        what, fix = f"has no exact version, {moving}", _LOCK if where else _PIN
        return None if exact else Problem(path, what, given.text, fix, where)
    url = _split(requirement.url)
    if url is None or has_credentials(url):
        return Problem(path, f"has a URL that {CREDENTIALS}", fix=LEAVE_OUT, where=where)
    if _COMMIT.search(requirement.url) or _HASH.search(url.fragment):
        return None
    what = f"has a URL whose content can change, {moving}"
    return Problem(path, what, given.text, _PIN_URL, where)


def lines_of(names_of_packages: Iterable[object], lines: Iterable[str]) -> tuple[str, ...]:
    """Those of the lines that are requirements of packages with these names."""
    wanted = {package_name(str(each)) for each in names_of_packages}
    return tuple(each for each in lines if package_name(each) in wanted)


def package_name(line: str) -> str:
    """The name that a requirement begins with, as indexes compare names; empty for an option."""
    from packaging.utils import canonicalize_name  # noqa: PLC0415  as in `requirement_problems`

    found = _NAME.match(line)
    return canonicalize_name(found[0]) if found else ""


def image_problems(given: object, lines: Iterable[str]) -> Iterator[Problem]:
    """What is wrong with `image_has_packages`: true, false, or names of packages that are given."""
    path = "image_has_packages"
    if given is None or isinstance(given, bool):
        return
    if not isinstance(given, list | tuple):
        yield Problem(path, "must be true, false or a list of names of packages", got=given)
        return
    known = sorted({package_name(each) for each in lines} - {""})
    for index, each in enumerate(given):
        if not isinstance(each, str) or package_name(each) not in known:
            fix = f"name some of {', '.join(known)}" if known else "give packages"
            yield Problem(f"{path}[{index}]", "is not a name in packages", got=each, fix=fix)


def index_problems(urls: Sequence[Any], *, is_needed: bool) -> Iterator[Problem]:
    """Indexes that are no URL, that have credentials in them, or that no requirement needs."""
    for index, url in enumerate(urls):
        yield from url_problems(url, f"pip_index_urls[{index}]")
    if urls and not is_needed:
        yield Problem("pip_index_urls", _NO_PACKAGES, fix="leave it out, or give packages")


def url_problems(url: object, path: str, where: str = "") -> Iterator[Problem]:
    """What is wrong with the URL of an index."""
    split = _split(url)
    if split is not None and has_credentials(split):
        yield Problem(path, CREDENTIALS, fix=LEAVE_OUT, where=where)
    elif split is None or split.scheme not in {"http", "https", "file"} or split.fragment:
        fix = 'give the URL of an index, for example "https://<host>/simple"'
        yield Problem(path, "is not the URL of a package index", url, fix, where)


def wheel_house_problems(given: object, *, is_needed: bool, has_indexes: bool) -> Iterator[Problem]:
    """A folder of wheels that is none, that no requirement needs, or beside an index."""
    if given is None:
        return
    path = "wheel_house"
    yield from volume_address.address_problems(path, given)
    if not is_needed:
        yield Problem(path, _NO_PACKAGES, fix="leave it out, or give packages")
    if has_indexes:
        what = "is the only place that packages come from, and pip_index_urls names others"
        yield Problem(path, what, fix="keep one of them")


def _split(url: object) -> SplitResult | None:
    try:
        return urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return None


def has_credentials(url: SplitResult) -> bool:
    """Whether a URL has what no state may hold."""
    return bool("@" in url.netloc.removeprefix("git@") or url.query)
