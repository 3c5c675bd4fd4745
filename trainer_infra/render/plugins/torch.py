"""Torch: torchrun's PET_* variables in the trainer and in the envInjection targets.

Rules: reference behaviour 3.2; torchtune, a mode of it, is torchtune.py.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import EnvInjectionTarget, Runtime
from trainer_infra.catalog import device_resources
from trainer_infra.catalog.device_resources import DeviceUse
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import endpoints, resources, torchtune, trainer_env
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft, PodSet
from trainer_infra.render.phases import Launcher, Plugin

RESERVED: Final = names.TORCH_VARIABLES
ADDRESS: Final = (names.PET_MASTER_ADDR, names.PET_MASTER_PORT)
AUTO: Final = "auto"
TORCHRUN: Final = Launcher(
    lambda _variables: ("torchrun",),
    elastic=(
        "--nnodes={least}:{most}",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint=$({names.PET_MASTER_ADDR}):$({names.PET_MASTER_PORT})",
        "--rdzv-id={run}",
    ),
    elastic_env={
        "PET_MAX_RESTARTS": "10",
        "PET_RDZV_CONF": "join_timeout=3600,last_call_timeout=30",
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    },
)
"""Where the number of nodes changes, a node waits an hour for the least of them, and half a minute more for the rest.

A store that torchrun shares with its workers (torch 2.15) still has the addresses of those before: new ones call a node
that is lost. Without it each round of workers has a store of its own.
"""


def launcher(runtime: Runtime) -> Launcher | None:
    """torchrun, which finds the variables of this plugin, on a runtime with mlPolicy.torch."""
    policy = runtime.spec.ml_policy
    return TORCHRUN if policy is not None and policy.torch is not None else None


def validate(draft: Draft) -> Iterable[Problem]:
    """Reserved variables, envInjection targets that do not exist, what torchtune cannot run."""
    for target, container in _targets(draft):
        job = target.job_name
        if not _has_container(draft, job, container):
            yield Problem(
                "spec.runtimeRef",
                f'envInjection target podSet "{job}" container "{container}" not found in runtime template',
                got=target.to_wire(),
            )
    fix = "remove them: the runtime sets them for each node"
    yield from trainer_env.reserved_variables(draft, RESERVED, fix)
    if torchtune.asked_for(draft):
        yield from torchtune.torchtune_problems(draft)


def enforce_ml_policy(draft: Draft) -> Draft:
    """Node count, PET_* variables, the rendezvous port and torchtune's command.

    Torchtune gets the address of the first node in its command, not in its environment.
    """
    draft = trainer_env.with_num_nodes(draft)
    count = 1 if draft.trainer is None else draft.trainer.count
    own = (
        trainer_env.variable(names.PET_NNODES, count),
        trainer_env.variable(names.PET_NPROC_PER_NODE, processes_per_node(draft)),
        trainer_env.node_rank(names.PET_NODE_RANK),
        trainer_env.variable(names.PET_MASTER_ADDR, endpoints.head(draft)),
        trainer_env.variable(names.PET_MASTER_PORT, names.RENDEZVOUS_PORT),
    )
    if draft.trainer is not None and trainer_env.injects(draft):
        tuned = torchtune.asked_for(draft) and draft.trainer.container(names.NODE) is not None
        shown = tuple(each for each in own if not tuned or each["name"] not in ADDRESS)
        draft = trainer_env.with_env(draft, shown, port=names.RENDEZVOUS_PORT)
        if tuned:
            draft = replace(draft, command=torchtune.tune_command(draft, processes_per_node(draft)))
    for target, container in _targets(draft):
        draft = draft.with_pod_set(target.job_name, partial(_inject, container, own))
    return draft


def processes_per_node(draft: Draft) -> int | str:
    """numProcPerNode, or torchrun's `auto` with GPUs, or one process per processor asked for."""
    if draft.trainer_spec.num_proc_per_node is not None:
        return draft.trainer_spec.num_proc_per_node
    count, node = resources.accelerators(draft), resources.of_node(draft)
    if not count:
        return max(1, resources.cpus(node))
    # torchrun counts what CUDA and ROCm show, and no slices and no other devices.
    others = device_resources.device_amounts(node, DeviceUse.DEVICE)
    return count if others and draft.ours(Deviation.Q6) else AUTO


def _targets(draft: Draft) -> Iterable[tuple[EnvInjectionTarget, str]]:
    injection = draft.ml_policy.torch.env_injection if draft.ml_policy.torch else None
    for target in (injection.targets if injection else None) or ():
        for container in target.container_names or ():
            yield target, container


def _has_container(draft: Draft, job: str, container: str) -> bool:
    return any(
        container == each.name
        for pod_set in draft.pod_sets
        if pod_set.name == job
        for each in (*pod_set.containers, *pod_set.init_containers)
    )


def _inject(name: str, own: tuple[JSONObject, ...], pod_set: PodSet) -> PodSet:
    if pod_set.container(name):
        return pod_set.with_container(name, lambda container: container.plus(env=own))
    inits = (each.plus(env=own) if each.name == name else each for each in pod_set.init_containers)
    return replace(pod_set, init_containers=tuple(inits))


PLUGIN = Plugin(
    name="Torch",
    applies=lambda draft: draft.ml_policy.torch is not None,
    validate=validate,
    enforce_ml_policy=enforce_ml_policy,
    launcher=launcher,
)
