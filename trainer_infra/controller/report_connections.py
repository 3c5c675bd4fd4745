"""The connections of the status server: how many there are, and how long one may say nothing.

Mounted by `status_server` as the factory of its protocol. aiohttp has one limit for the first request of a
connection and for a pause between requests; the reference has two. Neither has a limit of their number,
so that one pod could fill the manager's memory: here the connection goes that was used least recently, and
its client connects again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from aiohttp.web_protocol import RequestHandler


class ReportConnections:
    """Open connections, the one that was used last at the end."""

    def __init__(self, make: Callable[[], RequestHandler], silence: float, most: int) -> None:
        """None yet.

        Args:
            make: makes the protocol of a connection.
            silence: seconds until its first request has a head, its handshake included.
            most: how many may be open.
        """
        self._make = make
        self._silence = silence
        self._most = most
        self._open: OrderedDict[RequestHandler, None] = OrderedDict()
        self._silent: set[RequestHandler] = set()

    def __call__(self) -> RequestHandler:
        """The protocol of a new connection."""
        connection = self._make()
        self._open[connection] = None
        self._silent.add(connection)
        asyncio.get_running_loop().call_later(self._silence, self._end_if_silent, connection)
        if len(self._open) > self._most:
            self._make_room()
        return connection

    def speaks(self, connection: RequestHandler) -> None:
        """It has sent the head of a request."""
        self._silent.discard(connection)
        if connection in self._open:
            self._open.move_to_end(connection)

    def _end_if_silent(self, connection: RequestHandler) -> None:
        if connection in self._silent:
            self._silent.discard(connection)
            self._end(connection)
        elif connection.transport is None:
            self._open.pop(connection, None)  # it was lost: most last for one request

    def _make_room(self) -> None:
        """Forget connections that are lost; where that is not enough, end one."""
        for each in [each for each in self._open if not self._is_alive(each)]:
            del self._open[each]
        for each in self._open:
            if len(self._open) > self._most and each.transport is not None:
                self._end(each)
                break

    def _is_alive(self, connection: RequestHandler) -> bool:
        """Whether it is connected, or its handshake, which has a limit of its own, goes on."""
        return connection.transport is not None or connection in self._silent

    def _end(self, connection: RequestHandler) -> None:
        """End it, unless it is lost already, or still in its handshake."""
        if connection.transport is not None:
            self._open.pop(connection, None)
            connection.force_close()
