"""Arrays of JAX that several processes hold parts of: saved by Orbax, which all of them call.

Everything else of JAX is in one process whole, and is pickled as an array of numpy.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any


def divided(state: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a state in which no process has everything."""
    jax = sys.modules.get("jax")
    if jax is None:
        return {}
    found = {}
    for name, value in state.items():
        leaves = jax.tree_util.tree_leaves(value)
        arrays = (each for each in leaves if isinstance(each, jax.Array))
        if not all(each.is_fully_addressable or each.is_fully_replicated for each in arrays):
            found[name] = value
    return found


def save(state: Mapping[str, Any], folder: str) -> None:
    """Save them below a folder or a `gs://` address; all processes call it.

    Raises:
        OSError: Orbax is not there, or could not write.
    """
    with _checkpointer() as checkpointer:
        checkpointer.save(folder, dict(state), force=True)


def load(given: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The values again, divided as those that were given."""
    import jax  # noqa: PLC0415  it is there
    import orbax.checkpoint  # noqa: PLC0415  only programs with divided arrays need it

    with _checkpointer() as checkpointer:
        wanted = jax.tree_util.tree_map(orbax.checkpoint.utils.to_shape_dtype_struct, dict(given))
        found: dict[str, Any] = checkpointer.restore(folder, wanted)
    return found


def _checkpointer() -> Any:
    try:
        import orbax.checkpoint  # noqa: PLC0415  only programs with divided arrays need it
    except ImportError as error:
        what = "arrays of JAX that several processes hold parts of need orbax-checkpoint: add it to packages"
        raise OSError(what) from error
    return orbax.checkpoint.StandardCheckpointer()
