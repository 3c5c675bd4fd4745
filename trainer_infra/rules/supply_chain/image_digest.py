"""image-digest: an image is named by its digest, so that what was reviewed is what runs."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.supply_chain import image


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    text = place.text()
    if text and not image.has_digest(text):
        fix = f"name it by its digest, {text.partition('@')[0]}@sha256:<64 hex digits>"
        yield place.finding("is not pinned by a digest", text, fix)


RULE: Final = Rule(
    id="image-digest",
    title="Images are named by their digest",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why=(
        "A tag can be moved: the image that a restart or a new node pulls may be another one than "
        "the one that was reviewed."
    ),
    fix="Write the image as `name@sha256:…`, as `crane digest name:tag` prints it.",
    places=image.images,
    check=_check,
)
