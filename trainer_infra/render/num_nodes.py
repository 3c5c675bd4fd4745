"""spec.trainer.numNodes: not negative, or the Job of the trainer is one that Kubernetes refuses.

The reference admits it, and JobSet then tries for ever to make that Job. Zero is kept (Q21). A
negative count in a runtime (mlPolicy.numNodes, parallelism) is no problem: both render it as 1.
"""

from collections.abc import Iterable

from trainer_infra.errors import Problem
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft


def num_nodes_problems(draft: Draft) -> Iterable[Problem]:
    """A negative number of nodes."""
    trainer = draft.job.spec.trainer
    nodes = trainer.num_nodes if trainer else None
    if nodes is not None and nodes < 0 and draft.ours(Deviation.NUM_NODES):
        yield Problem(
            "spec.trainer.numNodes",
            "must not be negative: it is the number of pods that train",
            got=nodes,
            fix="write 1 or more, or leave it out for the runtime's number",
        )
