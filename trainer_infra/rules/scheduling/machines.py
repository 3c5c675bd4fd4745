"""The declared pools whose machines a pod may run on: by labels, taints, and by what it asks for."""

from collections.abc import Collection

from trainer_infra.rules.data import patches
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.scheduling import kueue, placement
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.rules.world import World


def tolerations(pod: Pod, subject: Subject, world: World) -> tuple[Value, ...] | None:
    """A pod's, with those that Kueue adds from any flavor; None where they are not all known.

    Raises:
        Unseen: One of them is not known.
    """
    patches.be_known(subject)
    own = placement.tolerations(pod.spec)
    if kueue.queue_name(subject) is None:
        return own
    flavors = kueue.flavors(subject, world)
    if flavors is None:
        return None
    added = (each for flavor in flavors for each in placement.tolerations(flavor.spec))
    return (*own, *added)


def usable(pod: Pod, asked: Collection[str], subject: Subject, world: World) -> tuple[Pool, ...]:
    """The pools that the pod selects and whose taints it tolerates.

    Raises:
        Unseen: It is not known.
    """
    pools = placement.selected(pod, world.pools)
    tolerated = tolerations(pod, subject, world)
    if tolerated is None:
        return pools
    return tuple(each for each in pools if placement.keeps_away(each, asked, tolerated) is None)
