"""Pods and containers that write some of a rule's fields: most write none of them.

What may yet be filled by something that is not known counts as written.
"""

from collections.abc import Callable, Iterator

from trainer_infra.rules import pods
from trainer_infra.rules.pods import Pod, PodContainer
from trainer_infra.rules.rule import Subject, Value
from trainer_infra.rules.value import is_mapping


def pods_with(*keys: str) -> Callable[[Subject], Iterator[Pod]]:
    """The pods of an object whose spec has one of the fields."""
    known = frozenset(keys)

    def places(subject: Subject) -> Iterator[Pod]:
        return (each for each in pods.pods_of(subject) if _has(each.spec, known))

    return places


def containers_with(*keys: str) -> Callable[[Subject], Iterator[PodContainer]]:
    """The containers of an object that have one of the fields."""
    known = frozenset(keys)

    def places(subject: Subject) -> Iterator[PodContainer]:
        return (each for each in pods.containers(subject) if _has(each.value, known))

    return places


def _has(value: Value, keys: frozenset[str]) -> bool:
    if value.is_noted():
        return False
    is_written = is_mapping(value.raw) and not keys.isdisjoint(value.raw)
    return is_written or bool(value.root.gaps)
