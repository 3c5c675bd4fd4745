"""Images: what their names say, and which may be run."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import catalog, names
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_HUB: Final = "docker.io"
_HUB_NAMES: Final = (_HUB, "index.docker.io", "registry-1.docker.io")
"""All of its names."""
_DIGEST: Final = re.compile(r"@sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})\Z")
CACHE_IMAGE: Final = "CACHE_IMAGE"
"""The variable of a dataset's initializer that names the image of the data cache."""
_ARTIFACT: Final = "oci://"


def images(subject: Subject) -> Iterator[Value]:
    """The image of each container and image volume, and what initializers take from a registry."""
    for container in pods.containers(subject):
        yield container.value["image"]
        if container.pod.step in pods.INITIALIZERS:
            yield from _fetched(container.value["env"])
    yield from (volume.at("image", "reference") for volume in pods.volumes(subject))


def _fetched(variables: Value) -> Iterator[Value]:
    """The image of the data cache that an initializer makes, and a model or data of `oci://`."""
    for each in variables.items():
        name, value = each["name"].raw, each["value"]
        is_uri = name == names.STORAGE_URI and str(value.raw).startswith(_ARTIFACT)
        if is_uri or name == CACHE_IMAGE:
            yield value


def has_digest(image: str) -> bool:
    """Whether it is named by a digest, so that it is always the same one."""
    return _DIGEST.search(image) is not None


def image_name(image: str) -> str:
    """The last part of it alone: `train` of `ghcr.io/acme/train:1`."""
    return repository(image).rpartition("/")[2]


def repository(image: str) -> str:
    """It without tag and digest."""
    folder, slash, last = image.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"


def with_registry(repository: str) -> str:
    """A repository with the registry that a short name stands for."""
    first, slash, path = repository.partition("/")
    is_registry = {".", ":"} & {*first} or first == "localhost" or first != first.lower()
    host, path = (first.lower(), path) if slash and is_registry else (_HUB, repository)
    if host not in _HUB_NAMES:
        return f"{host}/{path}"
    return f"{_HUB}/{path}" if "/" in path else f"{_HUB}/library/{path}"


_WORD: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_WORD}(?:\.{_WORD})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_TAG: Final = r"\w[\w.-]{0,127}"
_ANY_DIGEST: Final = r"sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})"
_NAME: Final = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::{_TAG})?(?:@{_ANY_DIGEST})?", re.ASCII
)
"""Grammar of the reference of an image (distribution/reference), which the kubelet reads it by."""
_LONGEST: Final = 255
"""Characters of the path in a registry."""
_ID: Final = re.compile(r"[0-9a-f]{64}")
"""What the id of an image looks like, which is not a name."""


def _check_name(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    text = place.text().removeprefix(_ARTIFACT)
    if text and not _can_be_read(text):
        fix = "write REGISTRY/PATH:TAG, the path in lower-case letters"
        yield place.finding("is not an image name that the kubelet can read", text, fix)


def _can_be_read(text: str) -> bool:
    return (
        _NAME.fullmatch(text) is not None
        and _ID.fullmatch(text) is None
        and len(with_registry(repository(text)).partition("/")[2]) <= _LONGEST
    )


IMAGE_NAME: Final = Rule(
    id="image-name",
    title="Image names must be valid",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("supply-chain", "images"),
    why=(
        "The API server accepts any text. The kubelet then reports InvalidImageName, the pod never "
        "starts, and the job keeps the nodes of its other pods."
    ),
    fix="Write the name as the registry shows it, in lower-case letters.",
    places=images,
    check=_check_name,
)


def _is_pinned_by_platform(image: Value, subject: Subject) -> bool:
    """Whether it is of a hardened runtime, which `RuntimeCatalog` installs with digests alone."""
    name = subject.object.at("spec", "runtimeRef", "name").text()
    return subject.runtime_is_shipped and catalog.is_hardened(name) and image.is_inherited()


def _check_digest(place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    text = place.text()
    if text and not has_digest(text) and not _is_pinned_by_platform(place, context.subject):
        fix = f"name it by its digest, {text.partition('@')[0]}@sha256:<64 hex digits>"
        yield place.finding("is not pinned by a digest", text, fix)


IMAGE_DIGEST: Final = Rule(
    id="image-digest",
    title="Images must be pinned by digest",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why=(
        "A tag can be moved: a restart or a new node may pull a different image from the one that "
        "was reviewed."
    ),
    fix="Write the image as `name@sha256:…`, as `crane digest name:tag` prints it.",
    places=images,
    check=_check_digest,
)


class ImageRegistry(Parameters):
    """What images may come from."""

    allow: tuple[str, ...] | None = None
    """Registries, or registries with the beginning of a path, `ghcr.io/kubeflow`; None for any."""


def _check_registry(place: Value, context: Context[ImageRegistry]) -> Iterator[Finding]:
    allow = context.parameters.allow
    if allow is None or not place.text():
        return
    whole = with_registry(repository(place.text().removeprefix(_ARTIFACT)))
    if not any(whole == each or whole.startswith(f"{each.rstrip('/')}/") for each in allow):
        fix = f"use one from {' or '.join(allow) or 'no registry: none is allowed'}"
        yield place.finding("comes from a registry that is not allowed", place.text(), fix)


IMAGE_REGISTRY: Final = Rule(
    id="image-registry",
    title="Images must come from allowed registries",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why="Anyone who can publish an image elsewhere can run code with your data on your GPUs.",
    fix="Copy the image to a registry in `allow`, and use it from there.",
    places=images,
    check=_check_registry,
    parameters=ImageRegistry,
)


_LATEST: Final = "latest"


class ImageLatest(Parameters):
    """What tags are not to be used."""

    tags: tuple[str, ...] = (_LATEST,)
    """Tags that are moved to every new build, in any case; an image without a tag has the tag `latest`, and
    `latest` is one also as a word of a longer tag, `latest-gpu`."""


def _check_tag(place: Value, context: Context[ImageLatest]) -> Iterator[Finding]:
    text = place.text()
    if not text or has_digest(text):
        return
    tag = text.partition("@")[0].rpartition("/")[2].partition(":")[2]
    moved = {each.lower() for each in context.parameters.tags}
    called = tag.lower() or _LATEST
    if called in moved or (_LATEST in moved and _LATEST in re.split("[-._]", called)):
        what = f"has the tag {tag}, which is moved" if tag else "names no tag, which means latest"
        yield place.finding(what, text, "name the release that was tested, or its digest")


IMAGE_LATEST: Final = Rule(
    id="image-latest",
    title="Images must use a release tag, not `latest`",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("supply-chain", "images"),
    why=(
        "The tag `latest` changes with every build: a run cannot be repeated, and the nodes of one "
        "run may start different images."
    ),
    fix="Use a release tag or a digest.",
    places=images,
    check=_check_tag,
    parameters=ImageLatest,
)
