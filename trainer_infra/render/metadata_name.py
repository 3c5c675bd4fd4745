"""metadata.name: short enough for the names of pods and claims that JobSet makes of it.

JobSet refuses a JobSet whose longest pod name, `<name>-<job>-<replica>-<index>-<5 characters>`,
or claim name, `<claim>-<name>`, has more than 63 characters. The reference finds that out after
admission, forever (Q7). Rule: reference behaviour 12.3.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render import trainer_env
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft, PodSet

LIMIT: Final = 63
_SUFFIX: Final = len("-abcde")


def name_problems(draft: Draft) -> Iterable[Problem]:
    """A name that JobSet would refuse."""
    name = draft.job.metadata.name or ""
    limit, of = min(_limits(draft), default=(LIMIT, ""))
    if len(name) > limit and draft.ours(Deviation.Q7):
        yield Problem(
            "metadata.name",
            f"is too long for the {of}: JobSet allows {limit} characters on this runtime",
            got=name,
            fix=f"choose one of at most {limit} characters, this has {len(name)}",
        )


def suffix_length(job: str, last_replica: int, last_index: int | None) -> int:
    """Characters that JobSet and the Job controller put behind the name.

    Without an index JobSet looks at the names of Jobs only: Kubernetes shortens those of such pods.
    """
    of_job = f"-{job}-{last_replica}"
    return len(of_job) if last_index is None else len(f"{of_job}-{last_index}") + _SUFFIX


def _limits(draft: Draft) -> Iterable[tuple[int, str]]:
    """How long the name may be for each thing that is named after it."""
    for index, pod_set in enumerate(draft.pod_sets):
        yield LIMIT - _tail(draft, index), f"pods of replicated job {pod_set.name!r}"
    for policy in draft.spec.get("volumeClaimPolicies") or ():
        for template in policy.get("templates") or ():
            claim = (template.get("metadata") or {}).get("name", "")
            yield LIMIT - len(f"{claim}-"), f"claim {claim!r}"


def _tail(draft: Draft, index: int) -> int:
    pod_set, job = draft.pod_sets[index], draft.spec["replicatedJobs"][index]
    job_spec = (job.get("template") or {}).get("spec") or {}
    is_indexed = job_spec.get("completionMode") != "NonIndexed"
    last = _count(draft, pod_set) - 1 if is_indexed else None
    return suffix_length(pod_set.name, job.get("replicas", 1) - 1, last)


def _count(draft: Draft, pod_set: PodSet) -> int:
    """Pods of the job: those of the training nodes are what the TrainJob asks for."""
    nodes, is_mpi = trainer_env.pods_of_nodes(draft), draft.ml_policy.mpi is not None
    is_nodes = pod_set.name == names.NODE if is_mpi else pod_set.ancestor == names.TRAINER
    return pod_set.count if nodes is None or not is_nodes else nodes
