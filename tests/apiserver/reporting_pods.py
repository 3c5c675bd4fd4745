"""TrainJobs with all that belongs to them, down to pods, on an API server without nodes; and their tokens."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from trainer_infra import names
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.progress import handler

ACCOUNT: Final = "trainer"
TRAINER: Final = f"/apis/{names.API_VERSION}"
JOBSETS: Final = f"/apis/{names.JOBSET_API_VERSION}"


def owner(value: dict[str, Any]) -> dict[str, Any]:
    """The reference to a controlling object, as controllers write it."""
    metadata = value["metadata"]
    return {
        "apiVersion": value["apiVersion"],
        "kind": value["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_template() -> dict[str, Any]:
    return {
        "serviceAccountName": ACCOUNT,
        "restartPolicy": "Never",
        "containers": [{"name": "node", "image": "i"}],
    }


@dataclass
class Cluster:
    """Makes objects in a namespace of its own, as a user who may do everything."""

    client: Client
    namespace: str = field(default_factory=lambda: f"t-{uuid.uuid4().hex[:8]}")

    def __post_init__(self) -> None:
        self.made("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.account(ACCOUNT)

    def account(self, name: str) -> None:
        self.core("serviceaccounts", {"metadata": {"name": name}})

    def made(self, path: str, value: dict[str, Any]) -> dict[str, Any]:
        """Create an object; as stored."""
        answer = self.client.create(path, value)
        assert answer.status == 201, answer.message
        return answer.body

    def core(self, plural: str, value: dict[str, Any]) -> dict[str, Any]:
        return self.made(f"/api/v1/namespaces/{self.namespace}/{plural}", value)

    def train_job(self, name: str = "tj") -> dict[str, Any]:
        value = {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": name},
            "spec": {"runtimeRef": {"name": "torch-distributed"}},
        }
        return self.made(f"{TRAINER}/namespaces/{self.namespace}/trainjobs", value)

    def jobset(self, train_job: dict[str, Any], name: str = "") -> dict[str, Any]:
        name = name or train_job["metadata"]["name"]
        template = {"spec": {"template": {"spec": pod_template()}}}
        value = {
            "apiVersion": names.JOBSET_API_VERSION,
            "kind": names.JOBSET,
            "metadata": {"name": name, "ownerReferences": [owner(train_job)]},
            "spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": template}]},
        }
        return self.made(f"{JOBSETS}/namespaces/{self.namespace}/jobsets", value)

    def job(self, jobset: dict[str, Any], name: str = "") -> dict[str, Any]:
        label = {names.JOBSET_NAME_LABEL: jobset["metadata"]["name"]}
        name = name or f"{jobset['metadata']['name']}-node-0"
        value = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": label, "ownerReferences": [owner(jobset)]},
            "spec": {"template": {"metadata": {"labels": label}, "spec": pod_template()}},
        }
        return self.made(f"/apis/batch/v1/namespaces/{self.namespace}/jobs", value)

    def pod(self, job: dict[str, Any] | None, **metadata: Any) -> dict[str, Any]:
        """A pod as the Job controller makes it; with other metadata one that a user makes."""
        mine: dict[str, Any] = {"name": f"p-{uuid.uuid4().hex[:8]}"}
        if job is not None:
            mine["labels"] = job["spec"]["template"]["metadata"]["labels"]
            mine["ownerReferences"] = [owner(job)]
        value = {"apiVersion": "v1", "kind": "Pod", "spec": pod_template()}
        return self.core("pods", {**value, "metadata": {**mine, **metadata}})

    def run(self, name: str = "tj") -> dict[str, Any]:
        """A TrainJob that runs; its one pod."""
        return self.pod(self.job(self.jobset(self.train_job(name))))

    def token(self, pod: dict[str, Any] | None, name: str = "tj", **spec: Any) -> str:
        """What the kubelet gives a pod: a token for the TrainJob's status."""
        bound = (
            {}
            if pod is None
            else {
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": pod.get("kind", "Pod"),
                    "name": pod["metadata"]["name"],
                    "uid": pod["metadata"]["uid"],
                }
            }
        )
        audiences = [handler.audience_of(self.namespace, name)]
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{ACCOUNT}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        answer = self.client.create(
            path,
            {
                **request,
                "spec": {"audiences": audiences, "expirationSeconds": 3600, **bound, **spec},
            },
        )
        assert answer.status == 201, answer.message
        token: str = answer.body["status"]["token"]
        return token

    def stored(self, name: str = "tj") -> dict[str, Any]:
        """A TrainJob as the API server has it."""
        return self.client.get(f"{TRAINER}/namespaces/{self.namespace}/trainjobs/{name}").body

    def delete(self, plural: str, name: str, root: str = "/api/v1") -> None:
        answer = self.client.delete(f"{root}/namespaces/{self.namespace}/{plural}/{name}")
        assert answer.status == 200, answer.message


@pytest.fixture(scope="module")
def kubernetes(api_server: RunningServer) -> RunningServer:
    """The server that writes what the tests tell it."""
    return api_server


@pytest.fixture(scope="module")
def client(kubernetes: RunningServer) -> Iterator[KubeClient]:
    """What the status server writes with."""
    made = run_in_loop(http.connect_client(str(kubernetes.kubeconfig)))
    yield made
    run_in_loop(made.close())


@pytest.fixture
def cluster(kubernetes: RunningServer) -> Iterator[Cluster]:
    with Client(kubernetes.address) as user:
        yield Cluster(user)
