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
from trainer_infra.render import resolve
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Container, Draft, upsert_env, upsert_ports

COMPLETION_INDEX: Final = {"fieldRef": {"fieldPath": names.COMPLETION_INDEX_FIELD}}


def variable(name: str, value: object) -> JSONObject:
    """An environment variable with a literal value."""
    return {"name": name, "value": str(value)}


def node_rank(name: str) -> JSONObject:
    """An environment variable that holds the pod's completion index."""
    return {"name": name, "valueFrom": COMPLETION_INDEX}


def reserved_variables(draft: Draft, taken: Iterable[str], fix: str) -> Iterable[Problem]:
    """One problem for all variables of trainer.env that a plugin writes itself."""
    used = sorted({each["name"] for each in draft.trainer_spec.env or ()} & {*taken})
    if used:
        yield Problem(
            "spec.trainer.env",
            f"must not have reserved envs, invalid envs configured: [{' '.join(used)}]",
            fix=fix,
        )


def nodes(draft: Draft) -> int:
    """Training nodes: the TrainJob's number, of which zero is kept (Q21), else the runtime's."""
    usual = draft.trainer.count if draft.trainer else 1
    return usual if draft.trainer_spec.num_nodes is None else draft.trainer_spec.num_nodes


def pods_of_nodes(draft: Draft) -> int | None:
    """Pods of the training nodes that numNodes asks for.

    With an MPI launcher that trains too they are one less, but one at least (Q5).
    """
    asked, mpi = draft.trainer_spec.num_nodes, draft.ml_policy.mpi
    return max(asked - 1, 1) if asked is not None and mpi and mpi.run_launcher_as_node else asked


def with_num_nodes(draft: Draft, job: str | None = None) -> Draft:
    """A copy with `pods_of_nodes` as the count of the trainer, or of the job that is named."""
    name = draft.trainer.name if job is None and draft.trainer else job
    count = pods_of_nodes(draft)
    if count is None or name is None:
        return draft
    return draft.with_pod_set(name, lambda old: replace(old, count=count))


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
    user = (draft.trainer_spec.env if user_first else None) or ()
    own = tuple(own)
    ports = () if port is None else ({"containerPort": port},)
    unnamed_are_same = not draft.ours(Deviation.Q17)

    def change(container: Container) -> Container:
        return replace(
            container,
            env=upsert_env(upsert_env(container.env, user), own),
            ports=upsert_ports(container.ports, ports, unnamed_are_same=unnamed_are_same),
        )

    return draft.with_pod_set(
        draft.trainer.name, lambda pod_set: pod_set.with_container(names.NODE, change)
    )


def num_nodes_problems(draft: Draft) -> Iterable[Problem]:
    """A negative number of nodes, which the reference admits and Kubernetes refuses. Zero stays (Q21)."""
    asked = draft.trainer_spec.num_nodes
    if asked is not None and asked < 0 and draft.ours(Deviation.NUM_NODES):
        yield Problem(
            "spec.trainer.numNodes",
            "must not be negative: it is the number of pods that train",
            got=asked,
            fix="write 1 or more, or leave it out for the runtime's number",
        )


def num_proc_problems(draft: Draft) -> Iterable[Problem]:
    """A number of processes that nothing reads, which the reference admits."""
    number, policy = draft.trainer_spec.num_proc_per_node, draft.ml_policy
    is_read = any((policy.torch, policy.mpi, policy.flux))
    if number is None or is_read or not draft.ours(Deviation.NUM_PROC):
        return
    each = "a worker counts for each GPU" if policy.xgboost else "a node has one process"
    yield Problem(
        "spec.trainer.numProcPerNode",
        "has no effect on this runtime, which has neither mlPolicy.torch nor mlPolicy.mpi nor mlPolicy.flux",
        got=number,
        fix=f"leave it out ({each}), or take another runtime, such as torch-distributed",
    )


def args_problems(draft: Draft) -> Iterable[Problem]:
    """Arguments that start nothing, where torchrun or the program itself must bring the nodes together."""
    trainer = draft.trainer_spec
    if not trainer.args or trainer.command or draft.ml_policy.torch is None:
        return
    containers = tuple(each for _, each in resolve.trainer_containers(draft.spec))
    env = [*(trainer.env or ()), *(v for each in containers for v in each.get("env") or ())]
    finds_others = ContainerVariables({each["name"]: None for each in env}).tell_of_nodes()
    if finds_others or any(each.get("command") for each in containers):
        return
    # The entrypoint of some images starts its arguments, so that these may be a command.
    if draft.ours(Deviation.ARGS) and not read_command_line(trainer.args).launchers():
        yield Problem(
            "spec.trainer.args",
            "are arguments of no command: neither the TrainJob nor its runtime has one, and the entrypoint "
            "of an image is not torchrun",
            got=trainer.args[0],
            fix="set spec.trainer.command, as in [torchrun]",
        )
