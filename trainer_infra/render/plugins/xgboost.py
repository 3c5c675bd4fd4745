"""XGBoost: workers that find their tracker by four variables.

The first node runs the tracker; there is a worker for each GPU, or one on each node. Rules:
reference behaviour 3.5.
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.render import endpoints, resources, trainer_env
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

RESERVED: Final = (
    names.DMLC_TRACKER_URI,
    names.DMLC_TRACKER_PORT,
    names.DMLC_TASK_ID,
    names.DMLC_NUM_WORKER,
)


def validate(draft: Draft) -> Iterable[Problem]:
    """Reserved variables in trainer.env, one problem for each."""
    for index, variable in enumerate(draft.trainer_spec.env or ()):
        if variable["name"] in RESERVED:
            yield Problem(
                f"spec.trainer.env[{index}]",
                f"{variable['name']} is reserved for the XGBoost runtime",
                fix="remove it: the runtime sets it for each node",
                forbidden=True,
            )


def enforce_ml_policy(draft: Draft) -> Draft:
    """Node count, DMLC_* variables and the tracker's port."""
    draft = trainer_env.with_num_nodes(draft)
    if draft.trainer is None or not trainer_env.injects(draft):
        return draft
    workers = draft.trainer.count * max(1, resources.accelerators(draft))
    own = (
        trainer_env.variable(names.DMLC_TRACKER_URI, endpoints.head(draft)),
        trainer_env.variable(names.DMLC_TRACKER_PORT, names.RENDEZVOUS_PORT),
        trainer_env.node_rank(names.DMLC_TASK_ID),
        trainer_env.variable(names.DMLC_NUM_WORKER, workers),
    )
    return trainer_env.with_env(draft, own, port=names.RENDEZVOUS_PORT)


PLUGIN = Plugin(
    name="XGBoost",
    applies=lambda draft: draft.ml_policy.xgboost is not None,
    validate=validate,
    enforce_ml_policy=enforce_ml_policy,
)
