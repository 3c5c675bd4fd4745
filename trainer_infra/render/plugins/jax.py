"""JAX: one process per node, which finds its coordinator by variables (reference behaviour 3.4)."""

from trainer_infra import names
from trainer_infra.render import endpoints, trainer_env
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin


def enforce_ml_policy(draft: Draft) -> Draft:
    """Node count, JAX_* variables and the coordinator's port."""
    draft = trainer_env.with_num_nodes(draft)
    if draft.trainer is None or not trainer_env.injects(draft):
        return draft
    own = (
        trainer_env.variable(names.JAX_NUM_PROCESSES, draft.trainer.count),
        trainer_env.node_rank(names.JAX_PROCESS_ID),
        trainer_env.variable(
            names.JAX_COORDINATOR_ADDRESS, f"{endpoints.head(draft)}:{names.RENDEZVOUS_PORT}"
        ),
    )
    return trainer_env.with_env(draft, own, port=names.RENDEZVOUS_PORT, user_first=False)


PLUGIN = Plugin(
    name="JAX",
    applies=lambda draft: draft.ml_policy.jax is not None,
    enforce_ml_policy=enforce_ml_policy,
)
