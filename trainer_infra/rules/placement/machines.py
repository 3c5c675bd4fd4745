"""The declared pools whose machines take a pod: by labels, taints, and by what it asks for.

Pools may leave out resources that their machines have, but not accelerators.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from trainer_infra import names
from trainer_infra.catalog import accelerators as known
from trainer_infra.rules.placement import amounts, node_constraints, patches, queue_objects
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import Subject, Value, World


def amount(pool: Pool, resource: str, among: Sequence[Pool]) -> int | None:
    """What one machine of a pool has, in billionths; None where it is not declared.

    It has none of a device that another pool declares.
    """
    if resource in pool.capacity:
        return max(0, int(pool.amount(resource) * amounts.ONE))
    is_device = "/" in resource and any(resource in each.capacity for each in among)
    return 0 if is_device or amounts.is_accelerator(resource) else None


def amount_of_all(pools: Iterable[Pool], resource: str, among: Sequence[Pool]) -> int | None:
    """What all machines of the pools have, in billionths; None where one does not declare it."""
    found = [(pool.nodes, amount(pool, resource, among)) for pool in pools]
    known = [nodes * each for nodes, each in found if each is not None]
    return sum(known) if len(known) == len(found) else None


def lacking_resources(
    pool: Pool, asked: Mapping[str, int], among: Sequence[Pool]
) -> tuple[str, ...]:
    """Resources of which a pod asks for more than a machine of a pool has."""
    found = ((name, each, amount(pool, name, among)) for name, each in asked.items())
    return tuple(name for name, each, most in found if most is not None and each > most)


def per_machine(pool: Pool, asked: Mapping[str, int], among: Sequence[Pool]) -> int | None:
    """How many such pods one machine takes; None where nothing that is declared limits it."""
    found = ((each, amount(pool, name, among)) for name, each in asked.items())
    return min((most // each for each, most in found if most is not None), default=None)


def tolerations(pod: Pod, subject: Subject, world: World) -> tuple[Value, ...] | None:
    """A pod's, with those that Kueue adds from any flavor; None where they are not all known."""
    patches.be_known(subject)
    own = node_constraints.tolerations_of(pod.spec)
    is_queued = queue_objects.queue_name(subject) is not None
    if not is_queued and queue_objects.local_queue(subject, world) is None:
        return own
    flavors = queue_objects.flavors(subject, world)
    if flavors is None:
        return None
    added = (each for flavor in flavors for each in flavor.tolerations)
    return (*own, *added)


def usable_pools(
    pod: Pod, asked: Collection[str], subject: Subject, world: World
) -> tuple[Pool, ...]:
    """The pools that the pod selects and whose taints it tolerates."""
    pools = node_constraints.selected_pools(pod, world.pools)
    tolerated = tolerations(pod, subject, world) if pools else None
    if tolerated is None:
        return pools
    return tuple(
        each for each in pools if node_constraints.keeps_away(each, asked, tolerated) is None
    )


def with_accelerators(pools: Sequence[Pool], asked: Mapping[str, int]) -> tuple[Pool, ...]:
    """The pools that have some of each kind of accelerator that is asked for."""
    wanted = [each for each in asked if amounts.is_accelerator(each)]
    return tuple(pool for pool in pools if all(amount(pool, each, pools) for each in wanted))


def accelerators(pod: Pod, subject: Subject, world: World) -> tuple[str, ...]:
    """What a pod's accelerators may be called; none where that is not known.

    The pools that it may run on say it where all do; else a label that it asks for, or that all
    flavors of its queue have.
    """
    asked = amounts.amounts_of(pod, subject)
    found = with_accelerators(usable_pools(pod, asked, subject, world), asked)
    named = [each.accelerator for each in found if each.accelerator is not None]
    if named and len(named) == len(found):
        return tuple(dict.fromkeys(known.accelerator_called(each) for each in named))
    wanted = [
        each.values
        for each in node_constraints.wanted_labels(pod.spec)
        if each.key in names.ACCELERATOR_LABELS and each.values
    ]
    if wanted:
        return tuple(dict.fromkeys(map(known.accelerator_called, sorted(wanted[0]))))
    queue = queue_objects.cluster_queue(subject, world)
    groups = () if queue is None else queue_objects.groups(queue, world)
    chosen = [
        _accelerator(flavor.labels)
        for group in groups
        if any(amounts.is_accelerator(each) and each in asked for each in group.covered)
        for flavor in group.flavors
        if flavor.selected(pod)
    ]
    return tuple(dict.fromkeys(chosen)) if all(chosen) else ()


def _accelerator(labels: Mapping[str, str]) -> str:
    """What a flavor's machines have by their labels; empty where they do not say it."""
    found = (labels.get(key, "") for key in names.ACCELERATOR_LABELS)
    return next((known.accelerator_called(each) for each in found if each), "")
