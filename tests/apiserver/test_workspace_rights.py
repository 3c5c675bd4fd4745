"""A workspace's members may do what Kubeflow's SDK does, and nothing more: asked of a real API server.

Each request is sent as it is, by impersonation; a review of access alone would not see a rule that names
another resource than the one that the request reaches.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.accounts import LOG, Account, Reply, Request, kubelet
from tests.cluster_programs import NewServer, put_on_path
from tests.platform.declared_resources import declared_objects
from trainer_infra import catalog, names, platform
from trainer_infra.kube import http, loop
from trainer_infra.platform.manifests.manifest_source import release_objects
from trainer_infra.platform.releases import release_of

T = "/apis/trainer.kubeflow.org/v1alpha1"
N = "namespaces/vision"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SYSTEM = "/api/v1/namespaces/kubeflow-system/configmaps"
PODS = f"/api/v1/{N}/pods"
JOBS = f"{T}/{N}/trainjobs"
RUNTIMES = f"{T}/{N}/trainingruntimes"
CLUSTER_RUNTIMES = f"{T}/clustertrainingruntimes"


def an_object(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def train_job(name: str) -> dict[str, Any]:
    """What the SDK posts."""
    reference = {"name": "torch-distributed", "kind": names.CLUSTER_TRAINING_RUNTIME}
    spec = {"runtimeRef": reference, "trainer": {"numNodes": 1, "command": ["true"]}}
    return an_object(names.API_VERSION, names.TRAIN_JOB, name, spec=spec)


def runtime(kind: str, name: str) -> dict[str, Any]:
    wire = dict(catalog.get("torch-distributed").to_wire())
    return {**wire, "kind": kind, "metadata": {"name": name, "labels": wire["metadata"]["labels"]}}


POD = an_object(
    "v1", "Pod", "one-node-0", spec={"containers": [{"name": "node", "image": "example.com/a"}]}
)
ROLES_PODS = (
    "jobset.sigs.k8s.io%2Fjobset-name%3Done%2Cjobset.sigs.k8s.io%2Freplicatedjob-name+in+"
    "%28dataset-initializer%2Cmodel-initializer%2Clauncher%2Cnode%29"
)
SUBJECT = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "vision-team"}
ADMIN = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
RULE = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}

SDK_CALLS: Mapping[str, Request] = {
    "the version of Trainer": Request("GET", f"{SYSTEM}/kubeflow-trainer-public"),
    "list runtimes of the cluster": Request("GET", CLUSTER_RUNTIMES),
    "get a runtime of the cluster": Request("GET", f"{CLUSTER_RUNTIMES}/torch-distributed"),
    "list runtimes of the namespace": Request("GET", RUNTIMES),
    "get a runtime of the namespace": Request("GET", f"{RUNTIMES}/ours"),
    "train": Request("POST", JOBS, train_job("two")),
    "get a job": Request("GET", f"{JOBS}/one"),
    "list jobs": Request("GET", JOBS),
    "list pods of a job": Request("GET", f"{PODS}?labelSelector={ROLES_PODS}"),
    "read a log": Request("GET", f"{PODS}/one-node-0/log?container=node"),
    "list events": Request("GET", f"/api/v1/{N}/events"),
    "delete a job": Request("DELETE", f"{JOBS}/two"),
}
"""What Kubeflow's SDK 0.5 sends, as it was recorded."""

