"""image-name: a kubelet can read the name of an image."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.supply_chain import image

_WORD: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST: Final = rf"(?:{_WORD}(?:\.{_WORD})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*"
_TAG: Final = r"\w[\w.-]{0,127}"
_DIGEST: Final = r"sha(?:256:[0-9a-f]{64}|384:[0-9a-f]{96}|512:[0-9a-f]{128})"
_NAME: Final = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*(?::{_TAG})?(?:@{_DIGEST})?", re.ASCII
)
"""Grammar of the reference of an image (distribution/reference), which the kubelet reads it by."""
_LONGEST: Final = 255
"""Characters of the path in a registry."""
_ID: Final = re.compile(r"[0-9a-f]{64}")
"""What the id of an image looks like, which is no name."""


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    text = place.text()
    if text and not _can_be_read(text):
        fix = "write REGISTRY/PATH:TAG, the path in lower-case letters"
        yield place.finding("is no name of an image that a kubelet can read", text, fix)


def _can_be_read(text: str) -> bool:
    return (
        _NAME.fullmatch(text) is not None
        and _ID.fullmatch(text) is None
        and len(image.with_registry(image.repository(text)).partition("/")[2]) <= _LONGEST
    )


RULE: Final = Rule(
    id="image-name",
    title="A kubelet can read the name of each image",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("supply-chain", "images"),
    why=(
        "The API server takes any text. The kubelet then says InvalidImageName, the pod never starts, "
        "and the job keeps the nodes of its other pods."
    ),
    fix="Write the name as the registry shows it, in lower-case letters.",
    places=image.images,
    check=_check,
)
