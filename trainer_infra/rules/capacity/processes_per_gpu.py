"""processes-per-gpu: where the number of processes per node is written, it is that of its GPUs.

It is `spec.trainer.numProcPerNode`, else that of `mlPolicy.mpi` or `mlPolicy.flux`. A 1 of
`mlPolicy.mpi` means one for each GPU. JAX, XGBoost and plain runtimes do not read it.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.capacity import nodes, requests
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.pods import Container
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value

_NUMBER: Final = "numProcPerNode"
_READ_IT: Final = ("torch", "mpi", "flux")


def _check(place: Container, context: Context[Parameters]) -> Iterator[Finding]:
    gpu = requests.gpu(place.value)
    written = None if gpu is None else _written(context.subject)
    if gpu is None or written is None:
        return
    number, gpus = written.number(), requests.gpus(requests.of_container(place.value))
    if number is None or number == gpus:
        return
    if nodes.is_inherited(written) and not nodes.is_inherited(gpu):
        written = context.subject.object.at("spec", "trainer", _NUMBER)
    what = "starts more processes than there are" if number > gpus else "leaves idle some of the"
    fix = f"write {requests.shown(gpus)}, one for each GPU"
    yield written.finding(f"{what} GPUs on a node", number, fix)


def _written(subject: Subject) -> Value | None:
    """Where the number is written; None where it is not, or is not read."""
    read = [each for each in _READ_IT if subject.ml_policy[each].is_there()]
    own = subject.object.at("spec", "trainer", _NUMBER)
    if not read or (subject.kind == names.TRAIN_JOB and own.is_there()):
        return own if read else None
    policy = subject.ml_policy.at(read[0], _NUMBER)
    means_each_gpu = read[0] == "mpi" and policy.number() == 1
    return None if means_each_gpu else policy


RULE: Final = Rule(
    id="processes-per-gpu",
    title="Nodes start one process for each GPU",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("capacity", "gpu", "processes"),
    why=(
        "With more processes two share a GPU and often run out of its memory; with fewer, GPUs "
        "that are paid for do nothing."
    ),
    fix="Leave `numProcPerNode` out for torch and MPI, or write the number of GPUs of a node.",
    places=nodes.containers,
    check=_check,
)
