"""Which run is which: what makes two submissions one run, what a run is called, and who may have it.

Called wherever a run is declared (`pulumi up`, `trainer-infra run`) and by the engine that finds a
run of the name. Pure. The same content of the same owner is the same run; a new release of ours,
and suspending, make no other one.
"""

import re
from enum import Enum, auto
from typing import Final, Protocol

from trainer_infra import names
from trainer_infra.errors import Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Owner, Submission
from trainer_infra.runs.sentences import OwnedRun
from trainer_infra.trainers.code import Code, content_hash

LONGEST: Final = 54
"""Characters of a resource whose run's name, nine longer, is a DNS label."""
SHORTENED: Final = 36
"""Characters that are left of a longer one: JobSet makes `<run>-node-0-9999-abcde` of it, of at most 63."""
_LEGAL: Final = re.compile("[a-z][-a-z0-9]*")


def identity_of_spec(spec: JSONObject) -> JSONObject:
    """The part of a TrainJob's spec that makes a run what it is: suspending makes no other run."""
    return {key: value for key, value in spec.items() if key != "suspend"}


def job_settings(annotations: JSONObject) -> JSONObject:
    """The annotations that change what is rendered; all others can be edited in place."""
    return {key: annotations[key] for key in names.JOB_SETTINGS if key in annotations}


def content(
    job: JSONObject,
    code: Code | None,
    runtime: JSONObject,
    *,
    attempt: int = 1,
    outputs: JSONObject | None = None,
) -> str:
    """Eight hex digits of what makes a run what it is.

    Args:
        job: the TrainJob, at least `spec` and `metadata.annotations`.
        code: what the trainer packed; our launcher in it does not count.
        runtime: in wire form, whole.
        attempt: which run of one content.
        outputs: places of the outputs that were given.
    """
    return content_hash(
        [
            identity_of_spec(job["spec"]),
            code.of_the_user() if code else None,
            runtime,
            attempt,
            job_settings((job.get("metadata") or {}).get("annotations") or {}),
            *([outputs] if outputs else []),
        ]
    )


def run_name(resource: str, owner: Owner, content: str) -> str:
    """`<resource>-<8 hex of whose it is and what makes the run what it is>`.

    So two stacks of one program have a run each. A resource whose name no run may have gives one that
    reads like it, and is in the digest itself: `lr-0.1` and `lr_0.1` are runs of their own.
    """
    label = _label(resource)
    # A resource that has a legal name keeps the digest of earlier releases.
    apart = [] if label == resource else [resource]
    return f"{label}-{content_hash([owner.project, owner.stack, content, *apart])}"


def _label(resource: str) -> str:
    """The resource's name, made one that a run's may begin with where it is none."""
    if _LEGAL.fullmatch(resource) and len(resource) <= LONGEST:
        return resource
    plain = re.sub("[^a-z0-9]+", "-", resource.lower()).strip("-")
    named = plain if plain[:1].isalpha() else f"run-{plain}"
    return named[:SHORTENED].strip("-")


class DeclaredContent(OwnedRun, Protocol):
    """A run that is there, or its record: whose it is, and its content."""

    @property
    def content(self) -> str:
        """As it was submitted."""


class Claim(Enum):
    """What a submission may do with a run that has its name."""

    SAME = auto()
    """It is that run."""
    ADOPT = auto()
    """It takes the run over: the same content gets a new owner."""
    REPLACE = auto()
    """It takes its place: the run is deleted first."""


def claim(run: DeclaredContent, submission: Submission, *, adopt: bool) -> Claim:
    """What a submission does with the run of its name.

    Raises:
        Refused: The run has another owner or other content, and is not to be taken over.
    """
    same = run.content == submission.content
    if same and run.owner.is_same(submission.owner):
        return Claim.SAME
    if not adopt:
        raise Refused(sentences.exists_already(run, submission.owner))
    return Claim.ADOPT if same else Claim.REPLACE
