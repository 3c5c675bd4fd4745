"""Certificates of the webhooks on a real API server: made, rotated under load, shared and repaired."""

import base64
import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from from_source.cluster.client import Client
from from_source.cluster.kube_apiserver import Address
from from_source.cluster.waiting import wait_until
from tests.apiserver import trainer_webhooks
from tests.apiserver.trainer_webhooks import (
    CONFIGURATIONS,
    NAMES,
    OPTIONS,
    SECRET,
    WITHIN,
    Manager,
    trainjob,
)
from tests.cluster_programs import NewServer
from tests.controller import pem
from trainer_infra import catalog
from trainer_infra.controller.certificate_rotation import CertificateOptions, CertificateRotation
from trainer_infra.controller.serving_certificate import KEYS, CertificatePeriods
from trainer_infra.controller.tls_options import ChangingTLSContext, TLSOptions
from trainer_infra.kube import http, loop
from trainer_infra.kube.refusals import Forbidden

JSON = dict[str, Any]

GROUP: Final = "/apis/trainer.kubeflow.org/v1alpha1"
JOBS: Final = f"{GROUP}/namespaces/default/trainjobs"
SLOWLY: Final = replace(OPTIONS, settling=3.0)
"""A bundle has time to come to the API server, also on a machine that is busy."""
WITHOUT_END: Final = replace(
    SLOWLY, periods=CertificatePeriods(overlap=timedelta(seconds=5), authority_share=0.0)
)
"""An authority is renewed as soon as it is alone; all are valid for years, so no pause lets one expire."""
ROTATIONS: Final = 2


@dataclass
class Cluster:
    address: Address
    kubeconfig: Path
    client: Client

    def bundle(self) -> bytes:
        """What the API server trusts; the same in every webhook, or nothing."""
        found = {
            each["clientConfig"].get("caBundle", "")
            for kind, name in NAMES.items()
            for each in self.client.get(f"{CONFIGURATIONS}/{kind.lower()}s/{name}").body["webhooks"]
        }
        return base64.b64decode(found.pop()) if len(found) == 1 else b""

    def secret(self) -> dict[str, bytes]:
        data = self.client.get(SECRET).body.get("data") or {}
        return {key: base64.b64decode(each) for key, each in data.items()}

    def write(self, contents: dict[str, bytes]) -> None:
        """Replace what is in the Secret, whoever writes at the same time."""
        data = {key: base64.b64encode(each).decode() for key, each in contents.items()}
        body = {"metadata": {"name": OPTIONS.secret}, "data": data}
        assert self.client.replace(SECRET, body).message == ""


@pytest.fixture(scope="module")
def server(
    own_api_server: NewServer,
) -> Iterator[Cluster]:
    with own_api_server() as (address, kubeconfig), Client(address) as client:
        runtime = catalog.get("torch-distributed").to_wire()
        assert client.create(f"{GROUP}/clustertrainingruntimes", runtime).message == ""
        yield Cluster(address, kubeconfig, client)


@pytest.fixture
def cluster(server: Cluster) -> Cluster:
    """The server as it is before anything is installed."""
    server.client.delete(SECRET)
    for kind, name in NAMES.items():
        server.client.delete(f"{CONFIGURATIONS}/{kind.lower()}s/{name}")
    return server


@dataclass
class Load:
    """TrainJobs without a pause, and handshakes with every replica, by threads of their own."""

    cluster: Cluster
    ports: tuple[int, ...]
    ended: threading.Event = field(default_factory=threading.Event)
    created: int = 0
    handshakes: int = 0
    failures: list[str] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=each) for each in (self._create, self._shake)]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self.ended.set()
            for each in threads:
                each.join()

    def _create(self) -> None:
        with Client(self.cluster.address) as client:
            while not self.ended.is_set():
                name = f"j-{uuid4().hex[:12]}"
                answer = client.create(JOBS, trainjob(name), dryRun="All")
                self.created += 1
                if answer.message:
                    self.failures.append(answer.message)

    def _shake(self) -> None:
        with Client(self.cluster.address) as client:
            watched = replace(self.cluster, client=client)
            while not self.ended.is_set():
                for port in self.ports:
                    self._handshake(watched, port)

    def _handshake(self, cluster: Cluster, port: int) -> None:
        """A replica shows what the bundle trusts; a bundle that changed in between is not a failure."""
        before = cluster.bundle()
        problem = refused(before, port)
        self.handshakes += 1
        if problem and cluster.bundle() == before != b"":
            self.failures.append(problem)


