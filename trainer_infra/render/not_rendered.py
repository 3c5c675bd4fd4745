"""What the kinds have and this version does not render yet: refused, never ignored."""

from collections.abc import Iterable

from trainer_infra.errors import Problem
from trainer_infra.render.draft import Draft


def problems(draft: Draft) -> Iterable[Problem]:
    """One problem per policy of the runtime that no plugin of this version renders."""
    where = f"{draft.runtime.kind} {draft.runtime.metadata.name}"
    policy, gang = draft.runtime.spec.ml_policy, draft.runtime.spec.pod_group_policy
    found = {
        "spec.mlPolicy.mpi": policy and policy.mpi,
        "spec.mlPolicy.xgboost": policy and policy.xgboost,
        "spec.mlPolicy.flux": policy and policy.flux,
        "spec.podGroupPolicy.coscheduling": gang and gang.coscheduling,
        "spec.podGroupPolicy.volcano": gang and gang.volcano,
    }
    for path, value in found.items():
        if value is not None:
            yield Problem(
                path,
                "is not rendered by this version of trainer_infra",
                fix="use a runtime with torch, jax or no framework policy",
                where=where,
            )
    trainer = draft.job.spec.trainer
    if trainer and trainer.command == ("tune", "run") and policy and policy.torch is not None:
        yield Problem(
            "spec.trainer.command",
            "is torchtune's, which this version of trainer_infra does not render",
            got=list(trainer.command),
        )
