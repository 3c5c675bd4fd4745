"""Our TTL annotation: how long a finished TrainJob stays, which the API has no field for.

The annotation `names.TTL_SECONDS` of the TrainJob, else of its runtime. `pipeline` refuses what is
no number, the driver reads the rest. It deletes the TrainJob itself, and with it everything it
owns; `ttlSecondsAfterFinished` of a runtime's JobSet template deletes the JobSet alone.
"""

import re
from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft

MOST: Final = 2**31 - 1
"""Seconds; the limit of Kubernetes' own fields of this name."""
_NUMBER: Final = re.compile(r"\d{1,10}", re.ASCII)


def ttl_seconds(job: TrainJob, runtime: Runtime | None) -> int | None:
    """Seconds from the end of the TrainJob to its deletion; None when it stays."""
    for each in (job, runtime):
        value = (each.metadata.annotations or {}).get(names.TTL_SECONDS) if each else None
        if value is not None:
            return int(value) if _is_valid(value) else None
    return None


def ttl_problems(draft: Draft) -> Iterable[Problem]:
    """A value that is not a whole number of seconds, on the TrainJob or its runtime."""
    for each in (draft.job, draft.runtime):
        value = (each.metadata.annotations or {}).get(names.TTL_SECONDS)
        if value is not None and not _is_valid(value) and draft.ours(Deviation.TTL):
            yield Problem(
                f"metadata.annotations[{names.TTL_SECONDS}]",
                f"must be a whole number of seconds from 0 to {MOST}",
                got=value,
                where="" if each is draft.job else f"{each.kind} {each.metadata.name}",
            )


def _is_valid(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None and int(value) <= MOST
