"""Kueue's objects as rules read them: the queue that a job waits in, its groups and flavors.

Fields of v1beta1 and v1beta2, which name some of them differently (Kueue 0.19).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import lookup, node_constraints
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Taint
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.value import ABSENT, Root

HOSTNAME: Final = "kubernetes.io/hostname"
"""The level of a topology whose domains are single machines."""
DEFAULT_QUEUE: Final = "default"
"""The LocalQueue of jobs that name none (Kueue's LocalQueueDefaulting)."""
_NOTHING: Final = Value(ABSENT, Root())


@dataclass(frozen=True)
class Flavor:
    """A flavor of a resource group; what is read of it is kept for all jobs of its queue."""

    quotas: Value
    """What the group says of it: `name`, and `resources` with their quotas."""
    name: str
    """The name of its ResourceFlavor."""
    subject: Subject | None
    """Its ResourceFlavor; None where that is not known."""

    @property
    def spec(self) -> Value:
        """The ResourceFlavor's spec; absent where that is not known."""
        return _NOTHING if self.subject is None else self.subject.object["spec"]

    @cached_property
    def labels(self) -> dict[str, str]:
        """Labels of its machines."""
        written = self.spec["nodeLabels"]
        written.is_there()
        return {key: each.text() for key, each in written.fields()}

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Taints of its machines."""
        return tuple(taint(each) for each in lookup.items(self.spec["nodeTaints"]))

    @cached_property
    def tolerations(self) -> tuple[Value, ...]:
        """What it gives the pods that it takes."""
        return node_constraints.tolerations_of(self.spec)

    def selected(self, pod: Pod) -> bool:
        """Whether its labels are those that a pod asks for; Kueue ignores other labels."""
        return node_constraints.allows_labels(pod.spec, self.labels, self.labels)

    def keeps_away(self, pod: Pod) -> Taint | None:
        """The taint that neither the pod nor the flavor itself tolerates."""
        own = node_constraints.tolerations_of(pod.spec)
        return node_constraints.untolerated_taint(self.taints, (*own, *self.tolerations))


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group of a ClusterQueue: a pod takes all its resources from one flavor."""

    covered: tuple[str, ...]
    """Resources."""
    flavors: tuple[Flavor, ...]
    """Flavors, in the order in which they are tried."""


def taint(value: Value) -> Taint:
    """A taint as it is written."""
    key, text, effect = (value[each].text() for each in ("key", "value", "effect"))
    return Taint(key=key, value=text, effect=effect)


def is_of_kueue(subject: Subject) -> bool:
    """Whether it is an object of Kueue; other groups have kinds of the same names."""
    return subject.api_version.partition("/")[0] in ("", names.KUEUE_GROUP)


def queue_name(subject: Subject) -> Value | None:
    """Where a job names its LocalQueue; None where Kueue has no part in it."""
    label = _label(subject.object)
    if label.is_there():
        return label
    for each in subject.rendered_of(names.JOBSET):
        if _label(each).is_there():
            own = subject.object.at("metadata", "annotations", names.QUEUE)
            return own if own.is_there() else _label(each)
    return None


def local_queue(subject: Subject, world: World) -> Subject | None:
    """The LocalQueue that a job waits in; None where it is not known.

    Kueue puts a job that names none into the one called `default`, where its namespace has that.
    """
    name = queue_name(subject)
    if name is None and not subject.namespace:
        return None
    wanted = DEFAULT_QUEUE if name is None else name.text()
    return lookup.find_object(world, names.LOCAL_QUEUE, wanted, subject.namespace)


def cluster_queue(subject: Subject, world: World) -> Subject | None:
    """The ClusterQueue that a job waits for; None where it is not known."""
    queue = local_queue(subject, world)
    if queue is None:
        return None
    wanted = queue.object.at("spec", "clusterQueue").text()
    return lookup.find_object(world, names.CLUSTER_QUEUE, wanted)


def groups(queue: Subject, world: World) -> tuple[Group, ...]:
    """The resource groups of a ClusterQueue or Cohort."""
    return world.once(_groups, queue.object)


def quotas(subject: Subject) -> Iterator[tuple[Value, Value]]:
    """Each resource group of a ClusterQueue or Cohort that is known, with each of its flavors."""
    for group in subject.object.at("spec", "resourceGroups").items():
        yield from ((group, flavor) for flavor in group["flavors"].items())


def topology_levels(flavor: Flavor, world: World) -> tuple[str, ...] | None:
    """Labels of the levels of a flavor's Topology; None where it names none that is known."""
    name = flavor.spec["topologyName"].text()
    topology = lookup.find_object(world, names.KUEUE_TOPOLOGY, name) if name else None
    if topology is None:
        return None
    levels = lookup.items(topology.object.at("spec", "levels"))
    return tuple(level["nodeLabel"].text() for level in levels)


def flavors(subject: Subject, world: World) -> tuple[Flavor, ...] | None:
    """All flavors that a job may get; None where they are not all known."""
    queue = cluster_queue(subject, world)
    if queue is None:
        return None
    found = tuple(flavor for group in groups(queue, world) for flavor in group.flavors)
    return found if all(each.subject is not None for each in found) else None


def usable_flavors(group: Group, pod: Pod) -> Sequence[Flavor]:
    """The flavors of a group that a pod may get."""
    return tuple(each for each in group.flavors if each.selected(pod) and not each.keeps_away(pod))


def _label(value: Value) -> Value:
    return value.at("metadata", "labels", names.KUEUE_QUEUE_LABEL)


def _groups(world: World, queue: Value) -> tuple[Group, ...]:
    return tuple(
        Group(
            tuple(name.text() for name in lookup.items(each["coveredResources"])),
            tuple(_flavor(quotas, world) for quotas in lookup.items(each["flavors"])),
        )
        for each in lookup.items(queue.at("spec", "resourceGroups"))
    )


def _flavor(quotas: Value, world: World) -> Flavor:
    name = quotas["name"].text()
    return Flavor(quotas, name, lookup.find_object(world, names.RESOURCE_FLAVOR, name))


def cohort(subject: Subject) -> Value:
    """Where a ClusterQueue or a Cohort names the Cohort above it."""
    spec = subject.object["spec"]
    if subject.kind == names.COHORT:
        return spec["parentName"] if spec["parentName"].is_there() else spec["parent"]
    return spec["cohortName"] if spec["cohortName"].is_there() else spec["cohort"]


def members(world: World) -> Iterator[Subject]:
    """All that can be in a cohort."""
    yield from lookup.all_of(world, names.COHORT)
    yield from lookup.all_of(world, names.CLUSTER_QUEUE)
