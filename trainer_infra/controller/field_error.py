"""A problem in the words in which Kubernetes' own validation says it, and the sentence of several.

Clients compare these texts with those of the reference: field, type of the error, value as compact
JSON, what is wrong. Rules: reference behaviour 5.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict, JSONObject

INVALID: Final = "Invalid value"
FORBIDDEN: Final = "Forbidden"
INTERNAL: Final = "Internal error"
_CAUSES: Final = {INVALID: "FieldValueInvalid", FORBIDDEN: "FieldValueForbidden"}
"""What the API calls the types of errors in the causes of a Status."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
LONGEST: Final = 16 * 1024
"""Characters of all values that are shown: the whole answer has to fit into what the API server reads."""
_WHOLE: Final = frozenset({"spec.runtimePatches"})
"""Fields that the reference shows whole, where we found a part of one wrong."""
_STEP: Final = re.compile(r"\.?([A-Za-z]\w*)|\[(\d+)\]", re.ASCII)
_ESCAPES: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""Go's encoder writes these so in JSON."""


def field_error(
    problem: Problem, value: JSONObject, *, with_advice: bool, longest: int = LONGEST
) -> str:
    """The sentence for one problem of an object.

    Args:
        problem: what is wrong.
        value: the object, whose value in the field is shown.
        with_advice: whether the sentence ends with what to do about it.
        longest: how many characters of that value are shown.
    """
    advice = f"; {problem.fix}" if with_advice and problem.fix else ""
    if not problem.path:
        return f"{problem.what}{advice}"
    return f"{problem.path}: {_body(problem, value, longest)}{advice}"


def aggregate_message(sentences: Iterable[str]) -> str:
    """One sentence as it is, several in brackets; each once."""
    several = tuple(dict.fromkeys(sentences))
    return several[0] if len(several) == 1 else f"[{', '.join(several)}]"


def status_cause(problem: Problem, value: JSONObject, longest: int = LONGEST) -> JSONDict:
    """The problem as a cause of a Status, from which programs read the field."""
    reason = _CAUSES[FORBIDDEN if problem.forbidden else INVALID]
    return {"reason": reason, "message": _body(problem, value, longest), "field": problem.path}


def _body(problem: Problem, value: JSONObject, longest: int) -> str:
    """The error without its field."""
    if problem.forbidden:
        return f"{FORBIDDEN}: {problem.what}"
    return f"{INVALID}: {_shown(bad_value(problem, value), longest)}: {problem.what}"


def bad_value(problem: Problem, value: JSONObject) -> Any:
    """The value that is shown: what was found wrong, else what the object has in the field."""
    is_part = problem.got is not None and problem.path not in _WHOLE
    return problem.got if is_part else _value_in(value, problem.path)


def _value_in(value: Any, path: str) -> Any:
    """What an object has in a field; None where the path is not one of plain fields and positions."""
    place = 0
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            return None
        place = step.end()
        name, position = step.groups()
        if name is not None and isinstance(value, Mapping):
            value = value.get(name)
        elif position is not None and isinstance(value, list) and int(position) < len(value):
            value = value[int(position)]
        else:
            return None
    return value


def _shown(value: Any, longest: int) -> str:
    text = ""
    # No more of a large value is written than is shown.
    for part in _JSON.iterencode(value):
        text += part
        if len(text) > longest:
            break
    text = text if isinstance(value, str) else text.translate(_ESCAPES)
    return text if len(text) <= longest else f"{text[:longest]}…"
