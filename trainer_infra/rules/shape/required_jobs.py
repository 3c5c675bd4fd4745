"""required-jobs: a runtime has the jobs and containers that TrainJobs are written into.

Facts: reference behaviour 3.6, 4.5, 5.1 and 5.2: what the admission of runtimes and
TrainJobs demands, and the names by which MPI's plugin finds the launcher and the nodes.
"""

from collections.abc import Callable, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs

Part = Callable[[Value, Value], Iterator[Finding]]
"""One demand: of a replicated job or of the list of all, given the mlPolicy."""


def _places(subject: Subject) -> Iterator[tuple[Part, Value]]:
    found = subject.object.at(*jobs.IN_RUNTIME)
    yield from ((part, found) for part in (_trains, _has_launcher, _has_nodes))
    for job in found.items():
        yield _is_labelled, job
        yield _has_container, job


def _check(place: tuple[Part, Value], context: Context[Parameters]) -> Iterator[Finding]:
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
    job = jobs.item_named(found, usual)
    what = "has no job that trains" if job is None else "is missing: no job is the one that trains"
    place = found if job is None else jobs.step_label(job)
    fix = f"set the label {names.ANCESTOR_LABEL}: {names.TRAINER} on the job that trains"
    yield place.finding(what, None, fix, () if job is None else place.set_to(names.TRAINER))


def _has_launcher(found: Value, policy: Value) -> Iterator[Finding]:
    if policy["mpi"].is_there():
        yield from _of_name(found, names.LAUNCHER, "it gets the hostfile and starts the processes")


def _has_nodes(found: Value, policy: Value) -> Iterator[Finding]:
    mpi = policy["mpi"]
    if mpi.is_there() and not mpi["runLauncherAsNode"].flag():
        yield from _of_name(found, names.NODE, "its pods are the lines of the hostfile")


def _of_name(found: Value, name: str, why: str) -> Iterator[Finding]:
    """MPI's job of that name is there; the one other job is taken for a misnamed one."""
    if not found.is_there() or jobs.item_named(found, name) is not None:
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
    wanted = jobs.CONTAINERS.get(jobs.step_label(job).text(), "")
    if not wanted and policy["mpi"].is_there() and job["name"].text() == names.NODE:
        wanted = names.NODE
    containers = jobs.pod_spec(job)["containers"]
    if not wanted or jobs.item_named(containers, wanted) is not None:
        return
    found = tuple(containers.items()) if containers.is_there() else ()
    fix = f"name {'it' if len(found) == 1 else 'one'} {wanted!r}"
    if len(found) != 1:
        yield containers.finding(f"has no container {wanted!r}", None, fix)
        return
    name = found[0]["name"]
    what = f"is not {wanted!r}, the container that a TrainJob is written into"
    yield name.finding(what, name.text() or None, fix, name.set_to(wanted))


RULE: Final = Rule(
    id="required-jobs",
    title="Runtimes have the jobs and containers that TrainJobs are written into",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape", "mpi"),
    why=(
        "The admission of the trainer refuses the runtime, or TrainJobs run without their image, "
        "their command and their nodes."
    ),
    fix="Name and label the jobs and containers as the shipped runtimes of the catalog do.",
    places=_places,
    check=_check,
    remediates=True,
)