def refused(bundle: bytes, port: int) -> str:
    """Why a client with that bundle does not trust the server; empty where it does."""
    if not bundle:
        return "no bundle"
    context = pem.context(bundle)
    try:
        with (
            socket.create_connection(("localhost", port), timeout=WITHIN) as connection,
            context.wrap_socket(connection, server_hostname=OPTIONS.dns_names[0]),
        ):
            return ""
    except ssl.SSLError as error:
        return str(error)


@contextmanager
def both(cluster: Cluster, options: CertificateOptions) -> Iterator[tuple[Manager, ...]]:
    """Two replicas with one Secret; the API server calls the first, the second looks seldom."""
    serving = trainer_webhooks.serving
    with (
        serving(cluster.kubeconfig, certificates=options) as first,
        serving(cluster.kubeconfig, certificates=replace(options, interval=3.0)) as second,
    ):
        served = (first, second)
        trainer_webhooks.install(cluster.client, first.webhooks.port)
        for each in served:
            trainer_webhooks.wait_until_ready(each, cluster.client)
        yield served


def authorities(bundle: bytes) -> set[bytes]:
    end = b"-----END CERTIFICATE-----\n"
    return {each for each in bundle.split(end) if each}


def test_no_call_fails_while_the_authority_rotates_twice_with_two_replicas(
    cluster: Cluster,
) -> None:
    with both(cluster, WITHOUT_END) as served:
        load = Load(cluster, tuple(each.webhooks.port for each in served))
        seen: set[bytes] = set()

        def has_rotated() -> bool:
            bundle = cluster.bundle()
            seen.update(authorities(bundle))
            gone = seen - authorities(bundle) if bundle else set()
            return len(gone) >= ROTATIONS or bool(load.failures)

        with load.running():
            assert wait_until(has_rotated, WITHIN)
        assert load.failures == []
        assert load.created > 50
        assert load.handshakes > 50
        sys.stdout.write(f"\n{load.created} TrainJobs, {load.handshakes} handshakes\n")


def damaged(cluster: Cluster) -> list[tuple[str, Callable[[], object]]]:
    """What can become of the Secret."""
    garbage = dict.fromkeys(KEYS, b"garbage")
    sound = cluster.secret()
    return [
        ("garbage", lambda: cluster.write(garbage)),
        ("empty", lambda: cluster.write({})),
        ("no key of the authority", lambda: cluster.write({**cluster.secret(), "ca.key": b""})),
        ("half", lambda: cluster.write({**cluster.secret(), "tls.key": sound["ca.key"]})),
        ("gone", lambda: cluster.client.delete(SECRET)),
    ]


def is_whole(cluster: Cluster, served: tuple[Manager, ...]) -> bool:
    """Whether Secret, configurations and replicas agree, and the newest authority signed."""
    secret, bundle = cluster.secret(), cluster.bundle()
    return (
        set(secret) == set(KEYS)
        and secret["ca.crt"] == bundle
        and pem.trusts(
            pem.first(bundle), secret["tls.crt"], datetime.now(UTC), OPTIONS.dns_names[0]
        )
        and all(each.webhooks.authorities == bundle for each in served)
        and not any(refused(bundle, each.webhooks.port) for each in served)
    )


def test_a_secret_that_is_damaged_or_deleted_is_repaired_and_no_call_fails(
    cluster: Cluster,
) -> None:
    with both(cluster, SLOWLY) as served:
        load = Load(cluster, tuple(each.webhooks.port for each in served))
        with load.running():
            for name, damage in damaged(cluster):
                before = cluster.secret()
                damage()

                def is_repaired(before: dict[str, bytes] = before) -> bool:
                    return cluster.secret() != before and is_whole(cluster, served)

                assert wait_until(is_repaired, WITHIN), name
        assert load.failures == []
        assert load.created > 20


def test_an_authority_of_the_reference_stays_the_one_that_signs(cluster: Cluster) -> None:
    namespace = {"metadata": {"name": OPTIONS.namespace}}
    cluster.client.create("/api/v1/namespaces", namespace)
    theirs = pem.of_the_reference(OPTIONS.dns_names[:1])
    data = {key: base64.b64encode(each).decode() for key, each in theirs.items()}
    secret = {"metadata": {"name": OPTIONS.secret}, "data": data}
    cluster.client.create(SECRET.rpartition("/")[0], secret)
    with trainer_webhooks.serving(cluster.kubeconfig) as served:
        trainer_webhooks.install(cluster.client, served.webhooks.port)
        trainer_webhooks.wait_until_ready(served, cluster.client)
        assert cluster.bundle() == theirs["ca.crt"]
        kept = cluster.secret()
        assert {key for key in KEYS if kept[key] == theirs[key]} == {"ca.crt", "ca.key"}
        assert refused(cluster.bundle(), served.webhooks.port) == ""


