"""YAML out: the text of objects, read back the same by every YAML reader.

Strings that a YAML 1.1 reader such as kubectl's takes for something else (`y`, `0755`, `12:30`) are quoted.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml
from typing_extensions import override

from trainer_infra.api import yaml_scalar

_STRING: Final = "tag:yaml.org,2002:str"
_NEVER_FOLDED: Final = 2**31 - 1
"""A line width; libyaml breaks no line that is shorter."""


def dump_yaml(objects: Iterable[Mapping[str, Any]]) -> str:
    """One YAML document per object: keys in the order given, block style, no anchors.

    Raises:
        yaml.representer.RepresenterError: when a value is not a JSON value.
    """
    return _text((dict(each) for each in objects), is_flow=False)


def flow_text(value: Any) -> str:
    """One value on one line, as it stands inside other YAML: a scalar, `{a: 1}`, `[a, b]`."""
    if isinstance(value, str) and "\n" in value:
        # By itself it would be a block.
        return flow_text([value])[1:-1]
    return _text([value], is_flow=True).removesuffix("\n").removesuffix("\n...")


def _text(documents: Iterable[Any], *, is_flow: bool) -> str:
    text: str = yaml.dump_all(
        documents,
        Dumper=_Dumper,
        sort_keys=False,
        default_flow_style=is_flow,
        allow_unicode=True,
        width=_NEVER_FOLDED,
    )
    return text


class _Dumper(yaml.CSafeDumper):
    """Knows JSON's types only."""

    @override
    def ignore_aliases(self, data: object) -> bool:
        return True


def _string(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_STRING, text, style=_style(text))


_JSON_TYPES: Final[tuple[Any, ...]] = (type(None), bool, int, float, dict, list, tuple, None)
# Dates, sets and bytes, which are no JSON, have no entry: they are refused.
_Dumper.yaml_representers = {kind: yaml.CSafeDumper.yaml_representers[kind] for kind in _JSON_TYPES}
_Dumper.add_representer(str, _string)


def _style(text: str) -> str | None:
    """The style to ask for; libyaml falls back to quotes where it would lose something."""
    if "\n" in text:
        return "|"
    return '"' if yaml_scalar.is_ambiguous(text) else None
