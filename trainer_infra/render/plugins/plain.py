"""PlainML: runtimes without a framework of their own (reference behaviour 3.1)."""

from trainer_infra.render import trainer_env
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin


def applies(draft: Draft) -> bool:
    """Whether the runtime names no framework."""
    policy = draft.ml_policy
    return not any((policy.torch, policy.jax, policy.mpi, policy.xgboost, policy.flux))


def enforce_ml_policy(draft: Draft) -> Draft:
    """The user's node count and environment, nothing else."""
    return trainer_env.with_env(trainer_env.with_num_nodes(draft))


PLUGIN = Plugin(name="PlainML", applies=applies, enforce_ml_policy=enforce_ml_policy)
