"""processes-per-gpu: where the number of processes per node is written, it is that of its GPUs.

It is `spec.trainer.numProcPerNode`, else that of `mlPolicy.mpi` or `mlPolicy.flux`. A 1 of
`mlPolicy.mpi` means one for each GPU. JAX, XGBoost and plain runtimes do not read it.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import gpus, nodes
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_NUMBER: Final = "numProcPerNode"
_READ_IT: Final = ("torch", "mpi", "flux")


def _check(place: PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = gpus.gpus_of(place.value)
    written = None if found is None else _written(context.subject)
    number = None if written is None else written.number()
    if found is None or written is None or number is None or number == found.count:
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
    places=nodes.training_containers,
    check=_check,
)
