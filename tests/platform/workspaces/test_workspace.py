"""A workspace's objects: rights, network, service account and secrets of a team's namespace."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pulumi
import pytest

from tests.cluster.roles import on_the_page
from tests.platform.declared_resources import (
    DeclaredResource,
    as_object,
    declared_objects,
    declared_resources,
)
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.manifests.object_resources import object_key

TEAM: Any = {"kind": "Group", "name": "vision-team"}
CI: Any = {"kind": "ServiceAccount", "name": "ci", "rights": ["provider", "sdk"]}
JOBSET_PODS = {
    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
}


def workspace(**args: Any) -> dict[str, JSONObject]:
    """The objects of a workspace `vision` without a queue."""
    return declared_objects(lambda: platform.Workspace("vision", **args))


def rules(made: Mapping[str, JSONObject], key: str) -> set[tuple[str, str, str]]:
    """Group, resource and verb of each right of a role."""
    return {
        (group, resource, verb)
        for rule in made[key]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_a_workspace_that_says_nothing_is_a_closed_namespace() -> None:
    assert workspace() == {
        "Namespace/vision": {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": "vision",
                "labels": {
                    "pod-security.kubernetes.io/enforce": "baseline",
                    "pod-security.kubernetes.io/warn": "restricted",
                    "pod-security.kubernetes.io/audit": "restricted",
                },
            },
        },
        "ServiceAccount/vision/training": {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": "training", "namespace": "vision"},
            "automountServiceAccountToken": False,
        },
        "NetworkPolicy/vision/trainer-infra-default-deny": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "trainer-infra-default-deny", "namespace": "vision"},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        },
        "NetworkPolicy/vision/trainer-infra-training": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "trainer-infra-training", "namespace": "vision"},
            "spec": TRAINING,
        },
    }


TRAINING = {
    "podSelector": JOBSET_PODS,
    "policyTypes": ["Ingress", "Egress"],
    "ingress": [{"from": [{"podSelector": JOBSET_PODS}]}],
    "egress": [
        {"to": [{"podSelector": JOBSET_PODS}]},
        {
            "to": [
                {
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": "kube-system"}
                    }
                },
                {"ipBlock": {"cidr": "169.254.20.10/32"}},
            ],
            "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
        },
        {
            "to": [
                {
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": "kubeflow-system"}
                    },
                    "podSelector": {"matchLabels": {"app.kubernetes.io/component": "manager"}},
                }
            ],
            "ports": [{"protocol": "TCP", "port": 10443}],
        },
        {
            "to": [
                {
                    "ipBlock": {
                        "cidr": "0.0.0.0/0",
                        "except": [
                            "10.0.0.0/8",
                            "172.16.0.0/12",
                            "192.168.0.0/16",
                            "100.64.0.0/10",
                            "169.254.0.0/16",
                        ],
                    }
                },
                {"ipBlock": {"cidr": "::/0", "except": ["fc00::/7", "fe80::/10"]}},
            ],
            "ports": [{"protocol": "TCP", "port": 443}],
        },
    ],
}


def egress(**args: Any) -> list[Any]:
    made = workspace(**args)["NetworkPolicy/vision/trainer-infra-training"]
    listed: list[Any] = made["spec"]["egress"]
    return listed


def test_a_program_changes_the_network() -> None:
    bucket = {"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"port": 9000}]}
    plain = egress()

    assert egress(internet=False, egress=[bucket]) == [*plain[:3], bucket]
    assert egress(service_account_annotations={"iam.gke.io/gcp-service-account": "a@b"}) == [
        *plain,
        {
            "to": [{"ipBlock": {"cidr": "169.254.169.252/32"}}],
            "ports": [{"protocol": "TCP", "port": 988}],
        },
        {
            "to": [{"ipBlock": {"cidr": "169.254.169.254/32"}}],
            "ports": [{"protocol": "TCP", "port": 80}],
        },
    ]
    kinds = {each["kind"] for each in workspace(network_policy=False).values()}
    assert kinds == {"Namespace", "ServiceAccount"}


def test_members_have_the_rights_of_their_sets() -> None:
    made = workspace(members=[TEAM, CI], rights=["sdk", "edit-runtimes"])
    trainer = "trainer.kubeflow.org"

    assert rules(made, "Role/vision/trainer-infra-sdk") == {
        *((trainer, "trainjobs", verb) for verb in ("create", "get", "list", "delete")),
        *((trainer, "trainingruntimes", verb) for verb in ("get", "list")),
        ("", "pods", "list"),
        ("", "pods/log", "get"),
        ("", "events", "list"),
    }
    assert rules(made, "ClusterRole/trainer-infra:vision:sdk") == {
        (trainer, "clustertrainingruntimes", verb) for verb in ("get", "list")
    }
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "vision-team"}
    account = {"kind": "ServiceAccount", "name": "ci", "namespace": "vision"}
    subjects = {
        key: made[key]["subjects"] for key in made if key.partition("/")[0].endswith("Binding")
    }
    assert subjects == {
        "RoleBinding/vision/trainer-infra-sdk": [group, account],
        "ClusterRoleBinding/trainer-infra:vision:sdk": [group, account],
        "RoleBinding/vision/trainer-infra-provider": [account],
        "ClusterRoleBinding/trainer-infra:vision:provider": [account],
        "RoleBinding/vision/trainer-infra-edit-runtimes": [group],
    }
    for key in subjects:
        reference = made[key]["roleRef"]
        role = key.replace("Binding", "", 1)
        assert reference["kind"] == made[role]["kind"]
        assert reference["name"] == made[role]["metadata"]["name"]


def test_the_set_for_engine_provider_is_what_the_page_of_rights_says() -> None:
    made = workspace(members=[CI])
    page = {each["metadata"]["name"]: each for each in on_the_page()}
    wanted = [page[f"trainer-infra-{name}"] for name in ("submit", "gate", "cli")]

    assert rules(made, "Role/vision/trainer-infra-provider") == {
        each for role in wanted for each in rules({"it": role}, "it")
    }
    assert rules(made, "ClusterRole/trainer-infra:vision:provider") == rules(
        page, "trainer-infra-nodes"
    )


def test_the_cache_gets_the_rights_that_the_reference_forgets() -> None:
    made = workspace(data_cache=True)
    role = rules(made, "Role/vision/kubeflow-trainer-cache-initializer")

    assert role == {
        *(
            ("leaderworkerset.x-k8s.io", "leaderworkersets", verb)
            for verb in ("create", "get", "list", "watch")
        ),
        *(("", "services", verb) for verb in ("create", "get", "list", "watch")),
        *(("", "serviceaccounts", verb) for verb in ("create", "delete", "get", "list", "watch")),
        ("trainer.kubeflow.org", "trainjobs", "get"),
    }
    binding = made["RoleBinding/vision/kubeflow-trainer-cache-initializer"]
    assert binding["subjects"] == [
        {
            "kind": "ServiceAccount",
            "name": "kubeflow-trainer-cache-initializer",
            "namespace": "vision",
        }
    ]
    assert "ServiceAccount/vision/kubeflow-trainer-cache-initializer" in made
    assert {key for key in made if "cache" in key and key.startswith("NetworkPolicy")} == {
        "NetworkPolicy/vision/trainer-infra-cache",
        "NetworkPolicy/vision/trainer-infra-cache-clients",
        "NetworkPolicy/vision/trainer-infra-cache-initializer",
    }


def declared(program: Callable[[], object], key: str) -> DeclaredResource:
    found = {
        object_key(as_object(each)): each
        for each in declared_resources(program)
        if "metadata" in each.inputs
    }
    return found[key]


def test_values_of_secrets_are_secret_to_pulumi_however_they_are_given() -> None:
    values: Any = {"ACCESS_TOKEN": "hf_123", "OTHER": pulumi.Output.from_input("b")}
    made = declared(
        lambda: platform.Workspace("vision", secrets={"hub": values}), "Secret/vision/hub"
    )

    assert as_object(made) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hub", "namespace": "vision"},
        "type": "Opaque",
        "stringData": {"ACCESS_TOKEN": "hf_123", "OTHER": "b"},
    }
    assert {path[:1] for path in made.secrets} == {("stringData",)}


def test_every_object_is_a_child_that_comes_after_the_namespace() -> None:
    component, owner, namespace, *rest, guard = declared_resources(
        lambda: platform.Workspace(
            "vision", namespace="team-v", members=[TEAM], data_cache=True, runtimes=["a"]
        )
    )
    assert guard.kind == "pulumi-python:trainer:DestroyGuard"
    assert (guard.inputs["namespace"], guard.parent) == ("team-v", component.urn)
    assert {each.urn for each in (namespace, *rest)} <= guard.dependencies
    assert component.kind == "trainer:index:Workspace"
    assert namespace.name == "vision:team-v"
    assert owner.inputs["namespaces"] == guard.inputs["namespaces"] == ["team-v"]
    assert owner.urn in namespace.dependencies
    assert {each.parent for each in (namespace, *rest)} == {component.urn}
    inside = [each for each in rest if "namespace" in each.inputs["metadata"]]
    assert len(inside) > 10
    assert all(namespace.urn in each.dependencies for each in inside)


def test_outputs_name_the_namespace_and_the_service_account() -> None:
    seen: list[object] = []

    def program() -> None:
        team = platform.Workspace("vision", namespace="team-v", service_account="trainer")
        pulumi.Output.all(team.namespace, team.service_account).apply(seen.extend)

    declared_resources(program)
    assert seen == ["team-v", "trainer"]


def test_a_namespace_without_a_queue_gets_the_limits_that_a_program_gives() -> None:
    made = workspace(
        resource_quota={"requests.cpu": 8, "pods": "20"}, limit_range={"max": {"cpu": 4}}
    )
    assert made["ResourceQuota/vision/trainer-infra"]["spec"] == {
        "hard": {"requests.cpu": 8, "pods": "20"}
    }
    assert made["LimitRange/vision/trainer-infra"]["spec"] == {
        "limits": [{"type": "Container", "max": {"cpu": 4}}]
    }
    without = workspace(resource_quota={"requests.cpu": 8})["LimitRange/vision/trainer-infra"]
    assert without["spec"] == {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]}


MISTAKES: Mapping[str, tuple[dict[str, Any], str]] = {
    "an argument that is none": ({"member": []}, "member: is not an argument; did you mean members?"),
    "a namespace": (
        {"namespace": "Vision"},
        "namespace: must be lower-case letters, digits and -, and begin and end with a letter or digit, got 'Vision'",
    ),
    **{
        f"the namespace {name}": (
            {"namespace": name},
            f"namespace: belongs to Kubernetes, and destroy would delete it, got '{name}'; give",
        )
        for name in ("default", "kube-system", "kube-public")
    },
    "a label": ({"labels": {"a b": "c"}}, "labels[a b]: must be a key such as stage"),
    "labels that are none": ({"labels": "a"}, "labels: "),
    "a label of Pod Security": (
        {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
        "labels.pod-security.kubernetes.io/enforce: is set by pod_security; leave it out",
    ),
    "a level": (
        {"pod_security": "strict"},
        "pod_security: must be baseline or restricted or privileged, got 'strict'",
    ),
    "members that are no list": ({"members": TEAM}, "members: must be a list, got {"),
    "a member that is a name": (
        {"members": ["bob"]},
        "members[0]: must be a mapping with kind and name, got 'bob'; write members=",
    ),
    "a kind of member": (
        {"members": [{"kind": "Team", "name": "a"}]},
        "members[0].kind: must be User or Group or ServiceAccount, got 'Team'",
    ),
    "a member without a name": ({"members": [{"kind": "User"}]}, "members[0].name: is missing"),
    "everyone": (
        {"members": [{"kind": "Group", "name": "system:authenticated"}]},
        "members[0].name: is everyone who reaches the API server",
    ),
    "a group of a namespace": (
        {"members": [{**TEAM, "namespace": "a"}]},
        "members[0].namespace: is for a ServiceAccount, and this is a Group, got 'a'",
    ),
    "a field of a member": (
        {"members": [{**TEAM, "role": "admin"}]},
        "members[0].role: is not a known field here; use kind, name, namespace, rights",
    ),
    "a set of rights": (
        {"rights": ["admin"]},
        "rights: is not a set of rights, got 'admin'; use sdk, provider, edit-runtimes",
    ),
    "a member's rights": (
        {"members": [{**TEAM, "rights": "sdk"}]},
        "members[0].rights: must be a list, got 'sdk'",
    ),
    "no runtime": ({"runtimes": []}, "runtimes: allows no runtime at all; name one, or leave"),
    "a runtime of no kind": (
        {"runtimes": ["Runtime/a"]},
        "runtimes: is not a runtime, got 'Runtime/a'; write",
    ),
    "a runtime's name": ({"runtimes": ["A_b"]}, "runtimes: must be lower-case letters, digits, - and ., and begin"),
    "a runtime alone": ({"runtimes": "a"}, "runtimes: must be a list, got 'a'"),
    "a secret's value alone": (
        {"secrets": {"hub": "hf_123"}},
        "secrets.hub: must be a mapping, and is of type str",
    ),
    "a secret's key": (
        {"secrets": {"hub": {"a b": "hf_123"}}},
        "secrets.hub: is not a valid Secret key, got 'a b'; write letters",
    ),
    "a secret's value": (
        {"secrets": {"hub": {"a": 123}}},
        "secrets.hub.a: must be a text, and is of type int",
    ),
    "a secret's name": ({"secrets": {"Hub": {"a": "b"}}}, "secrets: must be lower-case letters, digits, - and ., and begin"),
    "Kubernetes' own service account": (
        {"service_account": "default"},
        "service_account: is the one that Kubernetes makes in each namespace, got 'default'; choose",
    ),
    "a service account": ({"service_account": "a/b"}, "service_account: must be lower-case letters, digits, - and ., and begin"),
    "an annotation": (
        {"service_account_annotations": {"a": 1}},
        "service_account_annotations.a: must be a text, got 1",
    ),
    "egress to everywhere": ({"egress": [{}]}, "egress[0]: lets everything out, got {}"),
    "an egress rule": ({"egress": ["10.0.0.0/8"]}, "egress[0]: must be a mapping, got '10.0.0.0/8'; write egress="),
    "one egress rule": ({"egress": {"to": []}}, "egress: must be a list, got {'to': []}; write egress="),
    "rules of no policy": (
        {"network_policy": False, "internet": False},
        "internet: is a rule of the network policy, and network_policy=False switches that off;",
    ),
    "an amount": (
        {"resource_quota": {"pods": "many"}},
        "resource_quota.pods: must be a quantity such as 1, 500m or 16Gi, got 'many'",
    ),
    "an amount below zero": (
        {"resource_quota": {"pods": -1}},
        "resource_quota.pods: must not be negative, got -1",
    ),
    "a limit": (
        {"limit_range": {"requests": {}}},
        "limit_range.requests: is not a field of a LimitRange; use default, defaultRequest, max,",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_argument_is_one_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        workspace(**args)

    said = str(raised.value)
    assert said.startswith(f"Workspace vision: {sentence}")
    assert "\n" not in said
    assert "hf_123" not in said


def test_all_problems_of_a_workspace_are_said_at_once() -> None:
    with pytest.raises(pulumi.RunError) as raised:
        workspace(namespace="-", rights=["a"], runtimes=[])
    assert [each.split(": ")[1] for each in str(raised.value).splitlines()] == [
        "namespace",
        "rights",
        "runtimes",
    ]


@pytest.mark.parametrize("known", [True, False])
def test_a_quota_of_a_flavor_that_the_platform_does_not_have_is_refused(known: bool) -> None:
    def workspace(*flavors: str) -> None:
        # An Output belongs to the event loop of the program that makes it.
        given: Any = list(flavors) if known else pulumi.Output.from_input(list(flavors))
        platform.Workspace("vision", quota={"cpu": 8}, flavor="h100", flavors=given)

    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(partial(workspace, "default-flavor", "a10"))
    assert str(raised.value) == (
        "Workspace vision: quota: names a flavor that the platform does not have, got 'h100'; "
        "use default-flavor or a10"
    )
    declared_resources(partial(workspace, "h100"))
