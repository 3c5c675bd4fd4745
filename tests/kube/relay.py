"""A forwarder of TCP connections, which can lose them: what is between a client and a server."""

import socket
import threading
from contextlib import suppress


class Relay:
    """Forwards one port of the loopback interface to another, in threads."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.accepts = True
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self) -> int:
        """Lose every connection; how many there were."""
        ends = list(self._open)
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    def close(self) -> None:
        self.accepts = False
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if not self.accepts:
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                self._open |= {client, server}
                back = threading.Thread(target=_pump, args=(server, client), daemon=True)
                back.start()
                _pump(client, server)
                back.join()
                self._open -= {client, server}


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
