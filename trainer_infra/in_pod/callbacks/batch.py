"""How many samples a batch has."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def batch_size(batch: Any) -> int:
    """The length of the first array in the batch, else of the list that it is; 0 where it has neither.

    Args:
        batch: an array, a mapping or a sequence of arrays, or a sequence of samples.
    """
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    values = batch.values() if isinstance(batch, Mapping) else batch
    if not isinstance(batch, (list, tuple, Mapping)):
        return 0
    found = next((size for each in values if (size := batch_size(each))), 0)
    return found or (0 if isinstance(batch, Mapping) else len(batch))
