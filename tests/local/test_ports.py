"""A port that is reserved for the pods of an attempt stays theirs until they bind it."""

import random
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from trainer_infra.local import network
from trainer_infra.local.network import LOOPBACK

GIVEN_TO_ANY_PROGRAM = Path("/proc/sys/net/ipv4/ip_local_port_range")
DEFAULT = 32_768


def listener(port: int) -> socket.socket:
    """A program that listens on a port."""
    return socket.create_server((LOOPBACK, port))


@pytest.fixture
def same_choice(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every supervisor tries the same ports in the same order; these are free now."""
    with ExitStack() as reserved:
        free = [reserved.enter_context(network.reserved_port()) for _ in range(3)]
    monkeypatch.setattr(random.SystemRandom, "sample", lambda *_: free)
    return free


def test_two_supervisors_never_reserve_the_same_port(same_choice: list[int]) -> None:
    with network.reserved_port() as first, network.reserved_port() as second:
        assert [first, second] == same_choice[:2]


def test_a_port_on_which_a_program_listens_is_not_reserved(same_choice: list[int]) -> None:
    with listener(same_choice[0]), network.reserved_port() as port:
        assert port == same_choice[1]


def test_the_pods_bind_the_port_while_it_is_reserved() -> None:
    with network.reserved_port() as port, listener(port) as bound:
        assert bound.getsockname()[1] == port


def test_a_port_is_free_again_afterwards(same_choice: list[int]) -> None:
    for _ in range(2):
        with network.reserved_port() as port:
            assert port == same_choice[0]


def test_a_port_is_there_when_none_of_the_range_is_free(same_choice: list[int]) -> None:
    with ExitStack() as taken:
        for port in same_choice:
            taken.enter_context(listener(port))
        with network.reserved_port() as port:
            assert port not in (0, *same_choice)


@pytest.mark.skipif(not GIVEN_TO_ANY_PROGRAM.exists(), reason="the range of Linux")
def test_the_kernel_gives_no_port_of_the_range_to_another_program() -> None:
    lowest, _ = map(int, GIVEN_TO_ANY_PROGRAM.read_text().split())
    if lowest < DEFAULT:
        pytest.skip(f"this machine gives ports from {lowest}")
    assert max(network.RANGE) < lowest
