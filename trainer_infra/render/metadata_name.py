"""metadata.name: short enough for the pod names that JobSet makes of it.

JobSet refuses a JobSet whose longest pod name, `<name>-<job>-<replica>-<index>-<5 characters>`,
has more than 63 characters. The reference finds that out after admission, for ever (Q7).
Rule: spec/trainer-behaviour.md section 12.3.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra.errors import Problem
from trainer_infra.render.draft import Draft

LIMIT: Final = 63
_SUFFIX: Final = len("-abcde")


def longest(draft: Draft) -> int:
    """The most characters a TrainJob's name may have on this runtime."""
    return min((LIMIT - _tail(draft, index) for index in range(len(draft.pod_sets))), default=LIMIT)


def problems(draft: Draft) -> Iterable[Problem]:
    """A name that JobSet would refuse."""
    name = draft.job.metadata.name or ""
    limit = longest(draft)
    if draft.like_reference or len(name) <= limit:
        return
    worst = max(range(len(draft.pod_sets)), key=lambda index: _tail(draft, index))
    yield Problem(
        "metadata.name",
        f"is too long for the pods of replicated job {draft.pod_sets[worst].name!r}: "
        f"JobSet allows {limit} characters on this runtime",
        got=name,
        fix=f"shorten it by {len(name) - limit}",
    )


def _tail(draft: Draft, index: int) -> int:
    """Characters that JobSet and the Job controller put behind the name."""
    pod_set = draft.pod_sets[index]
    replicas = draft.spec["replicatedJobs"][index].get("replicas", 1)
    last = f"-{pod_set.name}-{max(replicas - 1, 0)}-{max(pod_set.count - 1, 0)}"
    return len(last) + _SUFFIX
