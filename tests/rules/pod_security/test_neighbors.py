"""What is near to something forbidden and is right: rules of pod security leave it alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge

JSON = dict[str, Any]
NEVER = {"image-digest", "read-only-root"}
"""What every object here leaves open."""
RBAC = "rbac.authorization.k8s.io"


def told(*objects: JSON, **parameters: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Rules of pod security and of the supply chain, and what they say of the first object."""
    subjects = tree.subjects_of(objects)
    chosen = [
        ConfiguredRule(each, each.severity, each.parameters(**parameters.get(each.id, {})))
        for each in RULES
        if each.tags[0] in ("pod-security", "supply-chain") and each.id not in NEVER
    ]
    judged = judge(subjects[0], world.world_of(subjects), chosen)
    return [(one.chosen.rule.id, each.what) for one in judged for each in one.findings]


def pod(container: JSON | None = None, **spec: Any) -> JSON:
    """A Pod that every rule takes, with more in it."""
    secured = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    node = {
        "name": "node",
        "image": "registry.example.com/train:v7",
        "securityContext": secured,
        **(container or {}),
    }
    whole = {
        "serviceAccountName": "train",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [node],
        **spec,
    }
    metadata = {"name": "digits", "namespace": "vision"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def volume(**source: Any) -> JSON:
    return pod(volumes=[{"name": "a", **source}])


def projected(**token: Any) -> JSON:
    return volume(projected={"sources": [{"serviceAccountToken": {"path": "token", **token}}]})


WINDOWS = {
    "os": {"name": "windows"},
    "securityContext": {
        "runAsNonRoot": True,
        "windowsOptions": {"runAsUserName": "ContainerUser"},
    },
}
KEY = {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "store", "key": "key"}}}


def endpoint(url: str, name: str = "ENDPOINT") -> JSON:
    return pod({"env": [KEY, {"name": name, "value": url}]})


PODS = {
    "a pod of Windows": pod({"securityContext": {}}, **WINDOWS),
    "users of its own": pod(hostUsers=False),
    "processes shared in the pod": pod(shareProcessNamespace=True),
    "a class of runtime": pod(runtimeClassName="nvidia"),
    "a token for a vault": projected(audience="vault"),
    "a token for a cloud": projected(audience="sts.amazonaws.com", expirationSeconds=86400),
    "a token for a service that sounds alike": projected(audience="https://kubernetes.example.com"),
    "a Secret that has token in its name": volume(secret={"secretName": "hub-token"}),
    "a bucket by its driver": volume(
        csi={"driver": "gcsfuse.csi.storage.gke.io", "volumeAttributes": {"bucketName": "data"}}
    ),
    "a disk of the pod alone": volume(
        ephemeral={"volumeClaimTemplate": {"spec": {"storageClassName": "local-path"}}}
    ),
    "groups of a team": pod(
        securityContext={
            "runAsNonRoot": True,
            "seccompProfile": {"type": "Localhost", "localhostProfile": "train.json"},
            "fsGroup": 100,
            "supplementalGroups": [2000],
        }
    ),
    "a release that is called latest elsewhere": pod(
        {"image": "registry.example.com/latest/a:1.2"}
    ),
    "a store of the cluster": endpoint("http://minio.storage.svc:9000"),
    "a store of the cluster by its short name": endpoint("http://minio.storage:9000"),
    "a store beside it": endpoint("http://minio:9000"),
    "this machine": endpoint("http://127.0.0.1:4317"),
    "this machine by IPv6": endpoint("http://[::1]:4317"),
    "a proxy": endpoint("http://proxy.example.com:3128", "https_proxy"),
    "a text about it": endpoint("see http://example.com for more"),
    "another scheme": endpoint("https://s3.example.com"),
    "no check of a store of the cluster": pod(
        {
            "env": [
                KEY,
                {"name": "ENDPOINT", "value": "https://minio.storage.svc:9000"},
                {"name": "S3_VERIFY_SSL", "value": "0"},
            ]
        }
    ),
    "no secret beside it": pod({"env": [{"name": "ENDPOINT", "value": "http://s3.example.com"}]}),
}


@pytest.mark.parametrize("value", PODS.values(), ids=PODS)
def test_a_pod_that_is_near_to_something_forbidden_is_left_alone(value: JSON) -> None:
    assert told(value) == []


def role(kind: str, *rules: JSON, **metadata: Any) -> JSON:
    named = {"name": "train", **({"namespace": "vision"} if kind == "Role" else {}), **metadata}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": named, "rules": list(rules)}


