"""What else there is beside the object that is judged: rules of several objects look here.

Made once for a check, of all objects in a tree, a stack or a cluster.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, TypeVarTuple

from trainer_infra.rules.pool import Pool
from trainer_infra.rules.subject import Subject

T = TypeVar("T")
Given = TypeVarTuple("Given")
NOWHERE: Final = ""
NOTHING_RENAMED: Final[Mapping[tuple[str, str, str], str]] = {}


@dataclass(frozen=True, slots=True)
class World:
    """All objects that are known."""

    subjects: Mapping[tuple[str, str, str], tuple[Subject, ...]] = field(default_factory=dict)
    """By kind, namespace and name; the namespace of cluster-scoped ones is empty. Kinds of several
    API groups may have one name."""
    pools: tuple[Pool, ...] = ()
    """The machines that there are; none where none is declared."""
    is_whole: bool = False
    """Whether what is not here is nowhere: a cluster was read, or the user says so."""
    repeated: frozenset[tuple[str, str, str, str]] = frozenset()
    """API group, kind, namespace and name of what is written more than once."""
    renamed: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    """What a tool calls an object, by its kind, its namespace and the name that it is written with."""
    _sorted: Mapping[tuple[str, str | None, str | None], tuple[Subject, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By kind alone, by kind and namespace, and by kind and name."""
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sorts the subjects: rules ask for all of a kind once for each object."""
        found: dict[tuple[str, str | None, str | None], list[Subject]] = {}
        for (kind, namespace, name), subjects in self.subjects.items():
            for key in ((kind, None, None), (kind, namespace, None), (kind, None, name)):
                found.setdefault(key, []).extend(subjects)
        object.__setattr__(self, "_sorted", {key: tuple(each) for key, each in found.items()})

    def of_kind(self, kind: str, namespace: str | None = None) -> tuple[Subject, ...]:
        """The objects of a kind; of one namespace where that is given."""
        return self._sorted.get((kind, namespace, None), ())

    def named(self, kind: str, name: str, namespace: str | None = None) -> tuple[Subject, ...]:
        """The objects of that name, in any namespace or that one; of several API groups.

        Those whose name is not known have an empty one.
        """
        if namespace is None:
            return self._sorted.get((kind, None, name), ())
        return self.subjects.get((kind, namespace, name), ())

    def is_repeated(self, subject: Subject) -> bool:
        """Whether another object of its kind and name is written besides it."""
        if not self.repeated:
            return False
        key = (_group(subject), subject.kind, subject.namespace, subject.name)
        return bool(subject.name) and key in self.repeated

    def once(self, find: Callable[["World", *Given], T], *given: *Given) -> T:
        """What a function finds in this world, found once for all objects that are judged.

        It gets the world and what is given, which is kept as long as the world is, and says the
        same each time. If it raises, it is asked again the next time.
        """
        key = (find, *given)
        if key not in self._kept:
            self._kept[key] = find(self, *given)
        found: T = self._kept[key]
        return found

    def get(self, kind: str, name: str, namespace: str = NOWHERE) -> Subject | None:
        """The object of that name, the first one of several API groups; None where there is none."""
        return next(iter(self.named(kind, name, namespace)), None)


def world_of(
    subjects: Iterable[Subject],
    pools: Iterable[Pool] = (),
    *,
    is_whole: bool = False,
    deployed: Iterable[Subject] = (),
    renamed: Mapping[tuple[str, str, str], str] = NOTHING_RENAMED,
) -> World:
    """The world of what is written; of two objects with one kind and name the last.

    `deployed` is what a cluster has already, which is often the same in an older form.
    """
    named: dict[tuple[str, str, str], dict[str, Subject]] = {}
    for each in deployed:
        named.setdefault((each.kind, each.namespace, each.name), {})[_group(each)] = each
    written: set[tuple[str, str, str, str]] = set()
    repeated: set[tuple[str, str, str, str]] = set()
    for each in subjects:
        group, key = _group(each), (each.kind, each.namespace, each.name)
        (repeated if (group, *key) in written else written).add((group, *key))
        named.setdefault(key, {})[group] = each
    found = {key: tuple(groups.values()) for key, groups in named.items()}
    return World(found, tuple(pools), is_whole, frozenset(repeated), renamed)


def _group(subject: Subject) -> str:
    return subject.api_version.partition("/")[0]
