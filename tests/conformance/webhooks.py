"""The reference's webhook configurations, of its published manifests, on a server without nodes.

Two things are ours: the service is an alias of this machine, since no node routes to a service here,
so the names in the certificates are those of a cluster; and namespaces with the label UNJUDGED are
left out, so that a test can store what the webhooks refuse.
"""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from from_source.cluster.client import Client
from tools import schemas

JSON = dict[str, Any]

NAMESPACE: Final = "kubeflow-system"
"""The manager's namespace."""
SERVICE: Final = "kubeflow-trainer-controller-manager"
SECRET: Final = "kubeflow-trainer-webhook-cert"
HOST: Final = f"{SERVICE}.{NAMESPACE}.svc"
"""What the manager's certificate is for."""
UNJUDGED: Final = "conformance.trainer-infra.local/unjudged"
"""Label of namespaces whose objects no webhook sees."""
CONFIGURATIONS: Final = {
    "ValidatingWebhookConfiguration": "validator.trainer.kubeflow.org",
    "MutatingWebhookConfiguration": "defaulter.trainer.kubeflow.org",
}
"""Kind -> name."""
API: Final = "/apis/admissionregistration.k8s.io/v1"

_FOLDER: Final = "manifests/base/webhook"


def register(client: Client, port: int) -> None:
    """Make what a manager expects to find: its namespace, service, Secret and configurations."""
    core = f"/api/v1/namespaces/{NAMESPACE}"
    alias = {"type": "ExternalName", "externalName": "localhost"}
    made = [
        client.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}),
        client.create(f"{core}/services", {"metadata": {"name": SERVICE}, "spec": alias}),
        client.create(f"{core}/secrets", {"metadata": {"name": SECRET}}),
    ]
    made += [client.create(f"{API}/{each['kind'].lower()}s", each) for each in configurations(port)]
    assert [each.message for each in made if each.message] == []


def configurations(port: int) -> Iterator[JSON]:
    """Both, as the manifests have them after kustomize."""
    folder = schemas.module_folder(*schemas.TRAINER) / _FOLDER
    for each in yaml.load_all((folder / "manifests.yaml").read_bytes(), yaml.CSafeLoader):
        for webhook in each["webhooks"]:
            service = webhook["clientConfig"]["service"]
            service |= {"name": SERVICE, "namespace": NAMESPACE, "port": port}
            unjudged = {"key": UNJUDGED, "operator": "DoesNotExist"}
            webhook["namespaceSelector"] = {"matchExpressions": [unjudged]}
        if each["kind"] == "ValidatingWebhookConfiguration":
            patch = yaml.load((folder / "patch_validating.yaml").read_bytes(), yaml.CSafeLoader)
            for index in (0, 1):
                (selector,) = (
                    one["value"]
                    for one in patch
                    if one["path"] == f"/webhooks/{index}/objectSelector"
                )
                each["webhooks"][index]["objectSelector"] = selector
        yield {**each, "metadata": {"name": CONFIGURATIONS[each["kind"]]}}
