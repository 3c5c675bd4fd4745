"""Tables that make objects of arguments, and lead from what is wrong with such an object to the argument.

What published schemas, Kueue's webhooks and the API server's validation of pods demand is so judged in one
place, `rules`, for files and for programs.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.argument_problems import without_outputs
from trainer_infra.rules import RULES
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.subject import subject_of
from trainer_infra.rules.world import World
from trainer_infra.words import renamed

_REFUSALS: Final = (
    *("schema", "quoted-strings"),
    *("queue-limits", "resource-groups", "covered-resources-order"),
)
JUDGES: Final = tuple(
    ConfiguredRule.default(each)
    for each in RULES
    if each.id in _REFUSALS or each.tags[0] == "admission"
)
"""Rules of what a cluster refuses; the others are a policy's to choose."""


@dataclass(frozen=True, slots=True)
class Field:
    """Where an argument stands in the object."""

    path: Path
    """From the object's root, or from where the argument around it stands."""
    form: Callable[[Any], Any] = lambda value: value
    """What stands there; None where nothing does."""
    fields: "Fields | None" = None
    """Of an argument that is a mapping with names of its own, or a list of such: its fields. An item that
    is not a mapping is the first of them alone."""
    argument: Callable[[Path, Any], Path] = lambda below, _: below
    """From a path below the field and the argument's value to the path below the argument."""
    named: "Fields | None" = None
    """What else is written below the argument, and makes another field than the table says."""


Fields: TypeAlias = Mapping[str, Field]
"""By argument, in the order of the object."""


def at(path: str, form: Callable[[Any], Any] = lambda value: value, **fields: Field) -> Field:
    """A field by its path as text, for example `spec.fairSharing.weight`; no key in it has a dot."""
    return Field(tuple(path.split(".")), form, fields or None)


def put_fields(made: JSONDict, args: Mapping[str, Any], fields: Fields) -> JSONDict:
    """Put arguments into an object; one that is None is not given.

    The object has every list that a path leads through.
    """
    for argument, field in fields.items():
        given = args.get(argument)
        value = None if given is None else _wire(field.form(given), field.fields)
        if value is None:
            continue
        *above, last = field.path
        place: Any = made
        for key in above:
            place = place[key] if isinstance(key, int) else place.setdefault(key, {})
        place[last] = value
    return made


def _wire(value: Any, fields: Fields | None) -> Any:
    if not fields or value is None:
        return value
    if isinstance(value, Mapping):
        return put_fields({}, value, fields)
    return [
        put_fields({}, each if isinstance(each, Mapping) else {next(iter(fields)): each}, fields)
        for each in value
    ]


def of_argument(found: FieldFinding, path: Path, fields: Fields) -> FieldFinding:
    """A finding of an object as one of the argument at a path, with the names of arguments in its sentences."""
    names = dict(_names(fields))
    what, fix = (renamed(each, names) for each in (found.what, found.fix))
    return replace(found, path=path, what=what, fix=fix)


def _names(fields: Fields) -> Iterator[tuple[str, str]]:
    """By each field whose name is no plain word, the argument."""
    for argument, field in fields.items():
        name = str(field.path[-1])
        if name != name.lower():
            yield name, argument
        yield from _names(field.fields or field.named or {})


def argument_path(path: Path, args: Mapping[str, Any], fields: Fields) -> Path:
    """The path of the argument that stands at a path of the object; empty where none does."""
    for argument, field in fields.items():
        length = len(field.path)
        if path[:length] == field.path:
            below, value = path[length:], args.get(argument)
            return (argument, *field.argument(_inside(below, value, field.fields), value))
    above = (argument for argument, each in fields.items() if each.path[: len(path)] == path)
    return tuple(above)[:1]


def _inside(path: Path, value: Any, fields: Fields | None) -> Path:
    if not fields or not path:
        return path
    if isinstance(value, Mapping):
        return argument_path(path, value, fields)
    index, *below = path
    item = value[index]
    return (
        (index, *argument_path(tuple(below), item, fields))
        if isinstance(item, Mapping) and below
        else (index,)
    )


def refusals(value: JSONObject) -> Iterator[FieldFinding]:
    """What a cluster would refuse of an object, as far as its values are known."""
    for verdict in judge(subject_of(without_outputs(value)), World(), JUDGES):
        yield from (replace(each, rule=verdict.chosen.rule.id) for each in verdict.findings)