def test_replicas_that_start_at_once_on_an_empty_secret_agree(cluster: Cluster) -> None:
    """The reference's manifests have the Secret, without contents."""
    trainer_webhooks.install(cluster.client, 1)
    secret = {"metadata": {"name": OPTIONS.secret}}
    cluster.client.create(SECRET.rpartition("/")[0], secret)

    async def start_five() -> list[bytes]:
        import asyncio  # noqa: PLC0415  not in the file's other tests

        client = await http.connect_client(str(cluster.kubeconfig))
        replicas = [
            CertificateRotation(client, ChangingTLSContext(TLSOptions()), OPTIONS) for _ in range(5)
        ]
        await asyncio.gather(*(each.step() for each in replicas))
        await asyncio.gather(*(each.step() for each in replicas))
        await client.close()
        assert all(each.is_ready for each in replicas)
        return [each.authorities for each in replicas]

    assert set(loop.run_in_loop(start_five())) == {cluster.bundle()}
    assert pem.count(cluster.bundle()) == 1


def rights(verbs: tuple[str, ...], resource: str, group: str, *names: str) -> JSON:
    only = {"resourceNames": [*names]} if names else {}
    return {"apiGroups": [group], "resources": [resource], "verbs": [*verbs], **only}


LEAST: Final = (
    rights(("get", "patch"), "secrets", "", OPTIONS.secret),
    rights(
        ("get", "patch"),
        "mutatingwebhookconfigurations",
        "admissionregistration.k8s.io",
        OPTIONS.mutating,
    ),
    rights(
        ("get", "patch"),
        "validatingwebhookconfigurations",
        "admissionregistration.k8s.io",
        OPTIONS.validating,
    ),
)
"""Rights that keeping the certificates needs where the manifests have the Secret."""


def test_named_objects_are_all_that_the_rights_have_to_cover(cluster: Cluster) -> None:
    trainer_webhooks.install(cluster.client, 1)
    cluster.client.create(SECRET.rpartition("/")[0], {"metadata": {"name": OPTIONS.secret}})
    kubeconfig = account(cluster, LEAST)

    async def step() -> bytes:
        client = await http.connect_client(kubeconfig)
        try:
            rotation = CertificateRotation(client, ChangingTLSContext(TLSOptions()), OPTIONS)
            await rotation.step()
            return rotation.authorities if rotation.is_ready else b""
        finally:
            await client.close()

    assert loop.run_in_loop(step()) == cluster.bundle() != b""
    cluster.client.delete(SECRET)
    with pytest.raises(Forbidden, match="create"):
        loop.run_in_loop(step())


def account(cluster: Cluster, rules: tuple[JSON, ...]) -> str:
    """A kubeconfig of a service account with these rights."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    client = cluster.client
    accounts = f"/api/v1/namespaces/{OPTIONS.namespace}/serviceaccounts"
    metadata = {"metadata": {"name": "least"}}
    client.create(accounts, metadata)
    client.create(f"{rbac}/clusterroles", {**metadata, "rules": [*rules]})
    subject = {"kind": "ServiceAccount", "name": "least", "namespace": OPTIONS.namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "least"}
    binding = {**metadata, "subjects": [subject], "roleRef": role}
    assert client.create(f"{rbac}/clusterrolebindings", binding).message == ""
    asked: JSON = {"spec": {}}
    token = client.create(f"{accounts}/least/token", asked).body["status"]["token"]
    whole = json.loads(cluster.kubeconfig.read_text())
    (user,) = whole["users"]
    return json.dumps({**whole, "users": [{**user, "user": {"token": token}}]})


def test_ready_before_there_is_anything_that_calls_because_an_installer_waits_for_it(
    cluster: Cluster,
) -> None:
    cluster.client.create("/api/v1/namespaces", {"metadata": {"name": OPTIONS.namespace}})
    with trainer_webhooks.serving(cluster.kubeconfig) as served:
        assert wait_until(lambda: served.webhooks.is_ready, WITHIN)
        trainer_webhooks.install(cluster.client, served.webhooks.port)
        assert wait_until(lambda: cluster.bundle() == served.webhooks.authorities, WITHIN)


def test_the_options_are_those_of_the_references_manifests() -> None:
    assert CertificateOptions().dns_names == (
        "kubeflow-trainer-controller-manager.kubeflow-system.svc",
        "kubeflow-trainer-controller-manager.kubeflow-system.svc.cluster.local",
    )
