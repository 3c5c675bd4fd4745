"""Images of runtimes taken from a mirror: the beginning of a name is replaced by another."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from trainer_infra.catalog.data_cache import CACHE_IMAGE
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, json_leaves, with_leaves
from trainer_infra.platform.runtime_catalogs.catalog_args import EXAMPLES

_HUB: Final = "docker.io"
"""Where an image is that names no registry."""
_REGISTRY: Final = re.compile(r"[^/]*[.:][^/]*|localhost")


def mirrored_spec(spec: Any, images: Mapping[str, str]) -> JSONDict:
    """A runtime's spec whose images come from the mirrors.

    Args:
        spec: in wire form.
        images: the beginning of an image's name, whole parts of its path, to what stands there instead;
            of several that fit the longest.
    """
    known = {each: mirrored_image(each, images) for each in spec_images(spec)}
    made: JSONDict = with_leaves(
        spec, lambda leaf: known.get(leaf, leaf) if _is_text(leaf) else leaf
    )
    return made


def mirrored_image(image: str, images: Mapping[str, str]) -> str:
    """An image's name at its mirror; as it is where none fits."""
    for prefix in sorted(images, key=len, reverse=True):
        for name in (image, _full_name(image)):
            rest = name.removeprefix(prefix)
            if len(rest) < len(name) and (rest[:1] in {"/", ":", "@", ""} or prefix[-1:] == "/"):
                return f"{images[prefix]}{rest}"
    return image


def spec_images(spec: Any) -> frozenset[str]:
    """Images that a runtime names: those of its containers, and the one that a data cache runs."""
    found = (
        leaf
        for path, leaf in json_leaves(spec)
        if _is_text(leaf) and (path[-1] == "image" or leaf == CACHE_IMAGE)
    )
    return frozenset(found)


def mirror_problems(images: Mapping[str, str], used: frozenset[str]) -> Iterator[Problem]:
    """What is wrong with mirrors; one that no image needs is a mistake in its name.

    Args:
        images: as the program gives them.
        used: images of the chosen runtimes.
    """
    for prefix, mirror in images.items():
        if not (prefix and mirror):
            yield Problem(
                "images",
                "must not be empty",
                got={prefix: mirror},
                fix=f"write {EXAMPLES['images']}",
            )
        elif all(mirrored_image(each, {prefix: mirror}) == each for each in used):
            some = ", ".join(sorted(used)[:3])
            what = "is the beginning of no image of the chosen runtimes"
            yield Problem("images", what, got=prefix, fix=f"they have {some}")


def _full_name(image: str) -> str:
    first, slash, _ = image.partition("/")
    if slash and _REGISTRY.fullmatch(first):
        return image
    return f"{_HUB}/{image}" if slash else f"{_HUB}/library/{image}"


def _is_text(leaf: object) -> bool:
    return isinstance(leaf, str)
