"""Which fields a class of a cloud's SDK takes, all the way down: its own constructor checks no nested one."""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

_CLASS = re.compile(r"'(\w+Args)(?:Dict)?'")
"""How an annotation names the class of a nested field."""


def unknown_fields(module: str, resource: str, arguments: Mapping[str, Any]) -> list[str]:
    """Paths of arguments that the class of a resource does not know.

    Args:
        module: for example `pulumi_gcp.container`.
        resource: name of the class.
        arguments: of its constructor.
    """
    made = getattr(import_module(module), f"{resource}Args")
    inputs = vars(import_module(f"{module}._inputs"))
    return list(_unknown(arguments, made.__init__.__annotations__, inputs, ""))


def _unknown(
    value: Mapping[str, Any], fields: Mapping[str, Any], inputs: Mapping[str, Any], path: str
) -> Iterator[str]:
    for key, each in value.items():
        if key not in fields:
            yield f"{path}{key}"
            continue
        shape = _CLASS.search(str(fields[key]))
        for item in each if isinstance(each, list | tuple) else [each]:
            if isinstance(item, Mapping) and shape is not None:
                inside = inputs[f"{shape[1]}Dict"].__annotations__
                yield from _unknown(item, inside, inputs, f"{path}{key}.")
