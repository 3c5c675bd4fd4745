"""A state that is no framework's: any values that can be pickled, of each process its own."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainer_infra.in_pod.checkpoints import jax_state, random_state
from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, Writing, file_of

PICKLE = "pickle"


class PlainState:
    """The values of one step, pickled: a copy that no step of the training changes.

    Raises:
        TypeError: One of them cannot be pickled.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._arrays = jax_state.Arrays()
        values = [self._pickled(name, each) for name, each in state.items()]
        names = pickle.dumps([list(state), random_state.current()])
        self._contents = [names, *values]

    def write(self, writing: Writing) -> dict[str, Any]:
        """Write it, and return what is to be said of it.

        Raises:
            OSError: The place cannot be written.
        """
        writing.write(file_of(writing.rank, PICKLE), self._contents)
        if self._arrays.contents:
            writing.write(file_of(writing.rank, jax_state.SHARDS), self._arrays.contents)
        return {jax_state.SHARDS: self._arrays.shards}

    def _pickled(self, name: str, value: Any) -> bytes:
        if is_stateful(value):
            plain = value.state_dict()
        elif is_tensor(value):
            plain = value.detach().cpu()
        else:
            plain = self._arrays.of_numpy(value)
        try:
            return pickle.dumps(plain, protocol=5)
        except Exception as error:
            kind = type(value).__name__
            raise TypeError(
                f"state[{name!r}], a {kind}, cannot be saved: {error}. Leave it out, or give its class state_dict and "
                "load_state_dict"
            ) from error


def read(
    stored: StoredCheckpoint, rank: int, given: Mapping[str, Any]
) -> Callable[[], dict[str, Any]]:
    """What puts the values of a process into those that were given, and returns them.

    Raises:
        DamagedError: They are missing, or are not what was written.
        ValueError: They are of a program that this one cannot read.
        OSError: The place cannot be read.
    """
    # Of fewer processes than now the first one's values stand for those that are new.
    known = rank if rank < stored.whole.size else 0
    file = file_of(known, PICKLE)
    content = io.BytesIO(stored.read(file, stored.part(known)["files"][file]))
    try:
        names, states = pickle.load(content)  # noqa: S301  the run's own place
        values = {name: pickle.load(content) for name in names}  # noqa: S301  the same
    except (AttributeError, ImportError) as error:
        raise ValueError(f"{stored.whole.folder}/{file} is of another program: {error}") from error
    jax_state.find_shards(values, stored)
    found = {
        name: values[name] if is_stateful(each) else jax_state.as_given(values[name], each)
        for name, each in given.items()
    }

    def put() -> dict[str, Any]:
        for name, each in given.items():
            found[name] = _put(found[name], each)
        if known == rank:
            random_state.restore(states)
        return found

    return put


def is_stateful(value: Any) -> bool:
    """Whether it keeps a state that can be loaded into it: schedulers, scalers, loaders of data."""
    return callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None)
    )


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def shapes(state: Mapping[str, Any]) -> dict[str, str]:
    """What tells one model's state from another's: the names of its values, and the shapes of arrays in them."""
    found = dict.fromkeys(state, "")
    for name, value in state.items():
        inner = value.state_dict() if is_stateful(value) else value
        found.update(_shapes(inner, name))
    return found


def refuse_another(there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse a state whose values have other names or other shapes than those here.

    Raises:
        ValueError: Names the first three.
    """
    found = []
    for name in dict.fromkeys([*here, *there]):
        old, new = there.get(name), here.get(name)
        if old is None:
            found.append(f"{name} is not there")
        elif new is None:
            found.append(f"{name} is there, and the program has none")
        elif old and new and old != new:
            found.append(f"{name} is {old} there and {new} in the program")
    if found:
        more = f"; {len(found) - 3} more" if len(found) > 3 else ""  # noqa: PLR2004  as shown
        raise ValueError("; ".join(found[:3]) + more)


def shown(shape: tuple[int, ...]) -> str:
    """A shape in a message."""
    return "x".join(map(str, shape)) or "a number"


def _shapes(value: Any, path: str) -> Iterator[tuple[str, str]]:
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        yield path, shown(shape)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _shapes(each, f"{path}.{key}")
    elif isinstance(value, (list, tuple)) and len(value) < 1000:  # noqa: PLR2004  longer ones are data
        for number, each in enumerate(value):
            yield from _shapes(each, f"{path}.{number}")


def _put(value: Any, given: Any) -> Any:
    if is_stateful(given):
        given.load_state_dict(value)
        return given
    if is_tensor(given):
        given.detach().copy_(value)
        return given
    return value