FORBIDDEN: Mapping[str, Request] = {
    "apply a job": Request("PATCH", f"{JOBS}/one?fieldManager=a", train_job("one")),
    "write a job's status": Request(
        "PATCH",
        f"{JOBS}/one/status?fieldManager=a",
        train_job("one") | {"status": {"conditions": []}},
    ),
    "delete all jobs": Request("DELETE", JOBS),
    "watch jobs": Request("GET", f"{JOBS}?watch=true&timeoutSeconds=1"),
    "list jobs of the cluster": Request("GET", f"{T}/trainjobs"),
    "train in another namespace": Request(
        "POST", f"{T}/namespaces/audio/trainjobs", train_job("two")
    ),
    "get a job of another namespace": Request("GET", f"{T}/namespaces/audio/trainjobs/theirs"),
    "list pods of another namespace": Request("GET", "/api/v1/namespaces/audio/pods"),
    "make a runtime": Request("POST", RUNTIMES, runtime(names.TRAINING_RUNTIME, "new")),
    "delete a runtime": Request("DELETE", f"{RUNTIMES}/ours"),
    "make a runtime of the cluster": Request(
        "POST", CLUSTER_RUNTIMES, runtime(names.CLUSTER_TRAINING_RUNTIME, "new")
    ),
    "delete a runtime of the cluster": Request("DELETE", f"{CLUSTER_RUNTIMES}/torch-distributed"),
    "get a secret": Request("GET", f"/api/v1/{N}/secrets/hub"),
    "list secrets": Request("GET", f"/api/v1/{N}/secrets"),
    "list secrets of the cluster": Request("GET", "/api/v1/secrets"),
    "make a secret": Request(
        "POST", f"/api/v1/{N}/secrets", an_object("v1", "Secret", "new", stringData={"a": "b"})
    ),
    "list settings of Trainer": Request("GET", SYSTEM),
    "make a pod": Request("POST", PODS, POD | {"metadata": {"name": "new"}}),
    "get a pod": Request("GET", f"{PODS}/one-node-0"),
    "delete a pod": Request("DELETE", f"{PODS}/one-node-0"),
    "run a command in a pod": Request("POST", f"{PODS}/one-node-0/exec?command=sh&stdout=true"),
    "open a port of a pod": Request("POST", f"{PODS}/one-node-0/portforward"),
    "make a JobSet": Request(
        "POST",
        f"/apis/jobset.x-k8s.io/v1alpha2/{N}/jobsets",
        an_object(names.JOBSET_API_VERSION, names.JOBSET, "new", spec={"replicatedJobs": []}),
    ),
    "raise its own rights": Request(
        "POST",
        f"{RBAC}/{N}/rolebindings",
        an_object(
            "rbac.authorization.k8s.io/v1", "RoleBinding", "new", roleRef=ADMIN, subjects=[SUBJECT]
        ),
    ),
    "raise them everywhere": Request(
        "POST",
        f"{RBAC}/clusterrolebindings",
        an_object(
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "new",
            roleRef=ADMIN,
            subjects=[SUBJECT],
        ),
    ),
    "change its own role": Request(
        "PATCH",
        f"{RBAC}/{N}/roles/trainer-infra-sdk?fieldManager=a&force=true",
        an_object("rbac.authorization.k8s.io/v1", "Role", "trainer-infra-sdk", rules=[RULE]),
    ),
    "replace its own role": Request(
        "PUT",
        f"{RBAC}/{N}/roles/trainer-infra-sdk",
        an_object("rbac.authorization.k8s.io/v1", "Role", "trainer-infra-sdk", rules=[RULE]),
    ),
    "take a token of a service account": Request(
        "POST",
        f"/api/v1/{N}/serviceaccounts/training/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"audiences": []},
        },
    ),
    "open the network": Request(
        "DELETE", f"/apis/networking.k8s.io/v1/{N}/networkpolicies/trainer-infra-default-deny"
    ),
    "delete its quota": Request("DELETE", f"/api/v1/{N}/resourcequotas/trainer-infra"),
    "let privileged pods in": Request(
        "PATCH",
        "/api/v1/namespaces/vision?fieldManager=a&force=true",
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "vision",
                "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
            },
        },
    ),
    "delete its namespace": Request("DELETE", f"/api/v1/{N}"),
    "make a namespace": Request("POST", "/api/v1/namespaces", an_object("v1", "Namespace", "new")),
    "list namespaces": Request("GET", "/api/v1/namespaces"),
    "list nodes": Request("GET", "/api/v1/nodes"),
    "allow another runtime": Request(
        "DELETE",
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/"
        "trainer-infra-runtimes.vision",
    ),
}
"""What a member must not do. The administrator may do each of it, which shows that it is a request."""
UPGRADES = {"run a command in a pod", "open a port of a pod"}
"""What the server answers otherwise once it has let it pass: these open a stream."""


@dataclass(frozen=True)
class Place:
    """Two workspaces on a server."""

    admin: Account
    member: Account


def workspaces() -> None:
    team = [{"kind": "Group", "name": "vision-team"}]
    platform.Workspace(
        "vision",
        members=team,  # type: ignore[arg-type]
        secrets={"hub": {"ACCESS_TOKEN": "hf_123"}},
        resource_quota={"pods": 10},
        runtimes=["torch-distributed", "TrainingRuntime/ours"],
    )
    platform.Workspace("audio", members=[{"kind": "User", "name": "bob"}])


