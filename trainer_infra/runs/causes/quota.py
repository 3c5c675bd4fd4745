"""ResourceQuotas in the API server's words: whether what is asked for could ever fit.

`exceeded quota: q, requested: pods=1,requests.cpu=2, used: pods=1,…, limited: pods=1,…`
"""

import re
from decimal import Decimal
from typing import Final

from trainer_infra.api import quantity

_SENTENCE: Final = re.compile(
    r"exceeded quota: \S+, requested: (?P<requested>\S+), used: \S+, limited: (?P<limited>\S+)"
)


def is_too_small(said: str, count: int) -> bool:
    """Whether a quota has no place for so many such objects even when nobody else uses it.

    Args:
        said: the API server's sentence about one object.
        count: objects like it that are needed at a time.
    """
    found = _SENTENCE.search(said)
    if found is None:
        return False
    requested, limited = _amounts(found["requested"]), _amounts(found["limited"])
    return any(
        requested[name] * count > limited[name] for name in requested.keys() & limited.keys()
    )


def _amounts(text: str) -> dict[str, Decimal]:
    pairs = (each.partition("=") for each in text.split(","))
    return {name: quantity.parse_quantity(amount) for name, _, amount in pairs if amount}
