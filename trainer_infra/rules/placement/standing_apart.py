"""Pods that must not share a machine, or a domain of machines: how many find place that way.

Forms: required podAntiAffinity that selects the pod itself, topologySpreadConstraints with minDomains,
ports of the host, and JobSet's exclusive topology. Machines are those of declared pools.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import lookup, node_constraints, queue_objects
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Subject, Value

_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_OF_ONE_POD: Final = (names.COMPLETION_INDEX, "apps.kubernetes.io/pod-index")
"""Labels in which the pods of a Job differ."""
_OF_ONE_JOB: Final = (
    *(names.JOB_NAME_LABEL, names.JOB_NAME_OLD_LABEL, names.JOB_INDEX_LABEL, names.JOB_KEY_LABEL),
    *(names.JOB_GLOBAL_INDEX_LABEL, "batch.kubernetes.io/controller-uid", "controller-uid"),
)
"""Labels in which the Jobs of a replicated job differ."""
Apart = tuple[str, int, str]
"""The label of a domain, how many pods one may have, and why."""


def most_apart(pod: Pod, pools: Sequence[Pool], subject: Subject) -> tuple[int, str] | None:
    """The most pods that can stand as far apart as they must, and why they must; None without a bound."""
    found = []
    for key, most, why in (*_apart(pod, subject), *_spread(pod, pools, subject)):
        count = _domains(key, pools)
        if count is not None:
            found.append((count * most, why))
    return min(found, default=None)


def _domains(key: str, pools: Sequence[Pool]) -> int | None:
    """How many domains of that label the machines are in; None where that is not declared."""
    if key == queue_objects.HOSTNAME:
        return sum(each.nodes for each in pools)
    values = [each.labels.get(key) for each in pools]
    return None if None in values or not values else len({*values})


def _apart(pod: Pod, subject: Subject) -> Iterator[Apart]:
    for each in lookup.items(pod.spec.at("affinity", "podAntiAffinity", _REQUIRED)):
        key = each["topologyKey"].text()
        if _selects_itself(each, pod, subject):
            yield key, 1, f"their podAntiAffinity wants {key} to differ"
    if _takes_port(pod):
        yield queue_objects.HOSTNAME, 1, "their host port is free once on each machine"
    exclusive = (
        each.at("metadata", "annotations", _EXCLUSIVE)
        for each in (subject.object, *subject.rendered_of(names.JOBSET), pod.job["template"])
    )
    parallelism = pod.job_spec["parallelism"].number() or 1
    for each in exclusive:
        if each.is_there():
            yield each.text(), parallelism, f"each Job has a {each.text()} of its own"


def _spread(pod: Pod, pools: Sequence[Pool], subject: Subject) -> Iterator[Apart]:
    """Spreads over more domains than there are: Kubernetes then lets each have maxSkew pods."""
    for each in lookup.items(pod.spec["topologySpreadConstraints"]):
        key, least = each["topologyKey"].text(), each["minDomains"].number()
        count = _domains(key, pools)
        is_hard = each["whenUnsatisfiable"].text() == "DoNotSchedule"
        if is_hard and least and count and count < least and _selects_itself(each, pod, subject):
            yield key, each["maxSkew"].number() or 1, f"minDomains wants {least} of {key}"


def _takes_port(pod: Pod) -> bool:
    """Whether a pod takes a port of its machine; with hostNetwork each port is one."""
    field = "containerPort" if pod.spec["hostNetwork"].flag() else "hostPort"
    sidecars = pod.spec["initContainers"].items()
    stay = [each for each in sidecars if each["restartPolicy"].text() == "Always"]
    stay += pod.spec["containers"].items()
    return any(port[field].number() for each in stay for port in each["ports"].items())


def _selects_itself(term: Value, pod: Pod, subject: Subject) -> bool:
    """Whether a term is surely about all pods of the replicated job together."""
    selector, mine = term["labelSelector"], subject.namespace
    spaces = [each.text() for each in lookup.items(term["namespaces"])]
    if not selector.is_there() or term["mismatchLabelKeys"].is_there():
        return False
    if term["namespaceSelector"].is_there() or (spaces and mine not in spaces):
        return False
    keys = {key for key, _ in selector["matchLabels"].fields()}
    keys |= {each["key"].text() for each in lookup.items(selector["matchExpressions"])}
    keys |= {each.text() for each in lookup.items(term["matchLabelKeys"])}
    several = (pod.job["replicas"].number() or 1) > 1
    if keys.intersection(_OF_ONE_POD) or (several and keys.intersection(_OF_ONE_JOB)):
        return False
    return node_constraints.selects(selector, _labels(pod, subject))


def _labels(pod: Pod, subject: Subject) -> dict[str, str]:
    """A pod's labels, with those that JobSet and the Job controller add."""
    subject.object.at("metadata", "name").is_there()
    job = f"{subject.name}-{pod.name()}-0"
    return lookup.labels_of(pod.template) | {
        names.JOBSET_NAME_LABEL: subject.name,
        names.REPLICATED_JOB_LABEL: pod.name(),
        names.JOB_NAME_LABEL: job,
        names.JOB_NAME_OLD_LABEL: job,
        names.JOB_INDEX_LABEL: "0",
    }
