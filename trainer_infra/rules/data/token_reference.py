"""token-reference: initializers take tokens from Secrets, not from what is written in the object."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.data import initializers
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


class TokenReference(Parameters):
    """What is a secret."""

    env: tuple[str, ...] = (
        "ACCESS_TOKEN",
        "SECRET_ACCESS_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "HF_TOKEN",
        "HUGGING_FACE_HUB_TOKEN",
        "HTTP_PASSWORD",
        "REGISTRY_PASSWORD",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_SAS_KEY",
    )
    """Variables that hold a token, a password or a key."""


_USER: Final = re.compile(r"://[^/?#@]*:[^/?#@]+@")
"""A password in a URI."""


def _check(place: PodContainer, context: Context[TokenReference]) -> Iterator[Finding]:
    for name, value in initializers.variables(place):
        if value.is_noted():
            continue
        text = value.text()
        # A reference to another variable says nothing in plain text.
        if name in context.parameters.env and text and not text.startswith("$("):
            what = f"says {name} in plain text, for all who can read the object"
            yield value.finding(what, names.SECRET_SHOWN, _fix(place, name))
        elif name == names.STORAGE_URI and _USER.search(value.text()):
            what = "has a password in it, for all who can read the object"
            fix = f"write the URI without it; {_fix(place, 'the variable')}"
            yield value.finding(what, names.SECRET_SHOWN, fix)


def _fix(container: PodContainer, name: str) -> str:
    part = "dataset" if container.pod.step == names.DATASET_INITIALIZER else "model"
    return f"put {name} into a Secret, and name that in spec.initializer.{part}.secretRef"


RULE: Final = Rule(
    id="token-reference",
    title="Initializers take tokens from Secrets",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "secrets", "initializers"),
    frameworks=("cis-kubernetes/5.4.1",),
    why=(
        "What stands in a TrainJob or runtime is in git, in snapshots and in every listing of the "
        "objects: a token there is not secret any more."
    ),
    fix="Put the token into a Secret and name that in secretRef; then replace the token itself.",
    places=initializers.containers,
    check=_check,
    parameters=TokenReference,
)
