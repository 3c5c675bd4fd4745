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


def longest_name(draft: Draft) -> int:
    """The most characters a TrainJob's name may have on this runtime."""
    return min(_limits(draft), default=(LIMIT, ""))[0]


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


def _limits(draft: Draft) -> Iterable[tuple[int, str]]:
    """How long the name may be for each thing that is named after it."""
    for index, pod_set in enumerate(draft.pod_sets):
        yield LIMIT - _tail(draft, index), f"pods of replicated job {pod_set.name!r}"
    for policy in draft.spec.get("volumeClaimPolicies") or ():
        for template in policy.get("templates") or ():
            claim = (template.get("metadata") or {}).get("name", "")
            yield LIMIT - len(f"{claim}-"), f"claim {claim!r}"


def _tail(draft: Draft, index: int) -> int:
    """Characters that JobSet and the Job controller put behind the name."""
    pod_set, job = draft.pod_sets[index], draft.spec["replicatedJobs"][index]
    of_job = f"-{pod_set.name}-{job.get('replicas', 1) - 1}"
    job_spec = (job.get("template") or {}).get("spec") or {}
    if job_spec.get("completionMode") == "NonIndexed":
        # JobSet looks at the names of Jobs only: Kubernetes shortens those of such pods.
        return len(of_job)
    return len(f"{of_job}-{_count(draft, pod_set) - 1}") + _SUFFIX


def _count(draft: Draft, pod_set: PodSet) -> int:
    """Pods of the job: those of the training nodes are what the TrainJob asks for."""
    nodes, policy = trainer_env.pods_of_nodes(draft), draft.runtime.spec.ml_policy
    is_mpi = policy is not None and policy.mpi is not None
    is_nodes = pod_set.name == names.NODE if is_mpi else pod_set.ancestor == names.TRAINER
    return pod_set.count if nodes is None or not is_nodes else nodes
