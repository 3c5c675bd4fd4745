"""Objects that jobs and queues name: they exist, as far as `lookup` can say that, and let jobs in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.render.plugins import volcano
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, node_constraints, queue_objects
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.scheduling import quota_fits
from trainer_infra.rules.world import NOWHERE, World


@dataclass(frozen=True, slots=True)
class NamedObject:
    """A place that names another object."""

    value: Value
    """The name."""
    kind: str


_NAMED: Final = {
    names.LOCAL_QUEUE: ("clusterQueue", names.CLUSTER_QUEUE),
    names.RESOURCE_FLAVOR: ("topologyName", names.KUEUE_TOPOLOGY),
}
"""The field of a spec that names one other object, and the kind of that."""
_JOBS: Final = pods.WORKLOADS - names.RUNTIMES
_CLUSTER, _CLUSTERS, _PROVISIONING = names.CHECK_CONFIGS
_MULTIKUEUE: Final = f"{names.KUEUE_GROUP}/multikueue"
_STOPPED: Final = ("Hold", "HoldAndDrain")
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""A label that each Namespace has."""
_LENT: Final = ("nominalQuota", "lendingLimit")
_NOTHING: Final = (0, "0")
"""Amounts of which nothing can be lent."""
Place: TypeAlias = NamedObject | Subject
"""A reference, or the object as a whole."""


def _places_of_chain(subject: Subject) -> Iterator[Place]:
    yield subject
    spec = subject.object["spec"]
    if subject.kind in _NAMED:
        field, kind = _NAMED[subject.kind]
        yield NamedObject(spec[field], kind)
    if subject.kind in (names.CLUSTER_QUEUE, names.COHORT):
        for _, flavor in queue_objects.quotas(subject):
            yield NamedObject(flavor["name"], names.RESOURCE_FLAVOR)
    yield from _of_checks(subject.kind, spec)


def _of_checks(kind: str, spec: Value) -> Iterator[NamedObject]:
    if kind == names.CLUSTER_QUEUE:
        strategy = spec.at("admissionChecksStrategy", "admissionChecks")
        old = spec["admissionChecks"].items()
        for name in (*old, *(each["name"] for each in strategy.items())):
            yield NamedObject(name, names.ADMISSION_CHECK)
    elif kind == names.ADMISSION_CHECK:
        given, wanted = (spec.at("parameters", each) for each in ("name", "kind"))
        if wanted.text() in (_CLUSTERS, _PROVISIONING):
            yield NamedObject(given, wanted.text())
    elif kind == _CLUSTERS:
        yield from (NamedObject(each, _CLUSTER) for each in spec["clusters"].items())


def _check_chain(place: Place, context: Context[Parameters]) -> Iterator[Finding]:
    if isinstance(place, NamedObject):
        yield from _of_reference(place.value, place.kind, NOWHERE, context)
    elif place.kind in _JOBS:
        yield from _of_job(place, context)
    elif place.kind == names.CLUSTER_QUEUE:
        selector = place.object.at("spec", "namespaceSelector")
        if not selector.is_there() and not _only_lends(place, context.world):
            what = "is missing, which lets the jobs of no namespace in"
            yield selector.finding(what, fix="write {} for all namespaces, or select some by label")
    elif place.kind == names.COHORT and _goes_round(place, context.world):
        what = "makes cohorts go round in a circle, which stops all their queues"
        above = queue_objects.cohort(place)
        yield above.finding(what, above.text(), "name a cohort that is not below this one")


def _only_lends(queue: Subject, world: World) -> bool:
    """Whether jobs come to a ClusterQueue's quota through its cohort alone: it needs no namespaces."""
    queues = lookup.all_of(world, names.LOCAL_QUEUE)
    takes = any(each.object.at("spec", "clusterQueue").text() == queue.name for each in queues)
    if takes or not queue_objects.cohort(queue).text():
        return False
    lent = (
        resource
        for group in lookup.items(queue.object.at("spec", "resourceGroups"))
        for flavor in lookup.items(group["flavors"])
        for resource in lookup.items(flavor["resources"])
    )
    return any(all(each[key].raw not in _NOTHING for key in _LENT) for each in lent)


def _of_job(job: Subject, context: Context[Parameters]) -> Iterator[Finding]:
    name, manager = queue_objects.queue_name(job), job.object.at("spec", "managedBy")
    if name is not None:
        queue = queue_objects.local_queue(job, context.world)
        if queue is None:
            yield from _of_reference(name, names.LOCAL_QUEUE, job.namespace, context)
        else:
            yield from _takes_jobs(name, queue, job, context.world)
    elif manager.text() == _MULTIKUEUE:
        kind, default = names.LOCAL_QUEUE, queue_objects.DEFAULT_QUEUE
        if lookup.fix_of_missing(context.world, kind, default, job.namespace):
            what = "leaves the job to MultiKueue, which takes none without a queue"
            fix = f"add the label {names.KUEUE_QUEUE_LABEL}, or remove it"
            yield manager.finding(what, manager.text(), fix)
    for other, kind in job.once(quota_fits.other_queues):
        if other.text() not in quota_fits.BUILT_IN:
            yield from _of_reference(other, kind, NOWHERE, context)


def _takes_jobs(name: Value, local: Subject, job: Subject, world: World) -> Iterator[Finding]:
    """The queue and its ClusterQueue are not stopped, and let the job's namespace in."""
    queue = queue_objects.cluster_queue(job, world)
    for each in (local,) if queue is None else (local, queue):
        policy = each.object.at("spec", "stopPolicy").text()
        if policy in _STOPPED:
            what = f"leads to {each.kind} {each.name}, which is stopped by its stopPolicy {policy}"
            yield name.finding(what, name.text(), "name another queue, or set stopPolicy to None")
            return
    if queue is not None and not _lets_in(queue.object.at("spec", "namespaceSelector"), job, world):
        what = f"leads to ClusterQueue {queue.name}, whose namespaceSelector excludes namespace {job.namespace}"
        yield name.finding(what, name.text(), "label the Namespace, or name another queue")


