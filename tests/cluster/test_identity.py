"""Which cluster a run is on: by the UID of kube-system, else by authorities, else by URL."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster.submissions import Job
from tests.cluster.test_served import uid_of
from tests.cluster.world import World
from trainer_infra.cluster import served_kinds
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.served_kinds import ClusterIdentity
from trainer_infra.kube.refusals import Unauthorized


def pem(content: bytes) -> str:
    text = base64.encodebytes(content).decode()
    return f"-----BEGIN CERTIFICATE-----\n{text}-----END CERTIFICATE-----\n"


def mark(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


A, B = ClusterIdentity("u1", frozenset({"a"})), ClusterIdentity("u2", frozenset({"b"}))
URL, OTHER_URL = ClusterIdentity(server="https://a"), ClusterIdentity(server="https://b")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (A, A, True),
        (A, B, False),
        (ClusterIdentity("u1"), A, True),
        (ClusterIdentity("u1"), B, False),
        (ClusterIdentity("u1", frozenset({"a"})), ClusterIdentity("u1", frozenset({"b"})), True),
        (ClusterIdentity("u1", frozenset({"a"})), ClusterIdentity("u2", frozenset({"a"})), False),
        (ClusterIdentity(authorities=frozenset({"a", "old"})), A, True),
        (ClusterIdentity(authorities=frozenset({"old"})), A, False),
        (ClusterIdentity("u1"), ClusterIdentity(authorities=frozenset({"a"})), None),
        (URL, URL, True),
        (URL, OTHER_URL, False),
        (URL, ClusterIdentity("u1", frozenset({"a"}), "https://a"), True),
        (URL, ClusterIdentity("u1", frozenset({"a"}), "https://b"), False),
        (URL, A, None),
    ],
)
def test_the_best_that_both_know_decides(
    one: ClusterIdentity, other: ClusterIdentity, same: bool | None
) -> None:
    assert (one.same(other), other.same(one)) == (same, same)


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (ClusterIdentity("u1"), "cluster u1"),
        (ClusterIdentity("u1", frozenset({"b", "a"})), "cluster u1 authority a,b"),
        (ClusterIdentity(authorities=frozenset({"a"})), "cluster authority a"),
        (URL, "https://a"),
    ],
)
def test_its_text_says_it_whole(known: ClusterIdentity, text: str) -> None:
    assert (str(known), served_kinds.identity_from_text(text)) == (text, known)


def test_a_bundle_has_a_fingerprint_for_each_certificate_and_none_for_what_is_none() -> None:
    broken = "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n"
    bundle = f"# ours\n{pem(b'one')}{broken}\n{pem(b'two' * 50)}{pem(b'one')}"
    assert served_kinds.fingerprints(bundle) == {mark(b"one"), mark(b"two" * 50)}
    assert served_kinds.fingerprints("") == frozenset()


def publish(world: World, content: bytes) -> None:
    """What kube-controller-manager does in every namespace."""
    value = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": pem(content)}}
    world.make("ConfigMap", value)


@pytest.fixture
def fresh(api_server: RunningServer) -> Cluster:
    """The cluster, asked for the first time."""
    return Cluster(str(api_server.kubeconfig), None)


def test_a_namespace_tells_the_authorities_to_who_asks_for_it(
    fresh: Cluster, api_server: RunningServer, world: World, job: Job
) -> None:
    uid = uid_of(api_server, "kube-system")
    assert fresh.host() == f"cluster {uid}"
    publish(world, b"one")
    assert fresh.submit(job.submission()).host == f"cluster {uid} authority {mark(b'one')}"
    for host, same in (
        (f"cluster {uid}", True),
        (f"cluster authority {mark(b'one')}", True),
        (f"cluster authority {mark(b'two')}", False),
        ("cluster 1 authority 2", False),
        (api_server.address.url, True),
        ("https://127.0.0.1:1", False),
    ):
        assert fresh.is_here(host, world.namespace) is same, host
    fresh.close()


def test_without_any_authority_another_users_identity_cannot_be_compared(
    fresh: Cluster, world: World
) -> None:
    assert fresh.is_here(f"cluster authority {mark(b'one')}", world.namespace) is None
    fresh.close()


def test_a_token_that_is_not_known_is_no_other_cluster(
    api_server: RunningServer, tmp_path: Path
) -> None:
    config = json.loads(api_server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": "planted-token"}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    cluster = Cluster(str(file), None)
    with pytest.raises(Unauthorized, match="sign in again") as error:
        cluster.is_here("cluster 1", "default")
    assert "planted-token" not in str(error.value)