def in_place() -> Iterator[dict[str, Any]]:
    """What stands before a member comes: of Trainer what its manifests have for every account."""
    public = ("Namespace", "ConfigMap", "Role", "RoleBinding")
    for each in release_objects(release_of("Trainer", None)):
        if each["kind"] in public:
            yield dict(each)
    yield from map(dict, declared_objects(workspaces).values())
    yield runtime(names.CLUSTER_TRAINING_RUNTIME, "torch-distributed")
    ours = runtime(names.TRAINING_RUNTIME, "ours")
    yield {**ours, "metadata": {**ours["metadata"], "namespace": "vision"}}


@pytest.fixture(scope="module")
def place(
    own_api_server: NewServer,
    kubectl_program: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Place]:
    with (
        pytest.MonkeyPatch.context() as patch,
        own_api_server() as server,
        kubelet(tmp_path_factory.mktemp("kubelet")) as port,
    ):
        put_on_path(patch, kubectl_program)
        client = loop.run_in_loop(http.connect_client(str(server.kubeconfig)))
        for each in in_place():
            loop.run_in_loop(client.apply(each, manager="test", force=True))
        admin = Account(server.address)
        for method, path, body in (
            ("POST", JOBS, train_job("one")),
            ("POST", f"{T}/namespaces/audio/trainjobs", train_job("theirs")),
            # As the controller that this server lacks does in each namespace.
            ("POST", f"/api/v1/{N}/serviceaccounts", an_object("v1", "ServiceAccount", "default")),
            ("POST", "/api/v1/nodes", an_object("v1", "Node", "node")),
            ("PATCH", "/api/v1/nodes/node/status?fieldManager=kubelet", node(port)),
            ("POST", PODS, POD | {"spec": {**POD["spec"], "nodeName": "node"}}),
        ):
            reply = admin.send(Request(method, path, body))
            assert reply.status < 300, reply.text
        yield Place(admin, Account(server.address, "alice", "vision-team"))
        loop.run_in_loop(client.close())


def node(port: int) -> dict[str, Any]:
    """A node whose kubelet is on that port of this machine."""
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    return an_object("v1", "Node", "node", status=status)


def test_the_twelve_calls_of_the_sdk_work(place: Place) -> None:
    replies = {name: place.member.send(each) for name, each in SDK_CALLS.items()}

    assert len(SDK_CALLS) == 12
    assert {name: each.text for name, each in replies.items() if each.status >= 300} == {}
    assert replies["read a log"].text == LOG
    assert replies["the version of Trainer"].body["data"] == {"kubeflow_trainer_version": "v2.3.0"}
    listed = {
        name: [each["metadata"]["name"] for each in replies[name].body["items"]]
        for name in replies
        if name.startswith("list")
    }
    assert listed == {
        "list runtimes of the cluster": ["torch-distributed"],
        "list runtimes of the namespace": ["ours"],
        "list jobs": ["one", "two"],
        "list pods of a job": [],
        "list events": [],
    }


def test_at_least_thirty_requests_are_tried() -> None:
    assert len(FORBIDDEN) >= 30


def refused(reply: Reply) -> bool:
    """Whether rights were the reason: webhooks and policies answer 403 as well."""
    return reply.status == 403 and 'User \\"alice\\" cannot' in reply.text


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_member_may_not(place: Place, name: str) -> None:
    reply = place.member.send(FORBIDDEN[name])
    assert refused(reply), reply.text


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_administrator_may(place: Place, name: str) -> None:
    reply = place.admin.send(FORBIDDEN[name], dry_run=name not in UPGRADES)
    taken = reply.status == 400 if name in UPGRADES else reply.status < 300
    assert taken, reply.text


@pytest.mark.parametrize("name", SDK_CALLS)
def test_one_who_is_no_member_may_do_none_of_it_but_ask_for_the_version(
    place: Place, name: str
) -> None:
    stranger = Account(place.admin.address, "alice", "audio-team")
    reply = stranger.send(SDK_CALLS[name])
    assert refused(reply) == (name != "the version of Trainer"), reply.text
