"""Kueue as a process of the host beside an API server that has no nodes: for tests of several clusters.

The API server calls the process's webhooks of TrainJobs, by the name of a Service that leads to this machine. The
others see nothing: what they would write into a job, its test writes.
"""

import base64
import json
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from from_source.cluster import build, kubectl, kueue
from from_source.cluster.process import Process
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from tests.kube import real_server
from tests.kube.real_server import RealServer
from trainer_infra.local.network import reserved_port
from trainer_infra.platform.kueue import FRAMEWORKS

JSON = dict[str, Any]

_INSTALLED = frozenset({
    "Namespace", "CustomResourceDefinition", "Secret", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
})  # fmt: skip
_NOTHING = {
    "apiGroups": ["none.example.com"],
    "apiVersions": ["v1"],
    "resources": ["nothings"],
    "operations": ["CREATE"],
}
_CERTIFICATE = "kueue-webhook-server-cert"


@dataclass(frozen=True)
class LoneCluster:
    """An API server with Kueue, and without nodes."""

    server: RealServer

    def namespace(self, name: str) -> Namespace:
        """A namespace of it."""
        return Namespace(name, self.server.kubeconfig, kubectl.program())

    def create(self, *objects: JSON) -> None:
        """Make objects of any namespace."""
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        where = ("--kubeconfig", str(self.server.kubeconfig))
        kubectl.run(*where, "create", "--filename", "-", given=json.dumps(items))

    def kubeconfig(self) -> str:
        """As Kueue takes one of a worker: everything is in it."""
        config = json.loads(self.server.kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        authority = (self.server.folder / cluster.pop("certificate-authority")).read_bytes()
        cluster["certificate-authority-data"] = base64.b64encode(authority).decode()
        return json.dumps(config)


@contextmanager
def lone_cluster() -> Iterator[LoneCluster]:
    """Such a cluster, until the test is done."""
    with ExitStack() as stack:
        server = stack.enter_context(real_server.running())
        made = LoneCluster(server)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lone-kueue-")))
        health, metrics, webhook = (stack.enter_context(reserved_port()) for _ in range(3))
        made.create(*_installed(webhook))
        (folder / "certificates").mkdir()
        configuration = {
            "apiVersion": "config.kueue.x-k8s.io/v1beta2",
            "kind": "Configuration",
            "namespace": kueue.NAMESPACE,
            "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
            "metrics": {"bindAddress": f"127.0.0.1:{metrics}"},
            "webhook": {"port": webhook, "certDir": str(folder / "certificates")},
            "internalCertManagement": {"enable": True},
            "leaderElection": {"leaderElect": False},
            "integrations": {"frameworks": list(FRAMEWORKS)},
            "featureGates": {"VisibilityOnDemand": False},
        }
        (folder / "configuration.yaml").write_text(json.dumps(configuration))
        flags = ("--config", str(folder / "configuration.yaml"), "--zap-log-level=2")
        where = ("--kubeconfig", str(server.kubeconfig))
        process = Process((str(build.built(kueue.KUEUE)), *flags, *where), folder)
        stack.callback(process.kill)
        _mount_certificate(made, folder / "certificates")
        process.wait_until_ready(lambda: _is_ready(health))
        yield made


def _installed(port: int) -> Iterator[JSON]:
    for each in kueue.manifests({}):
        if each["kind"] in _INSTALLED:
            for webhook in each.get("webhooks", ()):
                seen = {resource for rule in webhook["rules"] for resource in rule["resources"]}
                webhook["namespaceSelector"] = {}
                webhook["clientConfig"]["service"]["port"] = port
                if seen != {"trainjobs"}:
                    webhook["rules"] = [_NOTHING]
            yield each
    metadata = {"name": "kueue-webhook-service", "namespace": kueue.NAMESPACE}
    spec = {"type": "ExternalName", "externalName": "localhost"}
    yield {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _mount_certificate(cluster: LoneCluster, folder: Path) -> None:
    """Put the certificate that Kueue makes where a kubelet would."""

    def data() -> JSON:
        space = cluster.namespace(kueue.NAMESPACE)
        printed = space.kubectl("get", "secret", _CERTIFICATE, "-o", "json")
        return dict(json.loads(printed).get("data") or {})

    for name, content in eventually(data).items():
        (folder / name).write_bytes(base64.b64decode(content))


def _is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
