"""What is built from elsewhere: a base, a file or a chart that can change between review and deployment."""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qs

from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

KUSTOMIZATIONS: Final = frozenset({"Kustomization", "Component"})
KUSTOMIZE_API: Final = "kustomize.config.k8s.io/"
_FIELDS: Final = (
    *("resources", "bases", "components", "crds", "configurations"),
    *("generators", "transformers", "validators"),
)
"""Fields of a kustomization whose items may be addresses."""
_ADDRESS: Final = re.compile(
    r"(?:[a-z][a-z0-9+]*::)?(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://|(?P<hub>(?:www\.)?(?:github|gitlab)\.com/)"
    r"|(?P<login>[\w.-]+@[\w.-]+[:/]))",
    re.ASCII,
)
"""How addresses begin for kustomize: a scheme, the host of a hub without one, or git's own form, which is ssh."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?", re.ASCII)
_RELEASE: Final = re.compile(
    r"v?\d+(?:\.\d+)*(?:[-+][\w.+-]+)?|(?:.*[^\d.])?v?\d+\.\d+\.\d+\b.*", re.ASCII
)
"""Tags of releases. Branches are not called so."""
_RANGE: Final = re.compile(
    r".*[*^~<>|].*|.* - .*|(?:.*\.)?[xX](?:\..*)?|=?\s*v?\d+(?:\.\d+)?|latest|\s*", re.DOTALL
)
"""Versions of charts that stand for any of several."""
_BEFORE: Final = ("raw", "blob", "archive", "download", "tree", "releases")
_BETWEEN: Final = ("", "-", "refs", "heads", "tags")
"""Steps in addresses of files on a hub: those before the branch, tag or commit, and those that say nothing."""


def scheme(text: str) -> str | None:
    """The scheme of an address that kustomize fetches; None of what is in the repository."""
    found = _ADDRESS.match(text)
    if found is None:
        return None
    return (found["scheme"] or ("ssh" if found["login"] else "https")).lower()


def addresses(kustomization: Mapping[str, Any]) -> Iterator[str]:
    """What a kustomization has from elsewhere."""
    for field in _FIELDS:
        listed = kustomization.get(field)
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, str) and "\n" not in each and scheme(each) is not None:
                yield each


def has_foreign(kustomization: Mapping[str, Any]) -> bool:
    """Whether a kustomization builds from what is not in its repository."""
    return any(addresses(kustomization)) or bool(kustomization.get("helmCharts"))


def _reference(address: str) -> str:
    """The branch, tag or commit that an address names; empty where it names none."""
    where, _, query = address.rpartition("://")[2].partition("?")
    host, *path = where.split("/")
    asked = parse_qs(query)
    for key in ("ref", "version"):
        if asked.get(key):
            return asked[key][0]
    if not path or not path[-1].endswith((".yaml", ".yml", ".json")):
        return ""
    steps = [each for each in path if each not in _BETWEEN]
    if fixed := next(filter(_is_fixed, steps), ""):
        return fixed
    if host.startswith("raw."):
        return "".join(steps[2:3])
    named = (each for before, each in pairwise(steps) if before in _BEFORE)
    return next((each for each in named if each not in _BEFORE), "")


def _is_fixed(reference: str) -> bool:
    return any(each.fullmatch(reference) for each in (_COMMIT, _RELEASE))


def _places(subject: Subject) -> Iterator[Value]:
    """Items with addresses, and versions of charts."""
    whole, kind = subject.object, subject.kind
    if kind in KUSTOMIZATIONS and subject.api_version.startswith(KUSTOMIZE_API):
        for field in _FIELDS:
            yield from whole[field].items()
        yield from (each["version"] for each in whole["helmCharts"].items() if each["repo"].text())
    elif kind == "HelmRelease" and whole.at("spec", "chart", "spec", "chart").text():
        yield whole.at("spec", "chart", "spec", "version")
    elif kind == "Application":
        for each in (whole.at("spec", "source"), *whole.at("spec", "sources").items()):
            if each["chart"].text():
                yield each["targetRevision"]


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    text = place.text()
    if place.path[-1] in ("version", "targetRevision"):
        if _RANGE.fullmatch(text):
            what = "takes whatever version of the chart is newest"
            yield place.finding(what, text or None, "write the version that was reviewed")
    elif "\n" not in text and scheme(text) is not None and not _is_fixed(named := _reference(text)):
        what = f"is fetched from {named}, which moves" if named else "names no commit or release"
        fix = "add ?ref= with a commit or the tag of a release, or copy it into the repository"
        # Without a user and a password.
        yield place.finding(what, re.sub(r"(?<=://)[^/@]*@", "", text), fix)


RULE: Final = Rule(
    id="moving-sources",
    title="Remote bases and charts must be pinned",
    severity=Severity.MEDIUM,
    kinds=KUSTOMIZATIONS | {"HelmRelease", "Application"},
    tags=("supply-chain", "gitops"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "A base on a branch, and a chart without a version, can change after the review: what is "
        "deployed is then something that no check has judged."
    ),
    fix="Name a commit or the tag of a release (`?ref=v1.2.3`), and the version of a chart.",
    places=_places,
    check=_check,
)
"""Sources: kustomize's addresses of repositories (`internal/git/repospec.go`), Helm's ranges of versions, Flux's
HelmRelease, Argo CD's Application."""
