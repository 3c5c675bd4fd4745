"""A TCP proxy before a server, which counts what the server sends and can hold it back."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

BLOCK = 1 << 16


class CountingProxy:
    """One that listens; `url` stands for the server's."""

    def __init__(self, url: str) -> None:
        found = urlsplit(url)
        self.server = (found.hostname, found.port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.mutex = threading.Condition()
        self.sent = 0
        self.limit: int | None = None
        self.era = 0
        self.sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold_after(self, count: int) -> None:
        """Pass on so many bytes, and no more until `release`."""
        with self.mutex:
            self.sent, self.limit = 0, count

    def wait_until_held(self) -> None:
        """Return once that many have passed."""
        with self.mutex:
            assert self.mutex.wait_for(
                lambda: self.limit is not None and self.sent >= self.limit, 600
            )

    def release(self) -> None:
        """Pass on everything, and count anew: only what comes by connections that are yet to be made."""
        with self.mutex:
            self.sent, self.limit = 0, None
            self.era += 1
            self.mutex.notify_all()

    def cut(self) -> None:
        """Break every connection there is."""
        for each in self.sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.listener.close()
        self.release()
        self.cut()
        for each in self.sockets:
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.server)
                self.sockets += [client, server]
                for pair in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass_on, args=pair, daemon=True).start()

    def _pass_on(self, reader: socket.socket, writer: socket.socket, is_counted: bool) -> None:
        era = self.era
        with suppress(OSError):
            while data := reader.recv(BLOCK):
                if is_counted and era == self.era:
                    with self.mutex:
                        self.mutex.wait_for(lambda: self.limit is None or self.sent < self.limit)
                        self.sent += len(data) if era == self.era else 0
                        self.mutex.notify_all()
                writer.sendall(data)
        for each in (reader, writer):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@contextmanager
def counting(url: str) -> Iterator[CountingProxy]:
    """A proxy before the server of a URL."""
    proxy = CountingProxy(url)
    try:
        yield proxy
    finally:
        proxy.close()
