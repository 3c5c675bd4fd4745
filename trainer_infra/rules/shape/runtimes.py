"""Runtimes: the jobs, the label and the scheduler that TrainJobs need of one."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.plugins import volcano as volcano_plugin
from trainer_infra.render.runtime_ref import CONTAINERS
from trainer_infra.render.scheduler import by_annotation
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, policy_variables
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs

_OWN_HOSTS: Final = re.compile(
    r"--?(?:default-)?(?:hostfile|machinefile)[ =](?!\s*[\"']?/etc/mpi/)|\s(?:-H|--?host)[ =]"
)
"""Options of mpirun for hosts that are not those of the policy's hostfile."""
Part = Callable[[Value, Value], Iterator[Finding]]
"""One demand: of a replicated job or of the list of all, given the mlPolicy."""


def _places_of_jobs(subject: Subject) -> Iterator[tuple[Part, Value]]:
    found = subject.object.at(*jobs.IN_RUNTIME)
    yield from ((part, found) for part in (_trains, _has_launcher, _has_nodes))
    for job in found.items():
        yield _is_labelled, job
        yield _has_container, job


def _check_jobs(place: tuple[Part, Value], context: Context[Parameters]) -> Iterator[Finding]:
    part, value = place
    yield from part(value, context.subject.ml_policy)


def _trains(found: Value, policy: Value) -> Iterator[Finding]:
    """Some job has the label of the trainer."""
    if not found.is_there() or not tuple(found.items()):
        yield found.finding("has no job", None, f"add a job {names.NODE!r} that trains")
        return
    if any(jobs.step_label(each).text() == names.TRAINER for each in found.items()):
        return
    usual = names.LAUNCHER if policy["mpi"].is_there() else names.NODE
    job = lookup.item_named(found, usual)
    what = "has no job that trains" if job is None else "is missing: no job is the one that trains"
    place = found if job is None else jobs.step_label(job)
    fix = f"set the label {names.ANCESTOR_LABEL}: {names.TRAINER} on the job that trains"
    yield place.finding(what, None, fix, () if job is None else place.set_to(names.TRAINER))


def _has_launcher(found: Value, policy: Value) -> Iterator[Finding]:
    if policy["mpi"].is_there():
        yield from _of_name(found, names.LAUNCHER, "it gets the hostfile and starts the processes")


def _has_nodes(found: Value, policy: Value) -> Iterator[Finding]:
    if not policy["mpi"].is_there() or policy["mpi"]["runLauncherAsNode"].flag():
        return
    launcher = lookup.item_named(found, names.LAUNCHER) if found.is_there() else None
    if launcher is None or not _names_hosts(launcher):
        yield from _of_name(found, names.NODE, "its pods are the lines of the hostfile")


def _names_hosts(launcher: Value) -> bool:
    """Whether it starts processes on hosts of its own list: the policy then gives it the keys alone."""
    containers = jobs.pod_spec(launcher)["containers"].items()
    lines = (" ".join((*each["command"].texts(), *each["args"].texts())) for each in containers)
    return any(_OWN_HOSTS.search(each) for each in lines)


def _of_name(found: Value, name: str, why: str) -> Iterator[Finding]:
    """MPI's job of that name is there; the one other job is taken for a misnamed one."""
    if not found.is_there() or lookup.item_named(found, name) is not None:
        return
    known = {names.LAUNCHER, names.NODE, *pods.INITIALIZERS}
    others = [each["name"] for each in found.items() if each["name"].text() not in known]
    fix = f"name it {name!r}: {why}" if len(others) == 1 else f"add a job {name!r}: {why}"
    what = f"has no job {name!r}, which MPI needs"
    if len(others) == 1:
        what = f"is not {name!r}, which MPI needs"
    place = others[0] if len(others) == 1 else found
    yield place.finding(what, place.text() or None, fix)


def _is_labelled(job: Value, _policy: Value) -> Iterator[Finding]:
    """An initializer's job has its label as its name."""
    label, name = jobs.step_label(job), job["name"]
    if name.text() in pods.INITIALIZERS and label.text() != name.text():
        what = "is missing: what a TrainJob says of the initializer is not written into the job"
        patch = () if label.is_there() else label.set_to(name.text())
        yield label.finding(what, label.text() or None, f"write {name.text()}", patch)
    elif label.text() in pods.INITIALIZERS and name.text() != label.text():
        what = "is not the initializer's: TrainJobs with spec.initializer are refused"
        yield name.finding(what, name.text() or None, f"name the job {label.text()!r}")


def _has_container(job: Value, policy: Value) -> Iterator[Finding]:
    """The container that a TrainJob's image, command and environment are written into."""
    if policy["mpi"].is_there() and job["name"].text() == names.LAUNCHER and _names_hosts(job):
        return
    wanted = CONTAINERS.get(jobs.step_label(job).text(), "")
    if not wanted and policy["mpi"].is_there() and job["name"].text() == names.NODE:
        wanted = names.NODE
    containers = jobs.pod_spec(job)["containers"]
    if not wanted or lookup.item_named(containers, wanted) is not None:
        return
    found = tuple(containers.items()) if containers.is_there() else ()
    fix = f"name {'it' if len(found) == 1 else 'one'} {wanted!r}"
    if len(found) != 1:
        yield containers.finding(f"has no container {wanted!r}", None, fix)
        return
    name = found[0]["name"]
    what = f"is not {wanted!r}, the container that a TrainJob is written into"
    yield name.finding(what, name.text() or None, fix, name.set_to(wanted))


