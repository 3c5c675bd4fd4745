"""Stable host names of a JobSet's pods, and the address of a job's first node.

`<jobset>-<replicatedJob>-<replica>-<index>.<subdomain>`: reference behaviour 2.4
and 3. Used by plugins and by the local target, which replaces them with loopback addresses.
"""

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft


def subdomain(jobset_name: str, spec: JSONObject) -> str:
    """The headless service's name: network.subdomain or the JobSet's own name."""
    return str((spec.get("network") or {}).get("subdomain") or jobset_name)


def pod_name(jobset_name: str, job: str, replica: int = 0, index: int = 0) -> str:
    """A pod's host name within the subdomain."""
    return f"{jobset_name}-{job}-{replica}-{index}"


def host_name(
    jobset_name: str, spec: JSONObject, job: str, replica: int = 0, index: int = 0
) -> str:
    """A pod's stable host name."""
    return f"{pod_name(jobset_name, job, replica, index)}.{subdomain(jobset_name, spec)}"


def head(draft: Draft) -> str:
    """The host name of the first training node.

    The reference writes the job name `node` and the TrainJob's name as subdomain whatever the
    runtime says (Q4); ours names the pod that exists.
    """
    name = draft.job.metadata.name or ""
    if draft.trainer is None or not draft.ours(Deviation.Q4):
        return f"{name}-{names.NODE}-0-0.{name}"
    return host_name(name, draft.spec, draft.trainer.name)
