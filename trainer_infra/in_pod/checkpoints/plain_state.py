"""A state that is no framework's: any value that can be pickled, arrays of JAX as those of numpy."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator, Mapping
from typing import Any


def is_stateful(value: Any) -> bool:
    """Whether it keeps a state that can be loaded into it: schedulers, scalers, loaders of data."""
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


def dumped(state: Mapping[str, Any]) -> bytes:
    """The values, pickled: a copy that no step of the training changes."""
    plain = {
        name: each.state_dict() if is_stateful(each) else _of_numpy(each)
        for name, each in state.items()
    }
    return pickle.dumps(plain, protocol=5)


def loaded(content: bytes, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values again, in the kind of those that were given."""
    plain: dict[str, Any] = pickle.loads(content)  # noqa: S301  the run's own place
    found = {}
    for name, value in given.items():
        if is_stateful(value):
            value.load_state_dict(plain[name])
            found[name] = value
        else:
            found[name] = _as_given(plain[name], value)
    return found


def shapes(state: Mapping[str, Any]) -> dict[str, str]:
    """What tells one model's state from another's: the names of its values, and the shapes of arrays in them."""
    found = dict.fromkeys(state, "")
    for name, value in state.items():
        if type(value).__module__.startswith("torch.optim"):
            continue
        inner = value.state_dict() if is_stateful(value) else value
        found.update(_shapes(inner, name))
    return found


def differences(there: Mapping[str, str], here: Mapping[str, str]) -> list[str]:
    """In which values two states differ, a clause for each."""
    found = []
    for name in dict.fromkeys([*here, *there]):
        old, new = there.get(name), here.get(name)
        if old is None:
            found.append(f"{name} is not there")
        elif new is None:
            found.append(f"{name} is there, and the program has none")
        elif old and new and old != new:
            found.append(f"{name} is {old} there and {new} in the program")
    return found


def _shapes(value: Any, path: str) -> Iterator[tuple[str, str]]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        yield path, "x".join(map(str, shape)) or "a number"
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _shapes(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)) and len(value) < 1000:  # noqa: PLR2004  longer ones are data
        for number, each in enumerate(value):
            yield from _shapes(each, f"{path}.{number}")


def _of_numpy(value: Any) -> Any:
    """The value with numpy's arrays in place of JAX's; both of them are bit for bit the same."""
    jax = sys.modules.get("jax")
    if jax is None:
        return value
    import numpy  # noqa: PLC0415  JAX has it

    def of_numpy(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array):
            return leaf
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return numpy.asarray(jax.random.key_data(leaf) if is_key else leaf)

    return jax.tree_util.tree_map(of_numpy, value)


def _as_given(value: Any, given: Any) -> Any:
    jax = sys.modules.get("jax")
    if jax is None or not any(isinstance(each, jax.Array) for each in jax.tree_util.tree_leaves(given)):
        return value

    def as_given(leaf: Any, old: Any) -> Any:
        if not isinstance(old, jax.Array):
            return leaf
        if jax.dtypes.issubdtype(old.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(old))
        return jax.device_put(leaf, old.sharding)

    return jax.tree_util.tree_map(as_given, value, given)
