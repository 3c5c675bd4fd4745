"""The way into the cluster: a port on 127.0.0.1 that leads to its API server.

Run by up.py as a process of its own, with the Python of the virtual environment and nothing but the
standard library. It listens outside, then enters the cluster's network and connects from there.
"""

import ctypes
import os
import socket
import sys
import threading
from typing import Final

_CLONE_NEWNET: Final = 0x40000000

_CHUNK: Final = 1 << 18
"""Bytes that are passed on at once, at most."""


def serve(port: int, namespace: str, target: tuple[str, int]) -> None:
    """Forward connections until the process ends.

    Args:
        port: where it listens on 127.0.0.1.
        namespace: file of the network namespace, `/proc/<pid>/ns/net`.
        target: address and port inside.
    """
    with socket.create_server(("127.0.0.1", port), backlog=512) as listening:
        _enter(namespace)
        accept(listening, target)


def accept(listening: socket.socket, target: tuple[str, int]) -> None:
    """Pass on each connection that comes, in threads of its own, without end."""
    while True:
        outer, _ = listening.accept()
        threading.Thread(target=_connect, args=(outer, target), daemon=True).start()


def _enter(namespace: str) -> None:
    """Sockets made from now on are inside; the listening one stays outside."""
    file = os.open(namespace, os.O_RDONLY)
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(file, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), f"{namespace} cannot be entered")
    os.close(file)


def _connect(outer: socket.socket, target: tuple[str, int]) -> None:
    try:
        inner = socket.create_connection(target, timeout=10)
    except OSError:
        outer.close()
        return
    with outer, inner:
        for each in (outer, inner):
            each.settimeout(None)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        answers = threading.Thread(target=_copy, args=(inner, outer), daemon=True)
        answers.start()
        _copy(outer, inner)
        answers.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until one side ends, then let the other side know."""
    buffer = memoryview(bytearray(_CHUNK))
    try:
        while count := source.recv_into(buffer):
            sink.sendall(buffer[:count])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (source, sink):
            _end(each)


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], (sys.argv[3], int(sys.argv[4])))
