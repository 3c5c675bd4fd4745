"""What fixtures cannot show: whose field holds, what is told once, what is not known, what else there is."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.rules import pod_security, supply_chain, tree, world
from trainer_infra.rules.finding import Change, Severity
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict, judge
from trainer_infra.rules.pod_security import (
    capabilities,
    node_access,
    security_context,
    service_accounts,
)
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.value import UNKNOWN

POD = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
CONTAINER = (*POD, "containers", 0, "securityContext")
RUNTIME = ("spec", "runtimeRef", "name")


def jobset(pod: dict[str, Any], *contexts: Any) -> dict[str, Any]:
    containers = [
        {"name": f"c{index}", "securityContext": each} for index, each in enumerate(contexts)
    ]
    job = {
        "name": "node",
        "template": {"spec": {"template": {"spec": {**pod, "containers": containers}}}},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"replicatedJobs": [job]},
    }


def judged(rule: AnyRule, *objects: dict[str, Any], **parameters: Any) -> list[RuleVerdict]:
    subjects = tree.subjects_of(objects)
    chosen = ConfiguredRule(rule, rule.severity, rule.parameters(**parameters))
    return list(judge(subjects[0], world.world_of(subjects), [chosen]))


def paths(rule: AnyRule, *objects: dict[str, Any], **parameters: Any) -> list[tuple[Any, ...]]:
    return [each.path for one in judged(rule, *objects, **parameters) for each in one.findings]


@pytest.mark.parametrize(
    ("pod", "container", "found"),
    [
        ({"runAsNonRoot": True}, {}, []),
        ({}, {"runAsNonRoot": True}, []),
        ({"runAsNonRoot": False}, {"runAsNonRoot": True}, []),
        ({"runAsNonRoot": True, "runAsUser": 0}, {"runAsUser": 1000}, []),
        ({"runAsNonRoot": True, "runAsUser": 0.0}, {}, [(*POD, "securityContext", "runAsUser")]),
        ({"runAsNonRoot": True}, {"runAsUser": 0}, [(*CONTAINER, "runAsUser")]),
        ({}, {}, [(*POD, "securityContext", "runAsNonRoot")]),
        ({"runAsNonRoot": True}, {"runAsNonRoot": False}, [(*CONTAINER, "runAsNonRoot")]),
    ],
)
def test_a_container_says_otherwise_than_its_pod_who_it_runs_as(
    pod: Any, container: Any, found: list[Any]
) -> None:
    assert (
        paths(security_context.RUN_AS_NON_ROOT, jobset({"securityContext": pod}, container))
        == found
    )


def test_a_pod_that_lacks_a_field_is_where_to_fix_for_all_its_containers() -> None:
    assert paths(security_context.RUN_AS_NON_ROOT, jobset({}, {}, {})) == [
        (*POD, "securityContext", "runAsNonRoot")
    ]


def test_no_seccomp_profile_is_overlooked_because_another_holds() -> None:
    free, kept = ({"seccompProfile": {"type": each}} for each in ("Unconfined", "Localhost"))
    assert paths(
        security_context.SECCOMP_UNCONFINED, jobset({"securityContext": free}, kept, kept)
    ) == [(*POD, "securityContext", "seccompProfile", "type")]
    assert paths(security_context.SECCOMP_UNCONFINED, jobset({}, kept, free)) == [
        (*POD, "containers", 1, "securityContext", "seccompProfile", "type")
    ]
    assert paths(security_context.SECCOMP_UNCONFINED, jobset({}, kept)) == []
    assert paths(security_context.SECCOMP, jobset({}, kept, free)) == []


def test_a_context_that_is_not_known_ends_the_judgement_of_its_container_alone() -> None:
    [one] = judged(security_context.PRIVILEGED, jobset({}, UNKNOWN, {"privileged": True}))
    where = (*POD, "containers", 1, "securityContext", "privileged")
    assert [(each.path, each.patch) for each in one.findings] == [(where, (Change(where, False),))]
    assert one.unseen == ((*CONTAINER, "privileged"),)


def test_drops_that_are_not_known_may_be_all() -> None:
    [one] = judged(
        capabilities.CAPABILITIES_DROPPED,
        jobset({}, {"capabilities": {"drop": [UNKNOWN], "add": ["CAP_CHOWN"]}}),
    )
    assert [each.path for each in one.findings] == [(*CONTAINER, "capabilities", "add", 0)]
    assert one.unseen == ((*CONTAINER, "capabilities", "drop", 0),)


@pytest.mark.parametrize(
    "context", [{"privileged": True}, {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}]
)
def test_no_patch_makes_what_the_api_server_refuses(context: Any) -> None:
    [one] = judged(security_context.PRIVILEGE_ESCALATION, jobset({}, context))
    assert [each.patch for each in one.findings] == [()]


@pytest.mark.parametrize(
    ("path", "allow", "is_found"),
    [
        ("/mnt/nvme", ("/mnt/nvme/",), False),
        ("//mnt/./nvme//a", ("/mnt/nvme",), False),
        ("/mnt/nvme2", ("/mnt/nvme",), True),
        ("/mnt/nvme/../../etc", ("/mnt/nvme",), True),
        ("/mnt/nvme/a/../b", ("/mnt/nvme",), True),
        ("/mnt", ("/mnt/nvme",), True),
        ("/", (), True),
    ],
)
def test_a_folder_is_allowed_with_what_is_in_it(
    path: str, allow: tuple[str, ...], is_found: bool
) -> None:
    volume = {"name": "a", "hostPath": {"path": path}}
    assert (
        bool(paths(node_access.HOST_PATH, jobset({"volumes": [volume]}), allow=allow)) is is_found
    )


@pytest.mark.parametrize(
    "rule", [service_accounts.DEFAULT_SERVICE_ACCOUNT, service_accounts.SERVICE_ACCOUNT_TOKEN]
)
@pytest.mark.parametrize(
    ("pod", "of_account", "is_found"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"automountServiceAccountToken": True}, False, True),
        ({"automountServiceAccountToken": False}, True, False),
    ],
)
def test_an_account_says_whether_its_token_is_mounted_where_the_pod_does_not(
    rule: AnyRule, pod: dict[str, Any], of_account: bool, is_found: bool
) -> None:
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "vision"},
        "automountServiceAccountToken": of_account,
    }
    assert bool(paths(rule, jobset(pod), account)) is is_found


def test_the_data_cache_keeps_its_token() -> None:
    runtime = catalog.get("torch-distributed-with-cache").to_wire()
    jobs = [path[4] for path in paths(service_accounts.SERVICE_ACCOUNT_TOKEN, runtime)]
    assert jobs == [1]
    assert len(paths(service_accounts.SERVICE_ACCOUNT_TOKEN, runtime, needed_by=())) == 2


@pytest.mark.parametrize("shipped", catalog.RUNTIMES, ids=lambda each: each.name)
def test_a_catalog_runtime_has_nothing_grave_and_is_where_to_fix_for_each_train_job(
    shipped: Any,
) -> None:
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": shipped.name}},
    }
    grave = (Severity.HIGH, Severity.CRITICAL)
    for rule in (*supply_chain.RULES, *pod_security.RULES):
        if rule.severity in grave:
            assert paths(rule, job) == paths(rule, shipped.runtime().to_wire()) == []
    for rule in pod_security.RULES:
        assert paths(rule, job) in ([], [RUNTIME])
