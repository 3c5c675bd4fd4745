"""What all ML policy plugins do to the training nodes: count, user environment, their own.

A framework plugin says which variables it writes; this file writes them. Rules:
reference behaviour 3.1, 3.2 and 3.4.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Container, Draft, PodSet, upsert_env, upsert_ports

COMPLETION_INDEX: Final = {"fieldRef": {"fieldPath": names.COMPLETION_INDEX_FIELD}}


def variable(name: str, value: object) -> JSONObject:
    """An environment variable with a literal value."""
    return {"name": name, "value": str(value)}


def node_rank(name: str) -> JSONObject:
    """An environment variable that holds the pod's completion index."""
    return {"name": name, "valueFrom": COMPLETION_INDEX}


def reserved_variables(draft: Draft, taken: Iterable[str], fix: str) -> Iterable[Problem]:
    """One problem for all variables of trainer.env that a plugin writes itself."""
    trainer = draft.job.spec.trainer
    used = sorted({each["name"] for each in (trainer.env if trainer else None) or ()} & {*taken})
    if used:
        yield Problem(
            "spec.trainer.env",
            f"must not have reserved envs, invalid envs configured: [{' '.join(used)}]",
            fix=fix,
        )


def with_num_nodes(draft: Draft) -> Draft:
    """TrainJob.spec.trainer.numNodes is the trainer's count; zero is kept (Q21)."""
    trainer, pod_set = draft.job.spec.trainer, draft.trainer
    if trainer is None or trainer.num_nodes is None or pod_set is None:
        return draft
    count = trainer.num_nodes
    return draft.with_pod_set(pod_set.name, lambda old: replace(old, count=count))


def injects(draft: Draft) -> bool:
    """Whether a framework writes into the trainer's container.

    The reference writes nothing for a TrainJob without spec.trainer (Q1): such a job on several
    nodes then cannot find its peers. Ours writes.
    """
    return draft.job.spec.trainer is not None or draft.ours(Deviation.Q1)


def with_env(
    draft: Draft,
    own: Iterable[JSONObject] = (),
    *,
    port: int | None = None,
    user_first: bool = True,
) -> Draft:
    """The user's variables, then the plugin's own, and its port, in the trainer's container.

    With `user_first` False the plugin's own go first: JobSet adds the user's at the end.
    """
    if draft.trainer is None:
        return draft
    trainer = draft.job.spec.trainer
    user = (trainer.env if trainer and user_first else None) or ()
    own = tuple(own)
    ports = () if port is None else ({"containerPort": port},)
    unnamed_are_same = not draft.ours(Deviation.Q17)

    def change(container: Container) -> Container:
        return replace(
            container,
            env=upsert_env(upsert_env(container.env, user), own),
            ports=upsert_ports(container.ports, ports, unnamed_are_same=unnamed_are_same),
        )

    def in_pod_set(pod_set: PodSet) -> PodSet:
        return pod_set.with_container(names.NODE, change)

    return draft.with_pod_set(draft.trainer.name, in_pod_set)


def num_nodes_problems(draft: Draft) -> Iterable[Problem]:
    """A negative number of nodes, which the reference admits and Kubernetes refuses. Zero stays (Q21)."""
    trainer = draft.job.spec.trainer
    nodes = trainer.num_nodes if trainer else None
    if nodes is not None and nodes < 0 and draft.ours(Deviation.NUM_NODES):
        yield Problem(
            "spec.trainer.numNodes",
            "must not be negative: it is the number of pods that train",
            got=nodes,
            fix="write 1 or more, or leave it out for the runtime's number",
        )
