"""Endpoint names, mount paths and `$(VAR)` in texts. Pure."""

from pathlib import Path

import pytest

from trainer_infra.local import network, sources
from trainer_infra.local.pod_environment import Mounts

NET = network.loopback_network(["tj-node-0-0.tj", "tj-node-0-1.tj", "tj-node-0-10.tj"], "ns", 41234)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tj-node-0-0.tj", "127.0.0.1"),
        ("tj-node-0-0.tj:29500", "127.0.0.1:41234"),
        ("tcp://tj-node-0-10.tj.ns.svc:29500/x", "tcp://127.0.0.1:41234/x"),
        ("tj-node-0-1.tj.ns.svc.cluster.local:8080", "127.0.0.1:8080"),
        ("tj-node-0-0.tj:295001", "127.0.0.1:295001"),
        ("a,tj-node-0-0.tj,tj-node-0-1.tj", "a,127.0.0.1,127.0.0.1"),
        ("see tj-node-0-0.tj.", "see 127.0.0.1."),
        ("--port=29500 :29500 other:29500", "--port=29500 :29500 other:29500"),
        ("my-tj-node-0-0.tj tj-node-0-0.tjx tj-node-0-0.tj.example.org", None),
        ("tj-node-0-2.tj", None),
    ],
)
def test_an_endpoint_name_becomes_loopback_with_the_port_behind_it(
    text: str, expected: str | None
) -> None:
    assert network.local_text(text, NET) == (text if expected is None else expected)


def test_no_endpoints_change_nothing() -> None:
    assert network.local_text("a:29500", network.loopback_network([], "ns", 1)) == "a:29500"


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("PET_MASTER_PORT", "29500", "41234"),
        ("PET_MASTER_PORT", "29501", "29501"),
        ("DMLC_TRACKER_PORT", "29500", "41234"),
        ("PORT", "29500", "29500"),
    ],
)
def test_only_the_rendered_port_variable_is_replaced(name: str, value: str, expected: str) -> None:
    assert network.local_variable(name, value, NET) == expected


MOUNTS = Mounts({"/data": Path("/v/data"), "/data/deep": Path("/w"), "/opt/x": Path("/opt/x/y")})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data", "/v/data"),
        ("--in=/data/a:/data/deep/b", "--in=/v/data/a:/w/b"),
        ("file:///data/a", "file:///v/data/a"),
        ("s3://data/a /data.bak /database my/data ~/data ./data //data", None),
        ("cat '/data'>/opt/x/z", "cat '/v/data'>/opt/x/y/z"),
    ],
)
def test_a_mount_path_is_replaced_at_path_boundaries_once(text: str, expected: str | None) -> None:
    assert MOUNTS.local(text) == (text if expected is None else expected)


def test_the_folder_of_a_path_below_a_mount_is_known() -> None:
    assert MOUNTS.folder("/data/deep/a") == Path("/w/a")
    assert MOUNTS.folder("/data/a") == Path("/v/data/a")
    assert MOUNTS.folder("/database") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A) $$$(A) $$", "$(A) $1 $"),
        ("$(A $A ${A} $", "$(A $A ${A} $"),
    ],
)
def test_references_expand_as_in_kubernetes(text: str, expected: str) -> None:
    assert sources.expand_references(text, {"A": "1"}) == expected