REQUIRED_JOBS: Final = Rule(
    id="required-jobs",
    title="Runtimes must have the jobs and containers that TrainJobs fill in",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape", "mpi"),
    why=(
        "The trainer's admission rejects the runtime, or TrainJobs run without their image, "
        "command and number of nodes."
    ),
    fix="Name and label the jobs and containers as the catalog's runtimes do.",
    places=_places_of_jobs,
    check=_check_jobs,
    remediates=True,
)
"""Facts: reference behaviour 3.6, 4.5, 5.1 and 5.2: what the admission of runtimes and
TrainJobs demands, and the names by which MPI's plugin finds the launcher and the nodes.
"""


def _places_of_replicas(subject: Subject) -> Iterator[Value]:
    return subject.object.at(*jobs.IN_RUNTIME).items()


def _check_replicas(job: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    replicas = job["replicas"]
    if jobs.step_label(job).text() in CONTAINERS and replicas.number() not in {None, 1}:
        fix = "write 1: nodes are counted by mlPolicy.numNodes and spec.trainer.numNodes"
        what = f"must be 1 for a job with the label {names.ANCESTOR_LABEL}"
        yield replicas.finding(what, replicas.number(), fix, replicas.set_to(1))


JOB_REPLICAS: Final = Rule(
    id="job-replicas",
    title="A job that is a step of a TrainJob must have one replica",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape",),
    why="The trainer's admission rejects the runtime, and no TrainJob can use it.",
    fix="Write `replicas: 1` or leave it out; mlPolicy.numNodes sets the number of nodes.",
    places=_places_of_replicas,
    check=_check_replicas,
    remediates=True,
)


_TORCH: Final = "torch"
_TORCHTUNE: Final = "torchtune"
_NEEDS: Final = {
    _TORCH: _TORCH,
    _TORCHTUNE: _TORCH,
    "jax": "jax",
    "xgboost": "xgboost",
    "flux": "flux",
}
"""The policy without which a framework's processes do not find one another, by label.

Not `deepspeed` and `mlx`, which start with torchrun as well as with mpirun.
"""


def _check_label(runtime: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    label = runtime.at("metadata", "labels", names.FRAMEWORK_LABEL)
    policy, written = policy_variables.framework_of(runtime.at("spec", "mlPolicy")), label.text()
    if not written:
        framework = _framework(runtime, policy)
        others = "the framework, such as deepspeed or mlx" if policy else "plain, if it is of none"
        fix = f"write {framework or others}"
        patch = label.set_to(framework) if framework else ()
        yield label.finding("is missing: the SDK does not see the runtime", None, fix, patch)
    elif _NEEDS.get(written, policy) != policy:
        what = f"does not agree with the mlPolicy, which is {policy or 'of no framework'}"
        fix = f"write the framework of that policy, or set mlPolicy.{_NEEDS[written]}"
        yield label.finding(what, written, fix)


def _framework(runtime: Value, policy: str) -> str:
    """What the label must be; empty where the policy does not say it."""
    if policy != _TORCH:
        return policy if policy in _NEEDS else ""
    tunes = any(
        container["command"].texts()[: len(names.TUNE_RUN)] == names.TUNE_RUN
        for job in runtime.at(*jobs.IN_RUNTIME).items()
        for container in jobs.pod_spec(job)["containers"].items()
    )
    return _TORCHTUNE if tunes else _TORCH


FRAMEWORK_LABEL: Final = Rule(
    id="framework-label",
    title="A runtime's framework label must match its mlPolicy",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES,
    tags=("shape", "sdk"),
    why=(
        "The Kubeflow SDK skips a runtime without the label, and starts the wrong program if the "
        "label names another framework."
    ),
    fix="Set the label trainer.kubeflow.org/framework to the framework of the mlPolicy.",
    check=_check_label,
    remediates=True,
)


def _check_gang(runtime: Value, context: Context[Parameters]) -> Iterator[Finding]:
    volcano, coscheduling = (
        runtime.at("spec", "podGroupPolicy", each) for each in ("volcano", "coscheduling")
    )
    has_volcano, has_coscheduling = volcano.is_there(), coscheduling.is_there()
    if not (has_volcano or has_coscheduling):
        return
    if has_coscheduling and has_volcano:
        fix = "remove it or coscheduling: a pod has one scheduler"
        yield volcano.finding("stands beside coscheduling", None, fix)
    plugins = context.subject.behaviour.plugins
    scheduler = runtime.at("metadata", "annotations", names.SCHEDULER)
    chosen = by_annotation(plugins).get(scheduler.text())
    if chosen and chosen.makes_gang:
        what = "names a scheduler that makes the gang itself, and there is a podGroupPolicy"
        yield scheduler.finding(what, scheduler.text(), "remove one of them")
    gangs = {each.scheduler.scheduler_name for each in plugins if each.scheduler} - {""}
    wanted = volcano_plugin.SCHEDULER.scheduler_name if has_volcano else ""
    for pod in pods.pods_of(context.subject):
        named = pod.spec["schedulerName"]
        if named.text() and named.text() != wanted and (wanted or named.text() in gangs):
            what = f"is not {wanted}, which makes the gang" if wanted else "makes a gang itself"
            yield named.finding(what, named.text(), "name one scheduler in both places")


GANG_POLICY: Final = Rule(
    id="gang-policy",
    title="A runtime must use one gang scheduler",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape", "scheduling", "volcano"),
    why=(
        "Both schedulers create a PodGroup of the same name and wait for pods that the other one "
        "holds: nothing starts, or the gang is broken up."
    ),
    fix="Keep one of coscheduling, volcano and the scheduler annotation, and its schedulerName.",
    check=_check_gang,
)
