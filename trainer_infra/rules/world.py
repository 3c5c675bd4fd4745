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

    subjects: Mapping[tuple[str, str, str], tuple[Subject, ...]] = field(default_factory=dict)
    """By kind, namespace and name; the namespace of cluster-scoped ones is empty. Kinds of several
    API groups may have one name."""
    pools: tuple[Pool, ...] = ()
    """The machines that there are; none where nobody declared any."""
    is_whole: bool = False
    """Whether what is not here is nowhere: a cluster was read, or the user says so."""
    _kinds: Mapping[str, tuple[tuple[str, Subject], ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Namespaces and subjects by kind."""

    def __post_init__(self) -> None:
        """Sorts the subjects by kind: rules ask for all of a kind once for each object."""
        found: dict[str, list[tuple[str, Subject]]] = {}
        for (kind, namespace, _), subjects in self.subjects.items():
            found.setdefault(kind, []).extend((namespace, each) for each in subjects)
        object.__setattr__(self, "_kinds", {kind: tuple(each) for kind, each in found.items()})

    def of_kind(self, kind: str, namespace: str | None = None) -> Iterator[Subject]:
        """The objects of a kind; of one namespace where that is given."""
        for where, each in self._kinds.get(kind, ()):
            if namespace in (None, where):
                yield each

    def get(self, kind: str, name: str, namespace: str = NOWHERE) -> Subject | None:
        """The object of that name, the first one of several API groups; None where there is none."""
        return next(iter(self.subjects.get((kind, namespace, name), ())), None)


def of(subjects: Iterable[Subject], pools: Iterable[Pool] = (), *, is_whole: bool = False) -> World:
    """The world of these objects; of two with one kind and name the last."""
    named: dict[tuple[str, str, str], dict[str, Subject]] = {}
    for each in subjects:
        group = each.api_version.partition("/")[0]
        named.setdefault((each.kind, each.namespace, each.name), {})[group] = each
    found = {key: tuple(groups.values()) for key, groups in named.items()}
    return World(found, tuple(pools), is_whole)
