"""What `check --cluster` reads of a real API server, as its administrator and as somebody else."""

import json
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.kube import objects
from trainer_infra.errors import NotAvailable
from trainer_infra.review import live

JSON = dict[str, Any]
NAMESPACE = "live"
TRAINER = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{NAMESPACE}"
RBAC = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
VIEWER: JSON = {"kind": "ServiceAccount", "name": "viewer", "namespace": NAMESPACE}


# Of the session, as the server is: a process may come back to this file.
@pytest.fixture(scope="session")
def administrators(api_server: RunningServer) -> Path:
    """The kubeconfig of a server's administrator; in the server are a TrainJob and its runtime."""
    with Client(api_server.address) as client:
        created(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        created(client, f"{TRAINER}/trainjobs", objects.train_job(NAMESPACE))
        created(client, f"{TRAINER}/trainingruntimes", objects.training_runtime(NAMESPACE))
        created(client, f"{CORE}/serviceaccounts", {"metadata": {"name": "viewer"}})
    return api_server.kubeconfig


@pytest.fixture(scope="session")
def viewers(administrators: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kubeconfig of an account that may list TrainJobs of the namespace and nothing else."""
    config = json.loads(administrators.read_text())
    with Client(Admin(config)) as client:
        rule = {
            "apiGroups": ["trainer.kubeflow.org"],
            "resources": ["trainjobs"],
            "verbs": ["list"],
        }
        created(client, f"{RBAC}/roles", {"metadata": {"name": "viewer"}, "rules": [rule]})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"}
        binding = {"metadata": {"name": "viewer"}, "roleRef": role, "subjects": [VIEWER]}
        created(client, f"{RBAC}/rolebindings", binding)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = created(client, f"{CORE}/serviceaccounts/viewer/token", asked)
    config["users"][0]["user"] = {"token": made["status"]["token"]}
    file = tmp_path_factory.mktemp("viewer") / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


class Admin:
    """The address in a kubeconfig."""

    def __init__(self, config: JSON) -> None:
        cluster = config["clusters"][0]["cluster"]
        self.url: str = cluster["server"]
        self.token: str = config["users"][0]["user"]["token"]
        self.certificate = Path(cluster["certificate-authority"])


def created(client: Client, path: str, value: JSON) -> JSON:
    answer = client.create(path, value)
    assert answer.message == ""
    return answer.body


def named(found: live.Live) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in found.objects]


def test_all_kinds_that_are_served_are_read_without_what_the_server_adds(
    administrators: Path,
) -> None:
    found = live.read_live(str(administrators), None, NAMESPACE)
    assert found.problems == ()
    assert ("TrainJob", "a") in named(found)
    assert ("TrainingRuntime", "a") in named(found)
    assert ("ServiceAccount", "viewer") in named(found)
    assert ("ClusterRole", "cluster-admin") in named(found)
    job = next(each for each in found.objects if each["kind"] == "TrainJob")
    assert {*job} == {"apiVersion", "kind", "metadata", "spec"}
    assert job["metadata"] == {"name": "a", "namespace": NAMESPACE}
    assert [each.file for each in found.documents()][:2] == [
        f"cluster: TrainJob {NAMESPACE}/a",
        f"cluster: TrainingRuntime {NAMESPACE}/a",
    ]


def test_what_somebody_may_not_list_is_a_sentence_for_each_kind(viewers: Path) -> None:
    found = live.read_live(str(viewers), None, NAMESPACE)
    assert named(found) == [("TrainJob", "a")]
    kinds = [each.removeprefix("cluster: ").partition(" ")[0] for each in found.problems]
    assert kinds == [
        *("TrainingRuntime", "ClusterTrainingRuntime", "JobSet", "ResourceQuota", "LimitRange"),
        *(
            "Namespace",
            "PriorityClass",
            "ServiceAccount",
            "Role",
            "RoleBinding",
            "ClusterRole",
            "ClusterRoleBinding",
        ),
        *("PodGroup", "PodGroup"),
    ]
    assert all("is forbidden" in each for each in found.problems)


def test_without_a_kubeconfig_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotAvailable):
        live.read_live(str(tmp_path / "none"), None)
