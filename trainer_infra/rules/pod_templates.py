"""Where objects of other projects write their pods: what rules of pod security and supply chain judge besides."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.api.shape import workloads
from trainer_infra.rules.value import ABSENT, Value, is_list

WORKLOADS: Final = names.WITH_PODS | {*workloads.TEMPLATES}
"""Every kind whose pods are judged."""


def pod_templates(value: Value) -> Iterator[Value]:
    """The pod templates of an object of another project; none of other kinds."""
    for path in workloads.TEMPLATES.get(str(value["kind"].raw), ()):
        yield from (each for each in _below(value, path) if each["spec"].raw is not ABSENT)


def _below(value: Value, path: Path) -> Iterator[Value]:
    if not path:
        yield value
    elif path[0] == workloads.EACH:
        named = (each for _, each in value.fields())
        for each in value.items() if is_list(value.raw) else named:
            yield from _below(each, path[1:])
    else:
        yield from _below(value[path[0]], path[1:])
