"""Work on many things, spread over processes of their own, one for each processor.

The processes are forks: what the work needs is in them already, and only what it found travels.
"""

import io
import os
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import fields, is_dataclass
from functools import cache
from multiprocessing import get_context
from operator import attrgetter
from typing import Any, Final, TypeVar

from typing_extensions import override

from trainer_infra.errors import NotAvailable

T = TypeVar("T")

SHARE: Final = 50
"""Things that a process does before it tells what it found."""


def spread_work(work: Callable[[int], T], count: int, known: Sequence[object]) -> Iterator[T]:
    """The work done on each number below `count`, in order; what the work raises is raised here.

    What is `known` stands in many results and is in all processes already: its position travels in its
    place, so it need not be anything that can be sent.

    Raises:
        NotAvailable: The system ended one of the processes.
    """
    if not sys.platform.startswith("linux"):
        # Elsewhere a fork of a process that has used the system's libraries may hang.
        yield from map(work, range(count))
        return
    shares = [range(start, min(start + SHARE, count)) for start in range(0, count, SHARE)]
    workers = min(len(shares), len(os.sched_getaffinity(0))) or 1
    pool = ProcessPoolExecutor(workers, get_context("fork"), _Share.begin, (work, known))
    try:
        for sent in pool.map(_Share.done, shares):
            yield from _Unpickler(io.BytesIO(sent), known).load()
    except BrokenProcessPool:
        message = "the system ended a process of the check, perhaps for want of memory"
        raise NotAvailable(f"{message}: give it more, or check fewer files at once") from None
    finally:
        pool.shutdown(cancel_futures=True)


class _Share:
    """What a process does; it has this from before it was forked."""

    work: Callable[[int], Any]
    positions: Mapping[int, int]

    @classmethod
    def begin(cls, work: Callable[[int], Any], known: Sequence[object]) -> None:
        cls.work, cls.positions = staticmethod(work), {id(each): i for i, each in enumerate(known)}

    @classmethod
    def done(cls, numbers: range) -> bytes:
        found = io.BytesIO()
        _Pickler(found, cls.positions).dump(tuple(map(cls.work, numbers)))
        return found.getvalue()


class _Pickler(pickle.Pickler):
    """Writes values of frozen dataclasses as their fields: Python's own way takes three times as long."""

    def __init__(self, file: io.BytesIO, positions: Mapping[int, int]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._positions = positions

    @override
    def reducer_override(self, obj: Any) -> Any:
        position = self._positions.get(id(obj))
        if position is not None:
            return _known, (position,)
        kind: Any = type(obj)
        values = _fields(kind)
        return NotImplemented if values is None else (kind, values(obj))


@cache
def _fields(kind: Any) -> Callable[[object], tuple[Any, ...]] | None:
    """What gives all that a value of a class is made of; None where that is not known."""
    if not is_dataclass(kind) or not all(each.init and not each.kw_only for each in fields(kind)):
        return None
    names = [each.name for each in fields(kind)]
    return attrgetter(*names) if len(names) > 1 else None


def _known(_position: int) -> object:
    """Stands for what all processes have; `_Unpickler` puts that in its place."""
    raise NotImplementedError


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Sequence[object]) -> None:
        super().__init__(file)
        self._known = known

    @override
    def find_class(self, module: str, name: str, /) -> Any:
        found = super().find_class(module, name)
        return self._known.__getitem__ if found is _known else found