def _lets_in(selector: Value, job: Subject, world: World) -> bool:
    """Whether a ClusterQueue may take jobs of a namespace: what is not known of its labels may fit."""
    keys = {key for key, _ in selector["matchLabels"].fields()}
    keys |= {each["key"].text() for each in lookup.items(selector["matchExpressions"])}
    namespace = lookup.find_object(world, names.NAMESPACE, job.namespace) if job.namespace else None
    if not job.namespace or (namespace is None and keys - {_NAMESPACE_LABEL}):
        return True
    own = {} if namespace is None else lookup.labels_of(namespace.object)
    return node_constraints.selects(selector, own | {_NAMESPACE_LABEL: job.namespace})


def _goes_round(cohort: Subject, world: World) -> bool:
    """Whether the cohorts above one go round in a circle."""
    seen = {cohort.name}
    here: Subject | None = cohort
    while here is not None and (name := queue_objects.cohort(here).text()):
        if name in seen:
            return True
        seen.add(name)
        here = lookup.find_object(world, names.COHORT, name)
    return False


def _of_reference(
    value: Value, kind: str, namespace: str, context: Context[Parameters]
) -> Iterator[Finding]:
    name = value.text()
    fix = lookup.fix_of_missing(context.world, kind, name, namespace) if name else None
    if fix is not None:
        where = f" in namespace {namespace}" if namespace else ""
        article = "an" if kind.startswith("A") else "a"
        yield value.finding(f"names {article} {kind} that does not exist{where}", name, fix)


QUEUE_CHAIN: Final = Rule(
    id="queue-chain",
    title="Queues, and the objects they refer to, must exist and take the job",
    severity=Severity.HIGH,
    kinds=frozenset(
        (
            *_JOBS,
            *(names.LOCAL_QUEUE, names.CLUSTER_QUEUE, names.RESOURCE_FLAVOR, names.COHORT),
            *(names.ADMISSION_CHECK, _CLUSTERS),
        )
    ),
    tags=("scheduling", "kueue", "volcano"),
    why=(
        "A job stays suspended, with no explanation in its own status, as long as anything between "
        "it and the quota is missing, stopped, or closed to its namespace."
    ),
    fix="Correct the name, add the object, or open the queue.",
    places=_places_of_chain,
    check=_check_chain,
    looks_around=True,
)
"""Cohorts need no object of their own: they must only not be above themselves."""


def _places_of_class(subject: Subject) -> Iterator[NamedObject]:
    for each in (subject.object, *subject.rendered_of(names.JOBSET)):
        label = each.at("metadata", "labels", names.KUEUE_PRIORITY_LABEL)
        yield NamedObject(label, names.WORKLOAD_PRIORITY_CLASS)
    if subject.kind == "Job":
        # Volcano's names one for all its pods.
        yield NamedObject(subject.object.at("spec", "priorityClassName"), names.PRIORITY_CLASS)
    for pod in pods.pods_of(subject):
        yield NamedObject(pod.spec["priorityClassName"], names.PRIORITY_CLASS)


def _check_class(place: NamedObject, context: Context[Parameters]) -> Iterator[Finding]:
    is_of_pods = place.kind == names.PRIORITY_CLASS
    if is_of_pods and place.value.text() in volcano.BUILT_IN:
        # A pod by itself may be one of the cluster's own.
        if context.subject.kind in pods.COMPUTING - {"Pod"}:
            what = "is for what the cluster needs itself: for such a pod all others are evicted"
            yield place.value.finding(what, place.value.text(), "name a class of your own")
    else:
        yield from _of_reference(place.value, place.kind, NOWHERE, context)


PRIORITY_CLASS: Final = Rule(
    id="priority-class",
    title="Priority classes must exist, and must not be those of the cluster itself",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS,
    tags=("scheduling", "kueue"),
    why=(
        "Without the class Kueue does not admit the job, or Kubernetes creates none of its pods; with one "
        "of the cluster's own a job evicts what the cluster runs on."
    ),
    fix="Name a class that exists and is meant for jobs, or add it.",
    places=_places_of_class,
    check=_check_class,
    looks_around=True,
)
"""Kueue's label names a WorkloadPriorityClass: without it Kueue makes no Workload. A pod's
priorityClassName names a PriorityClass, without which no pod is made. Two are in every cluster, for its own.
"""


_NAMESPACES_OF_EVERY_CLUSTER: Final = (
    *(names.DEFAULT_NAMESPACE, "kube-system", "kube-public", "kube-node-lease"),
)


def _check_namespace(place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    namespace = place.at("metadata", "namespace")
    name = namespace.text()
    if not name or name in _NAMESPACES_OF_EVERY_CLUSTER:
        return
    fix = lookup.fix_of_missing(context.world, names.NAMESPACE, name)
    if fix is not None:
        yield namespace.finding("is a namespace that does not exist", name, fix)


NAMESPACE_EXISTS: Final = Rule(
    id="namespace-exists",
    title="Namespaces of jobs and queues must exist",
    severity=Severity.MEDIUM,
    kinds=frozenset((names.TRAIN_JOB, names.TRAINING_RUNTIME, names.JOBSET, names.LOCAL_QUEUE)),
    tags=("scheduling",),
    why="The API server rejects the object.",
    fix="Correct the name, or add the Namespace.",
    check=_check_namespace,
    looks_around=True,
)
"""Namespaces may well be kept in several trees, so this alone fails no check of the pack `training`.
Four are in every cluster.
"""
