"""One event loop in the background, for callers that are not asynchronous.

Connections outlive a call only in a loop that does. The loop runs in a daemon thread, starts with
the first call, and a forked child gets one of its own.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Generator
from concurrent import futures
from typing import Any, Final, TypeVar, cast

T = TypeVar("T")

_CANCELLED_WITHIN: Final = 5.0
"""Seconds that a cancelled coroutine gets to end, so that its connection is closed."""

_END: Final = object()


class _Background:
    """The loop of one process; its thread ends with the process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="kube-loop", daemon=True)
        self.thread.start()


class _Process:
    """The loop of this process, if one was needed yet."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: a forked child has neither the thread nor anyone who frees its lock."""
        self._lock = threading.Lock()
        self._background: _Background | None = None

    def background(self) -> _Background:
        with self._lock:
            if self._background is None:
                self._background = _Background()
            return self._background


_process: Final = _Process()
os.register_at_fork(after_in_child=_process.forget)


def run_in_loop(coroutine: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
    """The result of a coroutine that runs in the background loop.

    Safe from several threads at a time. After a timeout or Ctrl-C the coroutine is cancelled, and
    has had its time to end, before this raises.

    Args:
        coroutine: what to run; its connections must have been made in this loop too.
        timeout: seconds; None for no end.

    Raises:
        TimeoutError: It took longer.
        RuntimeError: Called from the loop itself, where it would wait forever.
    """
    background = _process.background()
    if threading.current_thread() is background.thread:
        coroutine.close()
        raise RuntimeError("loop.run was called in the background loop; await the coroutine there")
    call = _Call(coroutine, timeout)
    background.loop.call_soon_threadsafe(call.start)
    try:
        return cast("T", call.ended.result())
    finally:
        if not call.ended.done():
            background.loop.call_soon_threadsafe(call.cancel)
            futures.wait([call.ended], _CANCELLED_WITHIN)


def iterate_in_loop(source: AsyncIterator[T]) -> Generator[T, None, None]:
    """The items of an asynchronous iterator, one by one as they are asked for.

    Closing this iterator, or leaving it to the garbage collector, closes the source and with it
    the request.
    """
    try:
        while (item := run_in_loop(_next(source))) is not _END:
            yield item
    finally:
        if isinstance(source, AsyncGenerator):
            # The garbage collector may close a generator in the loop's own thread.
            background = _process.background()
            if threading.current_thread() is background.thread:
                background.loop.create_task(_closed(source))
            else:
                run_in_loop(_closed(source), _CANCELLED_WITHIN)


class _Call:
    """One coroutine on its way through the loop."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], timeout: float | None) -> None:
        self.ended: futures.Future[Any] = futures.Future()
        self._coroutine = coroutine
        self._timeout = timeout
        self._task: asyncio.Task[Any] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._limited())
        self._task.add_done_callback(self._hand_over)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _limited(self) -> Any:
        async with asyncio.timeout(self._timeout):
            return await self._coroutine

    def _hand_over(self, task: "asyncio.Task[Any]") -> None:
        self._coroutine.close()  # one that was cancelled before it began
        if task.cancelled():
            self.ended.set_exception(futures.CancelledError())
        elif error := task.exception():
            self.ended.set_exception(error)
        else:
            self.ended.set_result(task.result())


async def _next(source: AsyncIterator[Any]) -> Any:
    return await anext(source, _END)


async def _closed(source: "AsyncGenerator[Any, Any]") -> None:
    await source.aclose()
