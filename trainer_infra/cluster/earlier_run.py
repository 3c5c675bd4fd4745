"""What stands where a submit wants to make something: an earlier run that goes, or what is no run at all."""

import asyncio
import time
from typing import Final

from trainer_infra.cluster import ownership
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject

PAUSE: Final = 0.1
"""Seconds between two looks at an object that is being deleted."""


async def pause_before_retry(job: JSONObject, live: JSONObject | None, until: float) -> None:
    """Pause before the next look at an object that is being deleted, or is gone by now.

    Args:
        job: the TrainJob that is submitted.
        live: the object as it was last seen, if it was.
        until: of `time.monotonic`; how long it is waited for.

    Raises:
        NotAvailable: It was waited for long enough.
    """
    if live is not None and time.monotonic() > until:
        metadata = job["metadata"]
        finalizers = ", ".join(live["metadata"].get("finalizers") or ()) or "none"
        raise NotAvailable(
            f"run {metadata['namespace']}/{metadata['name']} is not submitted: an earlier run of that name "
            f"is still being deleted, {ownership.object_shown(live)} waits for its finalizers "
            f"({finalizers}); try again"
        )
    await asyncio.sleep(PAUSE)


def refusal_of_other(live: JSONObject) -> Refused:
    """Why an object that is no run of this engine is not taken for one."""
    return Refused(
        f"{ownership.object_shown(live)} belongs to {ownership.owner_shown(live)}, which is not a run of "
        "this engine; choose another name, or delete that first"
    )
