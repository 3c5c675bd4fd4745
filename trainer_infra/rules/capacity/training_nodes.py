"""Nodes that train: how many there are, and what each needs of its GPUs."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.catalog import device_resources
from trainer_infra.catalog.device_resources import DeviceUse, device_use
from trainer_infra.rules.placement import amounts, lookup, nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


class NodesLimit(Parameters):
    """How many nodes a job may have."""

    nodes: int | None = None
    """The most pods that train; None for any number."""


def _check_number(_place: Value, context: Context[NodesLimit]) -> Iterator[Finding]:
    most = context.parameters.nodes
    if most is None:
        return
    total = nodes.total(context.subject)
    if total > most:
        where = nodes.total_value(context.subject)
        what = f"makes more nodes than the {most} that are allowed"
        yield where.finding(what, total, f"write {most} or less")


NODES_LIMIT: Final = Rule(
    id="nodes-limit",
    title="A job must not use more nodes than allowed",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("capacity", "nodes", "cost"),
    why="One job takes machines that others were promised.",
    fix="Use fewer nodes, or ask the person who set the limit.",
    check=_check_number,
    parameters=NodesLimit,
)


_NUMBER: Final = "numProcPerNode"
_READ_IT: Final = ("torch", "mpi", "flux")


def _check_processes(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = amounts.gpus_of(place.value)
    written = None if found is None else _written(context.subject)
    number = None if written is None else written.number()
    if found is None or written is None or number is None or number == found.count:
        return
    if found.place.path[-1] == device_resources.NEURON and number % found.count == 0:
        # A process for each of its cores, which are as many as the machine's kind has.
        return
    if written.is_inherited() and not found.place.is_inherited():
        written = context.subject.object.at("spec", "trainer", _NUMBER)
    is_more = number > found.count
    what = "starts more processes than a node has GPUs" if is_more else "leaves GPUs of a node idle"
    fix = f"write {found.count:f}, one for each GPU"
    yield written.finding(what, number, fix)


def _written(subject: Subject) -> Value | None:
    """Where the number is written; None where it is not, or is not read."""
    read = [each for each in _READ_IT if subject.ml_policy[each].is_there()]
    own = subject.object.at("spec", "trainer", _NUMBER)
    if not read or (subject.kind == names.TRAIN_JOB and own.is_there()):
        return own if read else None
    policy = subject.ml_policy.at(read[0], _NUMBER)
    means_each_gpu = read[0] == "mpi" and policy.number() == 1
    return None if means_each_gpu else policy


PROCESSES_PER_GPU: Final = Rule(
    id="processes-per-gpu",
    title="Nodes must start one process per GPU",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("capacity", "gpu", "processes"),
    why=(
        "With more processes two share a GPU and often run out of its memory; with fewer, GPUs "
        "that you pay for stay idle."
    ),
    fix="Leave out `numProcPerNode` for torch and MPI, or set it to the number of GPUs of a node.",
    places=nodes.training_containers,
    check=_check_processes,
)
"""It is `spec.trainer.numProcPerNode`, else that of `mlPolicy.mpi` or `mlPolicy.flux`. A 1 of
`mlPolicy.mpi` means one for each GPU. JAX, XGBoost and plain runtimes do not read it.
"""


_NEEDS_IT: Final = ("torch", "mpi")
_BY_DEFAULT: Final = 64 * 2**20
_ON_DISK: Final = ("persistentVolumeClaim", "ephemeral", "nfs", "csi")
"""Volumes that are no memory."""


def _check_shared_memory(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    policy, found = context.subject.ml_policy, amounts.gpus_of(place.value)
    if found is None or found.count <= 1 or place.pod.spec["hostIPC"].flag():
        return
    # On GPUs of a JobSet NCCL or RCCL runs; other devices share no memory so.
    is_gpu = device_use(str(found.place.path[-1])) is DeviceUse.GPU
    of_policy = any(policy[each].is_there() for each in _NEEDS_IT)
    if not of_policy and not (context.subject.kind == names.JOBSET and is_gpu):
        return
    mounts = lookup.items(place.value["volumeMounts"])
    paths = {each["mountPath"].text().rstrip("/"): each for each in mounts}
    mount = paths.get(names.SHARED_MEMORY)
    if mount is None:
        asks = context.subject.kind == names.TRAIN_JOB and not found.place.is_inherited()
        missing = context.subject.object.at("spec", "runtimePatches")
        where = missing if asks else place.value["volumeMounts"]
        what = f"mounts nothing at {names.SHARED_MEMORY}: the GPUs of a node share 64 MiB then"
        fix = f"mount an emptyDir of medium Memory there in the container {names.NODE!r}"
        yield where.finding(what, None, fix)
        return
    read_only = mount["readOnly"]
    if read_only.flag():
        what = "keeps processes from writing to the memory that they share"
        yield read_only.finding(what, True, "take it away")
        return
    yield from _of_volume(place, mount["name"].text())


def _of_volume(place: PodContainer, name: str) -> Iterator[Finding]:
    volume = lookup.item_named(place.pod.spec["volumes"], name)
    if volume is None:
        return
    where = f"what is mounted at {names.SHARED_MEMORY}"
    for kind in _ON_DISK:
        if volume[kind].is_there():
            what = f"is a disk, and must be an emptyDir of medium Memory for {where}"
            yield volume[kind].finding(what, None, "write emptyDir: {medium: Memory}")
    medium, most = (volume.at("emptyDir", each) for each in ("medium", "sizeLimit"))
    size = most.quantity()
    if volume["emptyDir"].is_there() and medium.text() != "Memory":
        yield medium.finding(f"must be Memory for {where}", medium.text() or None, "write Memory")
    elif size is not None and size <= _BY_DEFAULT:
        what = f"is not more than the 64 MiB that a container has without {where}"
        yield most.finding(what, most.raw, "leave it out, or write some GiB")
    elif size is not None:
        # What is written to memory counts towards the limit of who writes it.
        path = ("resources", "limits", "memory")
        limits = (each.at(*path) for each in (place.value, place.pod.spec))
        limit = next((each for each in limits if each.quantity() is not None), most)
        if size > (limit.quantity() or 0):
            what = (
                f"is more than the {limit.raw} that the container and its files in memory may use"
            )
            yield most.finding(what, most.raw, "write less, or raise the limit")


SHARED_MEMORY: Final = Rule(
    id="shared-memory",
    title="Nodes with several GPUs must have enough shared memory",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("capacity", "gpu", "memory"),
    why=(
        "NCCL and data loaders share memory between the processes of a node. With 64 MiB they fail "
        "with a bus error or `No space left on device`."
    ),
    fix="Mount an emptyDir with `medium: Memory` at `/dev/shm` in the container `node`.",
    places=nodes.training_containers,
    check=_check_shared_memory,
)
"""The default is that of the container runtimes. NCCL shares buffers between the processes of a node
there (NCCL's documentation, "Shared memory"), PyTorch's data loaders their batches. An emptyDir of
medium Memory at /dev/shm is bounded by the container's memory limit alone.
"""
