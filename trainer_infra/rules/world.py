"""What else there is beside the object that is judged: rules of several objects look here.

Made once for a check, of all objects in a tree, a stack or a cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.rules.pool import Pool
from trainer_infra.rules.subject import Subject

NOWHERE: Final = ""


@dataclass(frozen=True, slots=True)
class World:
    """All objects that are known."""

    subjects: Mapping[tuple[str, str, str], Subject] = field(default_factory=dict)
    """By kind, namespace and name; the namespace of cluster-scoped ones is empty."""
    pools: tuple[Pool, ...] = ()
    """The machines that there are; none where nobody declared any."""
    is_whole: bool = False
    """Whether what is not here is nowhere: a cluster was read, or the user says so."""

    def of_kind(self, kind: str, namespace: str | None = None) -> Iterator[Subject]:
        """The objects of a kind; of one namespace where that is given."""
        for (each, where, _), subject in self.subjects.items():
            if each == kind and namespace in (None, where):
                yield subject

    def get(self, kind: str, name: str, namespace: str = NOWHERE) -> Subject | None:
        """The object of that name; None where there is none."""
        return self.subjects.get((kind, namespace, name))


def of(subjects: Iterable[Subject], pools: Iterable[Pool] = (), *, is_whole: bool = False) -> World:
    """The world of these objects; of two with one name the last."""
    named = {(each.kind, each.namespace, each.name): each for each in subjects}
    return World(named, tuple(pools), is_whole)
