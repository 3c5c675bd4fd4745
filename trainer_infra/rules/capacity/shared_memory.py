"""shared-memory: a torch or MPI node of several GPUs has more shared memory than the default 64 MiB.

The default is that of the container runtimes. NCCL shares buffers between the processes of a node
there (NCCL's documentation, "Shared memory"), PyTorch's data loaders their batches. An emptyDir of
medium Memory at /dev/shm is bounded by the container's memory limit alone.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import gpus, nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_NEEDS_IT: Final = ("torch", "mpi")


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    policy, found = context.subject.ml_policy, gpus.gpus_of(place.value)
    needs_it = any(policy[each].is_there() for each in _NEEDS_IT)
    if found is None or found.count <= 1 or not needs_it or place.pod.spec["hostIPC"].flag():
        return
    mount = _mount(place)
    if mount is None:
        asks = context.subject.kind == names.TRAIN_JOB and not found.place.is_inherited()
        missing = context.subject.object.at("spec", "runtimePatches")
        where = missing if asks else place.value["volumeMounts"]
        what = f"mounts nothing at {names.SHARED_MEMORY}: the GPUs of a node share 64 MiB then"
        fix = f"mount an emptyDir of medium Memory there in the container {names.NODE!r}"
        yield where.finding(what, None, fix)
        return
    yield from _of_volume(place, mount["name"].text())


def _mount(place: PodContainer) -> Value | None:
    mounts = place.value["volumeMounts"]
    for each in mounts.items() if mounts.is_there() else ():
        if each["mountPath"].text().rstrip("/") == names.SHARED_MEMORY:
            return each
    return None


def _of_volume(place: PodContainer, name: str) -> Iterator[Finding]:
    for volume in place.pod.spec["volumes"].items():
        medium = volume.at("emptyDir", "medium")
        is_it = volume["name"].text() == name and volume["emptyDir"].is_there()
        if is_it and medium.text() != "Memory":
            what = f"must be Memory for what is mounted at {names.SHARED_MEMORY}"
            yield medium.finding(what, medium.text() or None, "write Memory")


RULE: Final = Rule(
    id="shared-memory",
    title="Nodes of several GPUs have shared memory",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("capacity", "gpu", "memory"),
    why=(
        "NCCL and data loaders share memory between the processes of a node. With 64 MiB they "
        "fail with a bus error or `No space left on device`."
    ),
    fix="Mount an emptyDir with `medium: Memory` at `/dev/shm` into the container `node`.",
    places=nodes.training_containers,
    check=_check,
)
