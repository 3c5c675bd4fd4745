"""Pods that report to the status server, and what it answers."""

import base64
import http.client
import json
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from from_source.cluster.client import Answer
from tests.conformance import objects, webhooks
from tests.conformance.places import Place

JSON = dict[str, Any]

ACCOUNT: Final = "trainer"
"""The service account of the pods."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """The first pod of TrainJob `a`."""

    place: Place
    token: str
    """As the kubelet mounts it there."""

    def send(self, body: Any, token: str | None = None, name: str = "a") -> Answer:
        """Report as a client does."""
        sent = body if isinstance(body, str) else json.dumps(body)
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return request(self.place, status_path(self.place, name), sent.encode(), headers)


def reporter(place: Place) -> Reporter:
    """Make TrainJob `a`, and its Job and pod as JobSet's and the Job's controllers make them."""
    place.add(
        {"kind": "ServiceAccount", "metadata": {"name": ACCOUNT}},
        objects.runtime(),
        objects.train_job(),
    )
    job_set = place.job_set()
    template = objects.replicated(job_set)["template"]["spec"]["template"]
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "a",
        "jobset.sigs.k8s.io/replicatedjob-name": "node",
    }
    spec = {**template["spec"], "serviceAccountName": ACCOUNT, "restartPolicy": "Never"}
    metadata = {"name": "a-node-0", "ownerReferences": [_controller(job_set)]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    job = place.add({"kind": "Job", "metadata": metadata, "spec": {"template": template}})
    pod = place.add(
        {
            "kind": "Pod",
            "metadata": {
                "name": "a-node-0-0-abcde",
                "labels": job["spec"]["template"]["metadata"]["labels"],
                "ownerReferences": [_controller(job)],
            },
            "spec": spec,
        }
    )
    return Reporter(place, issued(place, audience(place), pod=pod))


def _controller(owner: JSON) -> JSON:
    metadata = owner["metadata"]
    named = {"kind": owner["kind"], "name": metadata["name"], "uid": metadata["uid"]}
    return {"apiVersion": owner["apiVersion"], **named, "controller": True}


def audience(place: Place, name: str = "a") -> str:
    """What a token must be for."""
    group = "trainer.kubeflow.org/v1alpha1"
    return f"{group}/namespaces/{place.name}/trainjobs/{name}/status"


def status_path(place: Place, name: str = "a") -> str:
    """Where reports go."""
    return f"/apis/{audience(place, name)}"


def issued(place: Place, *audiences: str, pod: JSON | None = None) -> str:
    """A token of the pods' service account, of one pod where that is given."""
    spec: JSON = {"audiences": list(audiences)}
    if pod is not None:
        uid, name = (pod["metadata"][key] for key in ("uid", "name"))
        spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = place.path("ServiceAccount", f"{ACCOUNT}/token")
    answer = place.manager.client.create(path, asked)
    assert answer.message == ""
    token: str = answer.body["status"]["token"]
    return token


def signed_again(place: Place, token: str, **claims: Any) -> str:
    """The token with other claims, signed as the API server signs."""
    header, payload, _ = token.split(".")
    changed = {**json.loads(base64.urlsafe_b64decode(payload + "==")), **claims}
    content = f"{header}.{_encoded(json.dumps(changed).encode())}"
    return f"{content}.{_encoded(_signature(place, content.encode()))}"


def _signature(place: Place, content: bytes) -> bytes:
    key = serialization.load_pem_private_key(place.manager.token_key.read_bytes(), None)
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    pair = decode_dss_signature(key.sign(content, ec.ECDSA(hashes.SHA256())))
    return b"".join(each.to_bytes(32, "big") for each in pair)


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def request(
    place: Place,
    path: str,
    body: bytes | Iterable[bytes],
    headers: Mapping[str, str],
    method: str = "POST",
) -> Answer:
    """Any request to the status server; a body in parts is sent in chunks."""
    manager = place.manager
    context = ssl.create_default_context(cafile=str(manager.status_authority))
    with (
        socket.create_connection(("127.0.0.1", manager.status_port), timeout=120) as plain,
        context.wrap_socket(plain, server_hostname=webhooks.HOST) as secure,
    ):
        connection = http.client.HTTPConnection(webhooks.HOST)
        connection.sock = secure
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        assert response.headers["Content-Type"].startswith("application/json")
        return Answer(response.status, json.loads(response.read()))