def rule(groups: str, resources: str, verbs: str, **names: Any) -> JSON:
    return {
        "apiGroups": groups.split(","),
        "resources": resources.split(","),
        "verbs": verbs.split(","),
        **names,
    }


def binding(kind: str, of_kind: str, name: str, *subjects: str) -> JSON:
    """A binding; a subject is written as KIND:NAME, an account as NAMESPACE/NAME."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": "b", **({"namespace": "vision"} if kind == "RoleBinding" else {})},
        "roleRef": {"apiGroup": RBAC, "kind": of_kind, "name": name},
        "subjects": [*_subjects(subjects)],
    }


def _subjects(subjects: Sequence[str]) -> Iterator[JSON]:
    for each in subjects:
        namespace, slash, account = each.partition("/")
        kind, _, name = each.partition(":")
        if slash:
            yield {"kind": "ServiceAccount", "name": account, "namespace": namespace}
        else:
            yield {"kind": kind, "name": name, "apiGroup": RBAC}


EVERYTHING = rule("*", "*", "*")
SECRETS = rule("", "secrets", "get,list,watch")
RIGHTS = {
    "a Secret by its name": (role("Role", rule("", "secrets", "get", resourceNames=["hub"])),),
    "all of Trainer": (role("ClusterRole", rule("trainer.kubeflow.org", "*", "*")),),
    "pods and their logs": (role("Role", rule("", "pods,pods/log", "get,list,watch")),),
    "roles to be read": (role("ClusterRole", rule(RBAC, "roles,clusterroles", "get,list")),),
    "a webhook by its name": (
        role(
            "ClusterRole",
            rule(
                "admissionregistration.k8s.io",
                "mutatingwebhookconfigurations",
                "get,patch",
                resourceNames=["a"],
            ),
        ),
    ),
    "Secrets of another group": (role("ClusterRole", rule("example.com", "secrets", "get")),),
    "an operator's": (
        role("ClusterRole", EVERYTHING),
        binding(
            "ClusterRoleBinding", "ClusterRole", "train", "argocd/argocd-application-controller"
        ),
    ),
    "an operator's in a namespace of its own": (
        role("ClusterRole", SECRETS),
        binding("ClusterRoleBinding", "ClusterRole", "train", "seldon-operator/manager"),
    ),
    "people's": (
        role("Role", rule("", "pods/exec", "create")),
        binding("RoleBinding", "Role", "train", "Group:vision-team"),
    ),
    "administrators'": (
        role("ClusterRole", EVERYTHING),
        binding("ClusterRoleBinding", "ClusterRole", "train", "Group:oidc:platform-admins"),
    ),
    "gathered by a label of its own": (
        {
            **role("ClusterRole"),
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a.io/to-b": "true"}}]},
        },
    ),
    "added to edit": (
        role(
            "ClusterRole",
            rule("kueue.x-k8s.io", "localqueues", "*"),
            labels={f"{RBAC}/aggregate-to-edit": "true"},
        ),
    ),
    "bound: cluster-admin, to Flux": (
        binding(
            "ClusterRoleBinding",
            "ClusterRole",
            "cluster-admin",
            "flux-system/kustomize-controller",
            "flux-system/helm-controller",
        ),
    ),
    "bound: cluster-admin, to what makes backups": (
        binding("ClusterRoleBinding", "ClusterRole", "cluster-admin", "velero/velero"),
    ),
    "bound: edit of a namespace, to its own account": (
        binding("RoleBinding", "ClusterRole", "edit", "vision/train"),
    ),
    "bound: admin of a namespace, to people": (
        binding("RoleBinding", "ClusterRole", "admin", "User:alice@example.com"),
    ),
    "bound: what everyone may know": (
        binding(
            "ClusterRoleBinding",
            "ClusterRole",
            "system:service-account-issuer-discovery",
            "Group:system:unauthenticated",
        ),
    ),
    "bound: a role that reads, to all who log in": (
        binding("RoleBinding", "Role", "train", "Group:system:authenticated"),
        role("Role", rule("", "configmaps", "get,list", resourceNames=["public"])),
    ),
    "bound: images, to the accounts of a project of OpenShift": (
        binding("RoleBinding", "ClusterRole", "system:image-puller", "Group:system:authenticated"),
    ),
    "bound: a role of the cluster's own, to its own": (
        binding("ClusterRoleBinding", "ClusterRole", "system:node", "Group:system:nodes"),
    ),
}


@pytest.mark.parametrize("objects", RIGHTS.values(), ids=RIGHTS)
def test_rights_that_are_right_are_left_alone(objects: Sequence[JSON]) -> None:
    assert told(*objects) == []


TOO_MUCH = {
    "edit beside the cluster's own programs": {
        **binding("RoleBinding", "ClusterRole", "edit", "vision/train"),
        "metadata": {"name": "b", "namespace": "kube-system"},
    },
    "privileged pods on OpenShift": binding(
        "RoleBinding", "ClusterRole", "system:openshift:scc:privileged", "vision/train"
    ),
    "cluster-admin, to an account of pods": binding(
        "ClusterRoleBinding", "ClusterRole", "cluster-admin", "vision/train"
    ),
    "cluster-admin in a namespace": binding(
        "RoleBinding", "ClusterRole", "cluster-admin", "vision/train"
    ),
    "edit everywhere": binding("ClusterRoleBinding", "ClusterRole", "edit", "vision/train"),
    "the default account of the cluster's programs": binding(
        "ClusterRoleBinding", "ClusterRole", "cluster-admin", "kube-system/default"
    ),
}


@pytest.mark.parametrize("value", TOO_MUCH.values(), ids=TOO_MUCH)
def test_an_account_of_pods_has_no_role_of_the_cluster(value: JSON) -> None:
    assert "role-binding" in {each for each, _ in told(value)}


def named(kind: str, version: str, spec: JSON | None = None, **metadata: Any) -> JSON:
    made = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return made if spec is None else {**made, "spec": spec}


LEVEL = "pod-security.kubernetes.io/enforce"
OTHERS = {
    "a namespace that enforces": named("Namespace", "v1", name="a", labels={LEVEL: "restricted"}),
    "an operator's namespace": named(
        "Namespace", "v1", name="gpu-operator", labels={LEVEL: "privileged"}
    ),
    "the system's namespace": named("Namespace", "v1", name="kube-system"),
    "a disk of a provisioner": named(
        "PersistentVolume", "v1", {"local": {"path": "/mnt/disks/ssd0"}}, name="a"
    ),
    "a disk of a cloud": named(
        "PersistentVolume", "v1", {"csi": {"driver": "ebs.csi.aws.com"}}, name="a"
    ),
    "a file server as a volume": named(
        "PersistentVolume", "v1", {"nfs": {"server": "files.example.com", "path": "/"}}, name="a"
    ),
    "a class of Rook": {
        **named("StorageClass", "storage.k8s.io/v1", name="rook-ceph-block"),
        "parameters": {"csi.storage.k8s.io/provisioner-secret-namespace": "rook-ceph"},
    },
    "an agent of the system": named(
        "DaemonSet", "apps/v1", {"template": pod()}, name="a", namespace="kube-system"
    ),
    "a backup of the system": named(
        "CronJob",
        "batch/v1",
        {"jobTemplate": {"spec": {"template": pod()}}},
        name="etcd-backup",
        namespace="kube-system",
    ),
    "a namespace that is called nearly so": named(
        "TrainJob", "trainer.kubeflow.org/v1alpha1", {}, name="a", namespace="kubeflow"
    ),
    "a Secret": {**named("Secret", "v1", name="a"), "type": "kubernetes.io/dockerconfigjson"},
    "a claim of devices": named(
        "ResourceClaimTemplate",
        "resource.k8s.io/v1",
        {"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu"}}]}}},
        name="a",
    ),
    "a kustomization of Flux": named(
        "Kustomization", "kustomize.toolkit.fluxcd.io/v1", {"path": "./jobs"}, name="a"
    ),
    "an application on a branch of its own": named(
        "Application",
        "argoproj.io/v1alpha1",
        {"source": {"repoURL": "https://git.example.com/jobs", "targetRevision": "main"}},
        name="a",
    ),
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_other_objects_that_are_right_are_left_alone(value: JSON) -> None:
    assert told(value) == []


def test_a_model_may_come_from_anywhere_until_a_list_says_otherwise() -> None:
    model = pod({"args": ["--model_name_or_path", "others/digits"]})
    chosen = next(each for each in RULES if each.id == "hub-organization")

    def found(value: JSON, **parameters: Any) -> list[object]:
        (subject,) = tree.subjects_of([value])
        rules = [ConfiguredRule(chosen, chosen.severity, chosen.parameters(**parameters))]
        judged = judge(subject, world.world_of([subject]), rules)
        return [each.got for one in judged for each in one.findings]

    assert found(model) == []
    assert found(model, allow=["vision"]) == ["others"]
    for near in (
        "/models/digits",
        "./digits",
        "data/digits",
        "gpt2",
        "s3://others/digits",
        "$MODEL",
    ):
        assert found(pod({"args": [f"--model={near}"]}), allow=["vision"]) == []
