"""What to do about an argument that nothing has by that name: people call it otherwise, or it stands elsewhere."""

from collections.abc import Collection, Mapping
from typing import Final

from trainer_infra.words import did_you_mean

_CPU: Final = 'resources_per_node={"cpu": N}'
_GPU: Final = 'resources_per_node={"gpu": N}'
_MEMORY: Final = 'resources_per_node={"memory": "NGi"}'
OTHER_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("gpu", "gpus", "num_gpus", "n_gpus", "gpus_per_node"), _GPU),
    **dict.fromkeys(("cpu", "cpus", "num_cpus"), _CPU),
    **dict.fromkeys(("memory", "mem"), _MEMORY),
    **dict.fromkeys(("resources", "limits", "requests"), "resources_per_node={...}"),
    **dict.fromkeys(
        ("nproc", "nproc_per_node", "num_processes", "procs_per_node", "slots_per_worker"),
        "num_proc_per_node",
    ),
    **dict.fromkeys(
        ("nodes", "nnodes", "num_workers", "workers", "replicas", "world_size"), "num_nodes"
    ),
    **dict.fromkeys(("function", "func", "fn", "train_func", "script", "entrypoint"), "train"),
    **dict.fromkeys(("kwargs", "func_kwargs", "arguments", "parameters"), "func_args"),
    **dict.fromkeys(("requirements", "packages_to_install", "pip", "pip_packages"), "packages"),
    **dict.fromkeys(("environment", "env_vars", "envs", "variables"), "env"),
    **dict.fromkeys(("container_image", "docker_image", "base_image"), "image"),
    **dict.fromkeys(("wait", "wait_until", "wait_for_complete", "wait_for_completion"), "wait_for"),
    **dict.fromkeys(("job_name", "run_name"), "name"),
    **dict.fromkeys(("output", "output_dir", "artifacts"), "outputs"),
    **dict.fromkeys(("dataset", "data"), 'initializer={"dataset": {"storageUri": ...}}'),
    **dict.fromkeys(("timeout", "max_runtime", "deadline"), "active_deadline_seconds"),
    **dict.fromkeys(("parallelism", "concurrency", "max_concurrent"), "max_parallel"),
    **dict.fromkeys(("retries", "max_retries", "tolerance"), "tolerate_failures"),
    **dict.fromkeys(("options", "params"), "parameters"),
    "queue": 'labels={"kueue.x-k8s.io/queue-name": NAME}',
}
"""What other tools call our arguments -> ours, as it is written."""
OWNERS: Final[Mapping[str, Collection[str]]] = {
    "the trainer": (
        *("num_nodes", "num_proc_per_node", "resources_per_node", "env", "image"),
        *("packages", "files", "func_args", "packages_at", "code_at"),
    ),
    "the TrainJob": (
        *("runtime", "trainer", "initializer", "runtime_patches", "suspend", "outputs", "attempt"),
        *("active_deadline_seconds", "namespace", "labels", "annotations", "wait_for", "adopt"),
    ),
    "TrainJobs": ("max_parallel", "tolerate_failures", "keep_complete", "wait_for"),
}
"""Who has an argument that something else is given."""


def advice(name: str, known: Collection[str]) -> str:
    """What to do about an argument of that name, where the known ones are those that there are."""
    meant = OTHER_NAMES.get(name.lower(), name)
    argument = meant.partition("=")[0]
    if argument in known:
        return f"did you mean {meant}?"
    is_job = "runtime" in known
    owners = [owner for owner, its in OWNERS.items() if argument in its]
    if not is_job and "the trainer" in owners:
        owners.remove("the trainer")
    if owners:
        # What a TrainJob has not itself, TrainJobs have; a trainer is first of all one of a TrainJob.
        return f"give {meant} to {owners[-1 if is_job else 0]}"
    return did_you_mean(name, known)
