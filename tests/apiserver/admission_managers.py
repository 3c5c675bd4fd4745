"""JobSet's and Kueue's managers as processes beside a bare API server, whose webhooks they are.

For test_refused_objects.py. Programs, CRDs and webhook configurations are those of the published Go
modules; only where a webhook is reached is ours: on loopback, with a certificate made here.
"""

import base64
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import build, crds, jobset, kueue
from from_source.cluster.build import Program
from from_source.cluster.client import Client
from from_source.cluster.process import Process
from tests.cluster_programs import NewServer
from tests.kube import certificate
from tools import schemas
from trainer_infra.json_values import JSONObject
from trainer_infra.local.network import reserved_port

JSON = dict[str, Any]

_WEBHOOKS: Final = Path("config/components/webhook/manifests.yaml")
"""Where both modules have the configurations of their webhooks."""
_CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1"
_JOB_FRAMEWORKS: Final = ("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
_JUDGED: Final = frozenset(
    ("clusterqueues", "cohorts", "resourceflavors", "workloads", "jobsets", "trainjobs")
)
"""Resources of Kueue's webhooks that are of use here; the server has no other of theirs."""


@dataclass(frozen=True, slots=True)
class Manager:
    """A program that serves webhooks."""

    program: Program
    """What is built."""
    module: tuple[str, str]
    """The Go module that has its manifests, and its version."""
    configuration: Mapping[str, Any]
    """What it is told, besides where it listens."""


JOBSET: Final = Manager(
    jobset.JOBSET,
    schemas.JOBSET,
    {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": "0"},
    },
)
KUEUE: Final = Manager(
    kueue.KUEUE,
    kueue.MODULE,
    {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": kueue.NAMESPACE,
        "health": {"healthProbeBindAddress": "127.0.0.1:0"},
        "manageJobsWithoutQueueName": False,
        "integrations": {"frameworks": [*_JOB_FRAMEWORKS]},
        "featureGates": {"VisibilityOnDemand": False},
    },
)


@contextmanager
def running(
    own_api_server: NewServer,
    kueue_definitions: Sequence[JSONObject],
) -> Iterator[Client]:
    """A connection to a server with all kinds of Trainer, JobSet and Kueue, and both managers.

    Args:
        own_api_server: what starts the server.
        kueue_definitions: the CRDs of Kueue's release.

    Raises:
        NotAvailable: A part cannot be built or does not come up.
    """
    with ExitStack() as ending:
        address, kubeconfig = ending.enter_context(own_api_server())
        client = ending.enter_context(Client(address))
        client.create("/api/v1/namespaces", {"metadata": {"name": kueue.NAMESPACE}})
        ports = {
            each.program.name: ending.enter_context(reserved_port()) for each in (JOBSET, KUEUE)
        }
        public, private = certificate.self_signed("webhooks")
        crds.install(client, tuple(_converted(kueue_definitions, ports["kueue"], public)))
        for manager in (JOBSET, KUEUE):
            port = ports[manager.program.name]
            folder = kubeconfig.parent / manager.program.name
            process = _started(manager, kubeconfig, folder, port, (public, private))
            ending.callback(process.kill)
            process.wait_until_ready(lambda port=port: _listens(port))  # type: ignore[misc]
            _register(client, manager, port, public)
        yield client


def _converted(definitions: Sequence[JSONObject], port: int, authority: bytes) -> Iterator[JSON]:
    """Kueue's CRDs; versions are converted by its manager."""
    for each in definitions:
        spec = each["spec"]
        if "conversion" in spec:
            reached = _reached(f"https://127.0.0.1:{port}/convert", authority)
            webhook = {**spec["conversion"]["webhook"], "clientConfig": reached}
            spec = {**spec, "conversion": {"strategy": "Webhook", "webhook": webhook}}
        yield {**each, "spec": spec}


def _started(
    manager: Manager, kubeconfig: Path, folder: Path, port: int, pair: tuple[bytes, bytes]
) -> Process:
    """The manager, with `/etc` replaced by a folder of ours in a mount namespace of its own.

    Kueue looks for the certificate of its metrics in a folder below `/etc` that cannot be set.
    """
    certificates = folder / "etc" / "kueue" / "metrics" / "certs"
    certificates.mkdir(parents=True)
    for name, content in zip(("tls.crt", "tls.key"), pair, strict=True):
        (certificates / name).write_bytes(content)
    configuration = {
        **manager.configuration,
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": str(certificates)},
        "metrics": {"bindAddress": "0"},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }
    file = folder / "configuration.yaml"
    file.write_text(json.dumps(configuration))
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    inside = f'mount --bind {folder / "etc"} /etc && exec "$0" "$@"'
    program = str(build.built(manager.program))
    arguments = (f"--kubeconfig={kubeconfig}", f"--config={file}")
    command = ("unshare", "--mount", *as_root, "sh", "-c", inside, program, *arguments)
    return Process(command, folder)


def _register(client: Client, manager: Manager, port: int, authority: bytes) -> None:
    """Make the server ask the webhooks that judge objects of kinds that it has."""
    file = schemas.module_folder(*manager.module) / _WEBHOOKS
    for each in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
        webhooks = [
            {**one, "clientConfig": _reached(_url(port, one), authority)}
            for one in each["webhooks"]
            if _resources(one) & _JUDGED
        ]
        metadata = {"name": f"{manager.program.name}-{each['kind'].lower()}"}
        path = f"{_CONFIGURATIONS}/{each['kind'].lower()}s"
        answer = client.create(path, {**each, "metadata": metadata, "webhooks": webhooks})
        assert answer.message == ""


def _url(port: int, webhook: JSON) -> str:
    return f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"


def _resources(webhook: JSON) -> set[str]:
    return {resource for rule in webhook["rules"] for resource in rule["resources"]}


def _reached(url: str, authority: bytes) -> JSON:
    return {"url": url, "caBundle": base64.b64encode(authority).decode()}


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
