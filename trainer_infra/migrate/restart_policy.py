"""`restartPolicy` of a replica type and `backoffLimit`: what becomes of a pod that failed.

In v1 the operator itself restarted pods; in v2 the Job does, by its pods' restartPolicy, its
backoffLimit and its podFailurePolicy.
"""

from collections.abc import Iterator
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.pod_failure_policy import (
    FAIL_JOB,
    OnExitCodes,
    PodFailurePolicy,
    PodFailurePolicyRule,
)
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate.migration import Note
from trainer_infra.migrate.replica import Replica

NEVER: Final = "Never"
ON_FAILURE: Final = "OnFailure"
ALWAYS: Final = "Always"
EXIT_CODE: Final = "ExitCode"
DEFAULT_BACKOFF_LIMIT: Final = 6
"""Of a Job in Kubernetes; v1 restarted without end where no limit was given."""
LAST_PERMANENT: Final = 127
"""In v1, codes up to it end the job and higher ones restart the pod."""


def job_spec(
    replica: Replica, limit: int | None, pod_template: JSONObject, *, was_a_job: bool = False
) -> dict[str, Any]:
    """The JobSpec of a replica type.

    Args:
        replica: the replica type.
        limit: runPolicy.backoffLimit; None when not given.
        pod_template: its pods, whose restartPolicy is added.
        was_a_job: whether the operator made a Job of it, which tries again whatever its pods' policy.
    """
    in_place = replica.restart_policy in {ON_FAILURE, ALWAYS}
    retries = DEFAULT_BACKOFF_LIMIT if limit is None else limit
    spec = {**pod_template["spec"], "restartPolicy": ON_FAILURE if in_place else NEVER}
    is_final = replica.restart_policy == NEVER and not was_a_job
    made: dict[str, Any] = {"backoffLimit": 0 if is_final else retries}
    if replica.restart_policy == EXIT_CODE:
        codes = OnExitCodes(values=tuple(range(1, LAST_PERMANENT + 1)), container_name=names.NODE)
        made["podFailurePolicy"] = PodFailurePolicy(
            rules=(PodFailurePolicyRule(action=FAIL_JOB, on_exit_codes=codes),)
        ).to_wire()
    return {**made, "template": {**pod_template, "spec": spec}}


def restart_notes(
    replica: Replica, limit: int | None, *, was_a_job: bool = False
) -> Iterator[Note]:
    """What a written restart policy means otherwise in v2."""
    path = (*replica.path, "restartPolicy")
    if replica.restart_policy == ALWAYS:
        advice = "becomes OnFailure: a pod that ends with 0 is done"
        yield Note(path, ALWAYS, advice)
    ended_in_v1 = was_a_job or limit is not None or replica.restart_policy == NEVER
    if replica.explicit and not ended_in_v1:
        advice = (
            f"restarts without end in v1, {DEFAULT_BACKOFF_LIMIT} times here: change backoffLimit "
            "of the runtime's job"
        )
        yield Note(path, replica.restart_policy, advice)
