"""Ways to look at a watch."""

from collections.abc import Iterator

from trainer_infra.kube.client import ObjectChange


def seen(changes: Iterator[ObjectChange], count: int) -> list[tuple[str, str]]:
    """Type and name of the next changes; bookmarks are passed over."""
    found: list[tuple[str, str]] = []
    while len(found) < count:
        change = next(changes)
        if change.type != "BOOKMARK":
            found.append((change.type, change.value["metadata"]["name"]))
    return found
