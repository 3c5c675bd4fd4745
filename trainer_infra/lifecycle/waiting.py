"""Why a TrainJob does not go on, as one sentence: what `kubectl get trainjobs` shows in a column.

A driver keeps it in the annotation `names.WAITING`. It cannot be a condition: the published SDK
takes a TrainJob for running only while it has none (docs/lifecycle.md).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput
from trainer_infra.lifecycle import conditions, failure_reason
from trainer_infra.lifecycle.conditions import Conditions
from trainer_infra.lifecycle.status import TrainJobCase

LENGTH: Final = 200
"""Characters of a sentence: a column is read at a glance."""
PREDECESSOR: Final = "an earlier TrainJob of this name is still being deleted"


def waiting_sentence(
    case: TrainJobCase, current: Conditions, error: InvalidInput | None, *, succeeds: bool
) -> str:
    """Why a TrainJob with these conditions waits; empty where it does not, or where no reason is known.

    The error is why its objects cannot be made; `succeeds` says that those of an earlier one of its name are there.
    """
    if conditions.is_finished(current):
        return ""
    found = next(_reasons(case, error, succeeds=succeeds), "")
    line = " ".join(found.split())
    return line if len(line) <= LENGTH else f"{line[: LENGTH - 1]}…"


def _reasons(case: TrainJobCase, error: InvalidInput | None, *, succeeds: bool) -> Iterator[str]:
    if succeeds:
        yield PREDECESSOR
    if error is not None:
        yield str(error)
    queue = (case.job.metadata.labels or {}).get(names.KUEUE_QUEUE_LABEL)
    if case.job.spec.suspend and queue:
        yield f"Kueue has not admitted it to queue {queue}"
    if not case.job.spec.suspend:
        for each in failure_reason.waiting_reasons(case.observed.pods):
            yield each.sentence()
