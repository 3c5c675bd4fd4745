"""What a posted trainerStatus must be: Go's JSON decoding, then the limits of the API. Pure.

Rules: reference behaviour 1.3 and 6. Messages are those of the API server, because clients see them
in the reference too.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

PERCENT: Final = 100
METRICS: Final = 256
TEXT: Final = 64
_INT32: Final = range(-(2**31), 2**31)
_PATH: Final = "status.trainerStatus"
_NO_TIME: Final = (
    f'{_PATH}: Invalid value: "object": lastUpdatedTime is required when trainerStatus is present'
)
_UNCHECKED: Final = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was "
    "invalid; correct the existing errors to complete validation"
)
"""What follows a text or a list that is too long: then no rule in CEL is tried."""
_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can spell and UTF-8 cannot; Go's decoder replaces it too."""


def decode_status(body: bytes) -> dict[str, Any] | None:
    """The trainerStatus of a request's body as typed values; None when it has none.

    Unknown fields are dropped, null is the same as absent, what follows the first JSON value is
    ignored, as in the reference.

    Raises:
        ValueError: The payload is invalid.
    """
    value, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(body.decode().lstrip())
    status = _object(value).get("trainerStatus")
    if status is None:
        return None
    given = _object(status)
    decoded: dict[str, Any] = {}
    for field in ("progressPercentage", "estimatedRemainingSeconds"):
        if given.get(field) is not None:
            value = given[field]
            if isinstance(value, bool) or not isinstance(value, int) or value not in _INT32:
                raise ValueError("no int32")
            decoded[field] = value
    if (listed := given.get("metrics")) is not None:
        if not isinstance(listed, list):
            raise ValueError("no list")
        metrics = [_metric(each) for each in listed]
        decoded |= {"metrics": metrics} if metrics else {}
    decoded["lastUpdatedTime"] = _time(given.get("lastUpdatedTime"))
    return decoded


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _object(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004  callers know one kind of invalid payload
    return value


def _metric(value: object) -> dict[str, str]:
    given = _object(value)
    metric = {field: given.get(field) for field in ("name", "value")}
    if not all(text is None or isinstance(text, str) for text in metric.values()):
        raise ValueError("no string")
    return {field: _SURROGATE.sub("\ufffd", text or "") for field, text in metric.items()}


def _time(value: object) -> str | None:
    """RFC 3339 in UTC with whole seconds, as metav1.Time is written; None when absent."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("no time")  # noqa: TRY004  the same
    if not _RFC_3339.fullmatch(value):
        raise ValueError("no RFC 3339 time")
    try:
        moment = datetime.fromisoformat(value).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("no year of four digits in UTC") from error
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def status_problem(name: str, status: Mapping[str, Any]) -> str | None:
    """What the API server says of a decoded status that breaks a limit; None when it is fine."""
    found = [*_broken(status)]
    if any(": Too " in each for each in found):
        found.append(_UNCHECKED)
    elif status["lastUpdatedTime"] is None:
        found.append(_NO_TIME)
    if not found:
        return None
    causes = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
    return f'TrainJob.trainer.kubeflow.org "{name}" is invalid: {causes}'


def _broken(status: Mapping[str, Any]) -> Iterator[str]:
    """Broken limits of the schema's fields, in the order of their names; the API server has none."""
    remaining = status.get("estimatedRemainingSeconds", 0)
    if remaining < 0:
        rule = "should be greater than or equal to 0"
        yield _invalid("estimatedRemainingSeconds", remaining, rule)
    metrics = status.get("metrics") or ()
    for index, metric in enumerate(metrics):
        for field in ("name", "value"):
            yield from _text(f"metrics[{index}].{field}", metric[field])
    if len(metrics) > METRICS:
        yield f"{_PATH}.metrics: Too many: {len(metrics)}: must have at most {METRICS} items"
    progress = status.get("progressPercentage", 0)
    if progress < 0:
        yield _invalid("progressPercentage", progress, "should be greater than or equal to 0")
    if progress > PERCENT:
        yield _invalid("progressPercentage", progress, f"should be less than or equal to {PERCENT}")


def _invalid(field: str, value: object, rule: str) -> str:
    """The API server names a field of the status from the object's root, and then from the status."""
    shown = json.dumps(value, ensure_ascii=False)
    return f"{_PATH}.{field}: Invalid value: {shown}: trainerStatus.{field} in body {rule}"


def _text(field: str, value: str) -> Iterator[str]:
    if not value:
        yield _invalid(field, value, "should be at least 1 chars long")
    if len(value) > TEXT:
        yield f"{_PATH}.{field}: Too long: may not be more than {TEXT} bytes"
