"""What a preview says of the volumes of a TrainJob's pods: a claim that a pod has twice keeps it from starting.

A rule says the same of files: rules/data/claims.py.
"""

from collections.abc import Iterator

from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve


def volume_sentences(job_set: JSONObject) -> Iterator[str]:
    """A sentence for each volume whose claim another volume of the pod has."""
    for job in job_set["spec"]["replicatedJobs"]:
        first: dict[str, str] = {}
        for volume in resolve.pod_spec(job).get("volumes") or ():
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
            if claim in first:
                yield (
                    f"job {job['name']}: the volumes {first[claim]!r} and {volume['name']!r} are of one claim, {claim}, "
                    f"and the kubelet never starts such a pod; mount {first[claim]!r} twice, with a subPath each"
                )
            elif claim:
                first[claim] = volume["name"]
