"""Every object of a workspace on a real API server: each field is taken, and the policy of runtimes holds."""

from collections.abc import Iterator
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.apiserver.accounts import Account, Reply, Request
from tests.deploy.project import until
from tests.platform.declared_resources import declared_objects
from tests.platform.workspaces.program import all_workspaces
from trainer_infra import names
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Invalid


@pytest.fixture(scope="module")
def client(queue_server: RunningServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(queue_server.kubeconfig)))
    yield made
    loop.run_in_loop(made.close())


@pytest.fixture(scope="module")
def stored(client: KubeClient) -> dict[str, Any]:
    """The objects as the server has them, by what the workspaces call them."""
    made = declared_objects(all_workspaces)
    return {key: applied(client, each) for key, each in made.items()}


def applied(client: KubeClient, value: Any) -> Any:
    """The object as stored."""
    return loop.run_in_loop(client.apply(value, manager="test", force=True))


def test_the_server_takes_every_object(stored: dict[str, Any]) -> None:
    kinds = {each["kind"] for each in stored.values()}
    assert kinds == {
        *("Namespace", "ServiceAccount", "Secret", "ResourceQuota", "LimitRange"),
        *("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        *("ClusterQueue", "LocalQueue"),
    }
    assert len(stored) >= 50


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(("namespace", "level"), [("vision", "restricted"), ("audio", "baseline")])
def test_pods_that_own_the_machine_are_refused(
    queue_server: RunningServer, namespace: str, level: str
) -> None:
    spec = {
        "serviceAccountName": "training",
        "hostNetwork": True,
        "containers": [{"name": "a", "image": "example.com/a"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"}, "spec": spec}
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All"
    reply = Account(queue_server.address).send(Request("POST", path, pod))
    assert reply.status == 403
    assert f'violates PodSecurity "{level}:latest": ' in reply.body["message"]


def train_job(namespace: str, name: str, kind: str = names.CLUSTER_TRAINING_RUNTIME) -> Request:
    reference = {"name": name, "kind": kind}
    return Request(
        "POST",
        f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs?dryRun=All",
        {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": "digits"},
            "spec": {"runtimeRef": reference},
        },
    )


@pytest.mark.usefixtures("stored")
def test_train_jobs_may_name_the_allowed_runtimes_only(queue_server: RunningServer) -> None:
    admin = Account(queue_server.address)

    def policy_says() -> Reply | None:
        """The server's answer to another runtime, once it has read the policy."""
        reply = admin.send(train_job("vision", "jax-distributed"))
        return reply if reply.status >= 300 else None

    refusal = until(policy_says)
    assert refusal.status == 422
    assert refusal.body["message"].endswith(
        "denied request: namespace vision allows the runtimes torch-distributed, "
        "TrainingRuntime/ours, not ClusterTrainingRuntime/jax-distributed"
    )
    statuses = {
        (namespace, name, kind): admin.send(train_job(namespace, name, kind)).status
        for namespace in ("vision", "default")
        for name in ("torch-distributed", "ours")
        for kind in sorted(names.RUNTIMES)
    }
    assert statuses == {
        ("vision", "torch-distributed", "ClusterTrainingRuntime"): 201,
        ("vision", "torch-distributed", "TrainingRuntime"): 422,
        ("vision", "ours", "ClusterTrainingRuntime"): 422,
        ("vision", "ours", "TrainingRuntime"): 201,
        ("default", "torch-distributed", "ClusterTrainingRuntime"): 201,
        ("default", "torch-distributed", "TrainingRuntime"): 201,
        ("default", "ours", "ClusterTrainingRuntime"): 201,
        ("default", "ours", "TrainingRuntime"): 201,
    }


def test_the_runtime_of_a_job_cannot_be_changed_later(client: KubeClient) -> None:
    """Which is why the policy judges what is created, and no update."""
    job: Any = train_job("default", "torch-distributed").body
    job["metadata"]["namespace"] = "default"
    loop.run_in_loop(client.apply(job, manager="test"))
    job["spec"]["runtimeRef"]["name"] = "jax-distributed"
    with pytest.raises(Invalid, match="field is immutable"):
        loop.run_in_loop(client.apply(job, manager="test", force=True))
