"""What is wrong when a model is built in Python, in the words that manifests get.

Types are checked there and nothing else: limits and rules of the published schema are checked when
the object's wire form is read.
"""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import ValidationError

from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.schema_walk import nearest_name
from trainer_infra.errors import Problem

_WORDS: Final = {
    "missing": "is required",
    "extra_forbidden": "unknown field",
    "int": "must be a whole number",
    "float": "must be a number",
    "enum": "is not one of the known words",
    "date": "must be a day, written as 2027-01-31",
    "string": "must be a string",
    "bool": "must be true or false",
    "tuple": "must be a list",
    "dict": "must be an object",
    "model": "must be an object",
    "greater": "is too small",
}
"""Words by pydantic's error type, or by its part before the underscore."""


def model_problems(error: ValidationError, fields: dict[str, Any]) -> Iterator[Problem]:
    """Pydantic's errors as problems.

    Args:
        error: what building a model raised.
        fields: the fields of the model's class, by name.
    """
    for each in error.errors(include_url=False):
        path: Path = each["loc"]
        what = _WORDS.get(each["type"]) or _WORDS.get(each["type"].split("_")[0]) or _said(each)
        unknown = each["type"] == "extra_forbidden"
        fix = nearest_name(str(path[-1]), fields) if unknown and len(path) == 1 else ""
        got = None if unknown or each["type"] == "missing" else each["input"]
        yield Problem(path_text(path), what, got, fix, where=error.title)


def _said(error: Any) -> str:
    """What a validator of ours said."""
    text: str = error["msg"]
    return text.removeprefix("Value error, ")
