"""Pods as JobSet's and the Job controller make them: they may report, and what imitates one does not last."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.waiting import wait_until
from tests.apiserver import job_controllers
from tests.apiserver.reporting_pods import TRAINER, Cluster, client, cluster
from tests.cluster_programs import NewServer
from tests.controller.served_reports import Served, served
from tests.render.runtimes import replicated, runtime, train_job
from trainer_infra import names
from trainer_infra.controller.report_rate import Rate
from trainer_infra.controller.status_server import StatusServerSettings
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.plugins import PLUGINS, train_job_status
from trainer_infra.render.plugins.train_job_status import TOKEN_SECONDS, StatusServer

__all__ = ["client", "cluster"]
OFTEN = Rate(1000.0, 1000)
PLACE = StatusServer("manager", "kubeflow-system", 10443, "cert", "PEM\n")
DEFAULTED = {
    "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
    "successPolicy": {"operator": "All", "targetReplicatedJobs": []},
    "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
}
"""What JobSet's webhook would write."""
WAIT = 300.0
"""Seconds; a busy machine is not a failure."""


@pytest.fixture(scope="module")
def kubernetes(
    own_api_server: NewServer,
) -> Iterator[RunningServer]:
    """Without what other tests have left, which the controllers would work on."""
    with own_api_server() as running:
        yield running


@pytest.fixture(scope="module")
def server(client: KubeClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = StatusServerSettings(
        host="127.0.0.1", port=0, pod_rate=OFTEN, train_job_rate=OFTEN, review_rate=OFTEN
    )
    with served(client, tmp_path_factory.mktemp("server"), settings) as started:
        yield started


@pytest.fixture(scope="module")
def controllers(kubernetes: RunningServer) -> Iterator[None]:
    with job_controllers.controlling(kubernetes):
        yield


def rendered(job: dict[str, Any]) -> tuple[JSONObject, ...]:
    """What a TrainJob becomes, with what its pods need to report."""
    pod = {"serviceAccountName": "trainer", "restartPolicy": "Never"}
    node = replicated("node", "trainer", **pod)
    node["template"]["spec"]["completionMode"] = "Indexed"
    *others, jobset = PLUGINS
    status = train_job_status.plugin(PLACE)
    kept = {key: job["metadata"][key] for key in ("name", "namespace", "uid")}
    made = train_job(metadata=kept)
    return pipeline.render(
        made, runtime(node, jobset=DEFAULTED), behaviour=Behaviour((*others, status, jobset))
    )


@pytest.fixture
def pods(
    controllers: None,  # noqa: ARG001  they make the pods
    cluster: Cluster,
    client: KubeClient,
) -> Callable[[], list[dict[str, Any]]]:
    """The pods of a TrainJob that has been rendered and applied."""
    job = cluster.train_job()
    for each in rendered(job):
        run_in_loop(client.apply(each, manager="test"))

    def found() -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/{cluster.namespace}/pods"
        items: list[dict[str, Any]] = cluster.client.get(path).body["items"]
        return [{"kind": "Pod", "apiVersion": "v1", **each} for each in items]

    assert wait_until(lambda: bool(found()), WAIT)
    return found


def token_source(pod: dict[str, Any]) -> dict[str, Any]:
    """What the kubelet would ask the API server for."""
    (volume,) = (each for each in pod["spec"]["volumes"] if each["name"] == names.PROGRESS_VOLUME)
    found: dict[str, Any] = volume["projected"]["sources"][0]["serviceAccountToken"]
    return found


def test_a_pod_that_real_controllers_made_of_a_rendered_train_job_may_report(
    server: Served, cluster: Cluster, pods: Callable[[], list[dict[str, Any]]]
) -> None:
    (pod,) = pods()
    source = token_source(pod)
    audiences = [source["audience"]]
    token = cluster.token(pod, audiences=audiences, expirationSeconds=source["expirationSeconds"])

    assert source["expirationSeconds"] == TOKEN_SECONDS
    assert server.post(cluster.namespace, "tj", token).status == 200
    assert cluster.stored()["status"]["trainerStatus"]["progressPercentage"] == 1


def test_a_pod_that_imitates_a_scheduled_one_in_all_is_deleted_by_the_job_controller(
    cluster: Cluster, pods: Callable[[], list[dict[str, Any]]]
) -> None:
    (pod,) = pods()
    node = {"target": {"kind": "Node", "name": "n"}, "metadata": {"name": pod["metadata"]["name"]}}
    cluster.core(f"pods/{pod['metadata']['name']}/binding", node)
    mine = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"mine-{uuid.uuid4().hex[:8]}",
            "labels": pod["metadata"]["labels"],
            "annotations": pod["metadata"]["annotations"],
            "ownerReferences": pod["metadata"]["ownerReferences"],
            "finalizers": pod["metadata"].get("finalizers", []),
        },
        "spec": {"serviceAccountName": "trainer", "containers": [{"name": "node", "image": "i"}]},
    }
    forged = cluster.core("pods", mine)["metadata"]["name"]

    def is_gone() -> bool:
        return forged not in {each["metadata"]["name"] for each in pods()}

    assert wait_until(is_gone, WAIT)
    assert [each["metadata"]["uid"] for each in pods()] == [pod["metadata"]["uid"]]


def test_a_pod_that_imitates_one_without_the_jobs_own_labels_lasts_and_may_not_report(
    server: Served, cluster: Cluster, pods: Callable[[], list[dict[str, Any]]]
) -> None:
    (pod,) = pods()
    labels = {names.JOBSET_NAME_LABEL: "tj", "batch.kubernetes.io/controller-uid": "another"}
    references = pod["metadata"]["ownerReferences"]
    mine = cluster.pod(None, labels=labels, ownerReferences=references)
    reply = server.post(cluster.namespace, "tj", cluster.token(mine))

    assert reply.status == 403
    assert mine["metadata"]["name"] in {each["metadata"]["name"] for each in pods()}


def test_pods_of_a_deleted_train_job_report_to_no_other_of_its_name(
    server: Served, cluster: Cluster, pods: Callable[[], list[dict[str, Any]]]
) -> None:
    (pod,) = pods()
    token = cluster.token(pod)
    assert server.post(cluster.namespace, "tj", token).status == 200
    cluster.delete("trainjobs", "tj", TRAINER)
    assert server.post(cluster.namespace, "tj", token).status == 404
    cluster.train_job()
    assert server.post(cluster.namespace, "tj", token).status == 403
    assert wait_until(lambda: not pods(), WAIT)
