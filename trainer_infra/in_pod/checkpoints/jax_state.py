"""Arrays of JAX: as numpy's, or, where no process has all of one, as the shards that each of them has.

A shard is in the file of the process that holds its first copy, with its place in the whole array; any other division
over any number of processes can be read from them.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from trainer_infra.in_pod.checkpoints.one_checkpoint import StoredCheckpoint, file_of

SHARDS = "shards"


@dataclass
class DividedArray:
    """An array that was divided, in a pickled state."""

    number: int
    shape: tuple[int, ...]
    kind: str
    """As JAX names it: numpy alone has no bfloat16."""
    source: list[tuple[StoredCheckpoint, dict[str, Any]]] = field(default_factory=list)
    """Where its shards are, once it is read."""

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        """A part of it, of all shards that have some of that.

        Raises:
            DamagedError: One is missing, or is not what was written.
        """
        import jax  # noqa: PLC0415  it is there
        import numpy as np  # noqa: PLC0415  JAX has it

        wanted = [each.indices(size)[:2] for each, size in zip(index, self.shape)]
        found = np.empty([stop - start for start, stop in wanted], jax.numpy.dtype(self.kind))
        for stored, shard in self.source:
            common = [
                (max(start, low), min(stop, high))
                for (start, stop), (low, high) in zip(wanted, shard["index"])
            ]
            if all(start < stop for start, stop in common):
                held = _shard(stored, shard, found.dtype)
                there, here = (
                    tuple(slice(a - low, b - low) for (a, b), (low, _) in zip(common, origin))
                    for origin in (shard["index"], wanted)
                )
                found[here] = held[there]
        return found


class Arrays:
    """The arrays of one state, as it is pickled."""

    def __init__(self) -> None:
        self.shards: list[dict[str, Any]] = []
        """Where each of them is, of the divided ones of which this process has a part: in the array and in its file."""
        self.contents: list[bytes] = []
        self._count = self._size = 0

    def of_numpy(self, value: Any) -> Any:
        """The value with numpy's arrays in place of JAX's, bit for bit the same, or with what stands for them."""
        return _mapped(self._of_numpy, value)

    def _of_numpy(self, leaf: Any) -> Any:
        import jax  # noqa: PLC0415  it is there
        import numpy as np  # noqa: PLC0415  JAX has it

        if not isinstance(leaf, jax.Array):
            return leaf
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        if leaf.is_fully_addressable or leaf.is_fully_replicated:
            return np.array(leaf)
        made = DividedArray(self._count, tuple(leaf.shape), str(leaf.dtype))
        self._count += 1
        for shard in leaf.addressable_shards:
            if shard.replica_id == 0:
                content = np.asarray(shard.data).tobytes()
                index = [each.indices(size)[:2] for each, size in zip(shard.index, leaf.shape)]
                said = {"array": made.number, "index": index, "start": self._size}
                self._size += len(content)
                self.shards.append({**said, "size": len(content), "crc32": zlib.crc32(content)})
                self.contents.append(content)
        return made


def find_shards(value: Any, stored: StoredCheckpoint) -> None:
    """Tell the arrays in a value that was read where their shards are."""
    divided = [each for each in _leaves(value) if isinstance(each, DividedArray)]
    if not divided:
        return
    for rank in range(stored.whole.size):
        for shard in stored.part(rank)[SHARDS]:
            for each in divided:
                if each.number == shard["array"]:
                    each.source.append((stored, {**shard, "file": file_of(rank, SHARDS)}))


def as_given(value: Any, given: Any) -> Any:
    """The value in the kind of what was given: on the same devices, divided in the same way."""
    return _mapped(_as_given, value, given) if any(map(_is_array, _leaves(given))) else value


def _as_given(leaf: Any, old: Any) -> Any:
    import jax  # noqa: PLC0415  it is there

    if not _is_array(old):
        return leaf
    if jax.dtypes.issubdtype(old.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(old))
    return jax.make_array_from_callback(old.shape, old.sharding, leaf.__getitem__)


def _shard(stored: StoredCheckpoint, shard: dict[str, Any], kind: Any) -> Any:
    import numpy as np  # noqa: PLC0415  JAX has it

    content = stored.piece(shard["file"], shard["start"], shard["size"], shard["crc32"])
    return np.frombuffer(content, kind).reshape([high - low for low, high in shard["index"]])


def _is_array(value: Any) -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def _leaves(value: Any) -> Iterator[Any]:
    """The values in a tree of JAX; of what is none, itself."""
    jax = sys.modules.get("jax")
    if jax is not None:
        try:
            yield from jax.tree_util.tree_leaves(value)
        except (TypeError, ValueError):
            # A dict with keys of several kinds, which JAX cannot sort.
            yield value


def _mapped(change: Any, value: Any, *others: Any) -> Any:
    jax = sys.modules.get("jax")
    if jax is None or not any(map(_is_array, [*_leaves(value), *_leaves(others)])):
        return value
    return jax.tree_util.tree_map(change, value, *others)
