"""Our webhooks as the reference's manifests register them, on an API server without nodes.

The service of the manifests leads to this machine here, so that the API server calls by the same name,
and asks for the same certificate, as in a cluster.
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster.client import Client
from from_source.cluster.waiting import wait_until
from tests.parity import reference
from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.admission_webhooks import (
    AdmissionWebhooks,
    WebhookOptions,
    admission_webhooks,
)
from trainer_infra.controller.certificate_rotation import CertificateOptions
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.controller.webhook_server import WebhookAddress
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.render.behaviour import OURS, Behaviour

JSON = dict[str, Any]

OPTIONS: Final = CertificateOptions(interval=0.1, settling=1.0)
"""Those of a cluster, only more often."""
WITHIN: Final = 120.0
"""Seconds for what takes a moment, on a machine that is busy."""
CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1"
SECRET: Final = f"/api/v1/namespaces/{OPTIONS.namespace}/secrets/{OPTIONS.secret}"
NAMES: Final = {
    "MutatingWebhookConfiguration": OPTIONS.mutating,
    "ValidatingWebhookConfiguration": OPTIONS.validating,
}
SELECTOR: Final = {
    "matchExpressions": [
        {
            "key": "trainer.kubeflow.org/webhook-validation",
            "operator": "NotIn",
            "values": ["disabled"],
        }
    ]
}


@dataclass(frozen=True, slots=True)
class Manager:
    """Webhooks that the API server calls, and a client of it."""

    client: KubeClient
    webhooks: AdmissionWebhooks


def install(server: Client, port: int) -> None:
    """The namespace, the service and both configurations; as often as one likes."""
    namespace = {"metadata": {"name": OPTIONS.namespace}}
    server.create("/api/v1/namespaces", namespace)
    service = {
        "metadata": {"name": OPTIONS.service},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    server.create(f"/api/v1/namespaces/{OPTIONS.namespace}/services", service)
    for each in configurations(port):
        path = f"{CONFIGURATIONS}/{each['kind'].lower()}s"
        server.delete(f"{path}/{each['metadata']['name']}")
        answer = server.create(path, each)
        assert answer.message == ""


def redirect(server: Client, port: int) -> None:
    """Send the API server to another port; a replica may write at the same time."""
    for kind, name in NAMES.items():
        path = f"{CONFIGURATIONS}/{kind.lower()}s/{name}"

        def is_sent(path: str = path) -> bool:
            value = server.get(path).body
            for webhook in value["webhooks"]:
                webhook["clientConfig"]["service"]["port"] = port
            return server.replace(path, value).message == ""

        assert wait_until(is_sent, WITHIN)


def configurations(port: int) -> list[JSON]:
    """The reference's own, with the names that its overlay gives them and a port of this machine."""
    file = reference.module() / "manifests/base/webhook/manifests.yaml"
    made = []
    for each in yaml.load_all(file.read_bytes(), yaml.CSafeLoader):
        webhooks = [_reached(one, port) for one in each["webhooks"]]
        made.append({**each, "metadata": {"name": NAMES[each["kind"]]}, "webhooks": webhooks})
    return made


def _reached(webhook: JSON, port: int) -> JSON:
    service = {
        **webhook["clientConfig"]["service"],
        "name": OPTIONS.service,
        "namespace": OPTIONS.namespace,
        "port": port,
    }
    runtimes = {"trainingruntimes", "clustertrainingruntimes"}
    judged = {resource for rule in webhook["rules"] for resource in rule["resources"]}
    selector = {"objectSelector": SELECTOR} if judged & runtimes else {}
    return {**webhook, **selector, "clientConfig": {"service": service}}


@asynccontextmanager
async def manager(
    kubeconfig: str,
    behaviour: Behaviour = OURS,
    certificates: CertificateOptions | None = OPTIONS,
    **options: Any,
) -> AsyncGenerator[Manager, None]:
    """A manager's webhooks on a free port; nothing is registered."""
    client = await http.connect_client(kubeconfig)
    async with AsyncExitStack() as ending:
        ending.push_async_callback(client.close)
        judge = AdmissionJudge(ClusterLookups(client), behaviour)
        chosen = WebhookOptions(WebhookAddress("127.0.0.1", 0), certificates=certificates)
        served = admission_webhooks(client, judge, replace(chosen, **options))
        yield Manager(client, await ending.enter_async_context(served))


@contextmanager
def serving(kubeconfig: Path | str, **options: Any) -> Iterator[Manager]:
    """The same beside a test that is not asynchronous."""
    made = manager(str(kubeconfig), **options)
    found = loop.run_in_loop(made.__aenter__())
    try:
        yield found
    finally:
        loop.run_in_loop(made.__aexit__(None, None, None))


def wait_until_ready(served: Manager, server: Client) -> None:
    """Until webhooks that are registered answer: the server hears of their bundle later than we."""
    assert wait_until(lambda: served.webhooks.is_ready and judges(server), WITHIN)


def judges(server: Client) -> bool:
    """Whether the server reaches all webhooks: each refuses something."""
    group = "/apis/trainer.kubeflow.org/v1alpha1"
    pod = {"template": {"spec": {"containers": [{"name": "other"}]}}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    wrong = {"name": "node", "template": template}
    spec = {"template": {"spec": {"replicatedJobs": [wrong]}}}
    asked = {
        f"{group}/clustertrainingruntimes": {"kind": "ClusterTrainingRuntime", "spec": spec},
        f"{group}/namespaces/default/trainingruntimes": {"kind": "TrainingRuntime", "spec": spec},
        f"{group}/namespaces/default/trainjobs": {
            "kind": "TrainJob",
            "spec": {"runtimeRef": {"name": "none"}},
        },
    }
    named = {"apiVersion": group.removeprefix("/apis/"), "metadata": {"name": "a"}}
    answers = [server.create(path, {**named, **value}) for path, value in asked.items()]
    return all("denied the request" in each.message for each in answers)


def trainjob(name: str, spec: Mapping[str, Any] | None = None, **metadata: Any) -> JSON:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, **metadata},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, **(spec or {})},
    }
