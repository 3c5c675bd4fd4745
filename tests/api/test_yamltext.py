"""YAML out is read back the same, by YAML 1.1 readers too."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.api import yaml_scalar, yaml_source, yamltext

JSON = dict[str, Any]

TRAPS = [
    "y", "Y", "n", "N", "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off",
    "OFF", "true", "True", "TRUE", "false", "False", "FALSE", "~", "null", "Null", "NULL", "0755",
    "0o7", "0O7", "1e3", "1E3", "1e+3", ".5", "5.", "-.5", "+.5", "12:30", "190:20:30",
    "190:20:30.15", "-1:30", "2026-01-31", "2026-01-31T12:00:00Z", "2026-1-3", "+1", "-1", "-0",
    "0x1F", "0X1f", "0b11", "0B1", "1_000", "+_5", "._5", "1__0", "=", "<<", ".inf", "-.inf",
    "+.INF", ".nan", ".NaN", "08", "09", "0", "00", "1,000", "---", "...",
]  # fmt: skip

texts = st.one_of(
    st.sampled_from([*TRAPS, "", " ", " a", "a ", "\n", "a\nb\n", " a\nb", "a \nb", "# a", "a: b"]),
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.text("yYnNoOfF0123456789eExXbB_.:+- \n\t", max_size=6),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def read_as_kubectl(text: str) -> list[Any]:
    sources = yaml_source.read_yaml(text, "f.yaml")
    assert not any(source.findings for source in sources)
    return [source.value for source in sources]


@given(st.lists(st.dictionaries(texts, json_values, min_size=1, max_size=3), max_size=3))
def test_every_reader_reads_back_what_was_written(objects: list[JSON]) -> None:
    text = yamltext.dump_yaml(objects)
    assert read_as_kubectl(text) == objects
    assert list(yaml.load_all(text, yaml.CSafeLoader)) == objects


def test_a_trap_of_yaml_1_1_is_quoted_as_value_and_as_key() -> None:
    written = {trap: yamltext.dump_yaml([{trap: [trap]}]) for trap in TRAPS}
    assert written == {trap: f'"{trap}":\n- "{trap}"\n' for trap in TRAPS}


def test_what_is_no_trap_is_not_quoted() -> None:
    plain = {"a": ["node", "s3://b/k", "500m", "16Gi", "v1.2", "yes please", "x1"], "b": [1, 1.5]}
    assert "'" not in yamltext.dump_yaml([plain])
    assert '"' not in yamltext.dump_yaml([plain])


def test_documents_keep_the_order_of_their_keys_and_stand_in_block_style() -> None:
    first = {"kind": "B", "apiVersion": "v1", "data": {"z": "1", "a": None, "l": [], "o": {}}}
    assert yamltext.dump_yaml([first, {"kind": "A", "items": [{"x": True, "y": (1, 2)}]}]) == (
        'kind: B\napiVersion: v1\ndata:\n  z: "1"\n  a: null\n  l: []\n  o: {}\n'
        '---\nkind: A\nitems:\n- x: true\n  "y":\n  - 1\n  - 2\n'
    )


def test_text_of_several_lines_is_a_literal_block() -> None:
    code = "import jax\n\ndef train():\n    return '\"é\"'  # y: n\n"
    assert yamltext.dump_yaml([{"train.py": code}]) == (
        "train.py: |\n  import jax\n\n  def train():\n      return '\"é\"'  # y: n\n"
    )


@pytest.mark.parametrize("lines", ["a\n\tb\n", "a\nb ", "a\r\nb\n"])
def test_lines_that_a_block_would_change_are_quoted_with_escapes(lines: str) -> None:
    text = yamltext.dump_yaml([{"a": lines}])
    assert text.startswith('a: "')
    assert yaml.load(text, yaml.CSafeLoader) == {"a": lines}


def test_long_lines_are_not_folded() -> None:
    words = "word " * 100 + "end"
    assert yamltext.dump_yaml([{"a": words}]) == f"a: {words}\n"


def test_an_object_used_twice_is_written_twice() -> None:
    shared = {"name": "A"}
    assert yamltext.dump_yaml([{"a": shared, "b": shared}]) == "a:\n  name: A\nb:\n  name: A\n"


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(yaml.representer.RepresenterError, match="cannot represent an object"):
        yamltext.dump_yaml([{"a": {1, 2}}])


def test_whatever_either_reader_takes_for_no_string_is_known_as_ambiguous() -> None:
    assert [trap for trap in TRAPS if not yaml_scalar.is_ambiguous(trap)] == []
