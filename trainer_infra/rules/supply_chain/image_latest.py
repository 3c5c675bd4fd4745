"""image-latest: an image is named by a tag that stays what it is."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.supply_chain import image

_LATEST: Final = "latest"


class ImageLatest(Parameters):
    """What tags are not to be used."""

    tags: tuple[str, ...] = (_LATEST,)
    """Tags that are moved to every new build; an image without a tag has the tag `latest`."""


def _check(place: Value, context: Context[ImageLatest]) -> Iterator[Finding]:
    text = place.text()
    if not text or image.has_digest(text):
        return
    tag = image.tag(text)
    if (tag or _LATEST) in context.parameters.tags:
        what = f"has the tag {tag}, which is moved" if tag else "names no tag, which means latest"
        yield place.finding(what, text, "name the release that was tested, or its digest")


RULE: Final = Rule(
    id="image-latest",
    title="Images are named by the tag of a release",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("supply-chain", "images"),
    why=(
        "The tag `latest` is another image after every build: a run cannot be repeated, and the "
        "nodes of one run may start different ones."
    ),
    fix="Name the tag of a release, or the digest.",
    places=image.images,
    check=_check,
    parameters=ImageLatest,
)
