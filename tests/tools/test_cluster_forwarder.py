"""The forwarder passes bytes on in both directions, and the end of each direction."""

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from from_source.cluster import forwarder

SIZE = 3_000_000


@contextlib.contextmanager
def forwarding(target: tuple[str, int]) -> Iterator[socket.socket]:
    """A connection to a server by way of the forwarder."""

    def accept() -> None:
        with contextlib.suppress(OSError):
            forwarder.accept(listening, target)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = threading.Thread(target=accept)
        accepting.start()
        with socket.create_connection(listening.getsockname(), timeout=600) as client:
            yield client
        listening.shutdown(socket.SHUT_RDWR)
        accepting.join()


@pytest.fixture
def echo() -> Iterator[tuple[str, int]]:
    """A server that says everything back after the client has ended its side."""

    def answer() -> None:
        client, _ = listening.accept()
        with client:
            client.sendall(b"".join(iter(lambda: client.recv(65536), b"")))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer)
        answering.start()
        yield listening.getsockname()
        answering.join()


def test_it_passes_on_bytes_and_the_end_of_either_side(echo: tuple[str, int]) -> None:
    sent = bytes(range(250)) * (SIZE // 250)
    with forwarding(echo) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert b"".join(iter(lambda: client.recv(65536), b"")) == sent


def test_a_connection_to_nowhere_is_closed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        nowhere = gone.getsockname()
    with forwarding(nowhere) as client:
        assert client.recv(1) == b""
