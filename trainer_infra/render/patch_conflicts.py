"""spec.runtimePatches: two patches that set one field to different values; the later one wins.

What counts as one field is what `merge` takes for one: an item of a list with a merge key is found
by its key, any other list is one value. Rule: reference behaviour 4.3.
"""

from collections.abc import Iterator, Mapping

from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import shown
from trainer_infra.json_values import JSONObject
from trainer_infra.render import merge, resolve


def conflict_sentences(job: TrainJob) -> tuple[str, ...]:
    """One sentence for each field that a patch sets after another set it otherwise."""
    given = job.spec.runtime_patches or ()
    first: dict[str, tuple[int, object]] = {}
    found: list[str] = []
    for position, template in enumerate(resolve.template_patches(job)):
        for field, value in _fields(template, "template"):
            before, old = first.get(field, (position, value))
            if old != value:
                found.append(
                    f"spec.runtimePatches[{position}] (manager {given[position].manager}) sets "
                    f"{field} to {shown(value)}, which spec.runtimePatches[{before}] (manager "
                    f"{given[before].manager}) sets to {shown(old)}; the later one wins"
                )
            first[field] = position, value
    return tuple(found)


def _fields(value: JSONObject, path: str) -> Iterator[tuple[str, object]]:
    for name, item in value.items():
        yield from _field(item, f"{path}.{name}" if "/" not in name else f"{path}[{name}]", name)


def _field(value: object, path: str, name: str) -> Iterator[tuple[str, object]]:
    """The paths and values of one field and of what is in it."""
    key = merge.MERGE_KEYS.get(name)
    if isinstance(value, Mapping):
        yield from _fields(value, path)
    elif isinstance(value, list | tuple) and key is not None:
        for item in value:
            inside = f"{path}[{item.get(key)}]"
            if name == "volumes":  # a volume has one source and is replaced as a whole
                yield inside, item
            else:
                yield from _fields({k: v for k, v in item.items() if k != key}, inside)
    elif value is not None:
        yield path, value
