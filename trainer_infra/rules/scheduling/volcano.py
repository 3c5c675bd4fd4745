"""Volcano's queue of a job, and what its PodGroup asks of it (scheduling.volcano.sh/v1beta1)."""

from typing import Final

from trainer_infra import names
from trainer_infra.rules.placement import amounts, lookup
from trainer_infra.rules.rule import Subject, Value, World
from trainer_infra.rules.scheduling.shortage import Shortage

BUILT_IN: Final = ("default", "root")
"""Queues that Volcano makes itself."""


def queue_name(subject: Subject) -> Value | None:
    """Where a job names its queue; None where it names none.

    Raises:
        UnseenValue: It is not known whether it does.
    """
    own = (subject.object,) if subject.kind == names.JOBSET else ()
    jobsets: tuple[Value, ...] = (*own, *subject.rendered_of(names.JOBSET))
    for each in jobsets:
        name = each.at("metadata", "annotations", names.VOLCANO_QUEUE_ANNOTATION)
        if name.is_there():
            return name
    return None


def shortage(subject: Subject, world: World) -> Shortage | None:
    """What the PodGroup that a TrainJob renders to needs beyond its queue's capability.

    Raises:
        UnseenValue: Something of it is not known.
    """
    name = queue_name(subject)
    queue = None if name is None else lookup.find_object(world, names.VOLCANO_QUEUE, name.text())
    if queue is None:
        return None
    found = (_beyond(each, queue) for each in subject.rendered_of(names.POD_GROUP))
    return next((each for each in found if each is not None), None)


def _beyond(pod_group: Value, queue: Subject) -> Shortage | None:
    """The first resource of which there is too little; what a queue does not cap has no limit."""
    for resource, each in pod_group.at("spec", "minResources").fields():
        asked = amounts.read_amount(each)
        room = amounts.read_amount(queue.object.at("spec", "capability", resource))
        if asked is not None and room is not None and asked > room:
            limit = (
                f"Volcano's queue {queue.name} is capped at {amounts.amount_text(resource, room)}"
            )
            return Shortage(resource, asked, room, limit)
    return None
