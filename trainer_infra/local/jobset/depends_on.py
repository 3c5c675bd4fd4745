"""`dependsOn` of a replicated job: the earlier ones that must be ready or complete before it.

Called by startup.py. Rule: JobSet v0.12, KEP-672.
"""

from collections.abc import Mapping

from trainer_infra.local.jobset.replicated_job import ReplicatedJob
from trainer_infra.local.jobset.status import JobCounts


def is_met(
    job: ReplicatedJob, replicas: Mapping[str, int], counts: Mapping[str, JobCounts]
) -> bool:
    """Whether all that `job` depends on has come far enough.

    `replicas` and `counts` are by name of the replicated job. A ready dependency may have finished
    since.
    """
    return all(
        (counts[name].succeeded if wanted == "Complete" else counts[name].started) == replicas[name]
        for name, wanted in job.depends_on
    )
