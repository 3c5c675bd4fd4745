"""Every object of a workspace, or every problem of its arguments.

The data-cache initializer has its steps from reference behaviour 7.2, its rights from the data-cache overlay of the reference, which forgets `get` of the
TrainJob: the initializer reads it to own what it makes, and without that starts no cache and reports no
error.

The service account of training pods has no token of the API server, and the identity of a cloud. It is not
the namespace's `default` one, which Kubernetes itself makes as soon as the namespace is there: Pulumi's plugin
refuses to create what exists. So runtimes or TrainJobs name it; a RuntimeCatalog does with `service_account=`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pulumi

from trainer_infra import names
from trainer_infra.catalog.data_cache import SERVICE_ACCOUNT
from trainer_infra.cluster.rights import right_to
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import SERVICE, TRAIN_JOB, Resource
from trainer_infra.platform.argument_problems import NAME, SHORT_NAME, shape_problems
from trainer_infra.platform.workspaces.allowed_runtimes import (
    runtime_policy_objects,
    runtime_problems,
)
from trainer_infra.platform.workspaces.namespace import (
    LEVELS,
    namespace_label_problems,
    namespace_object,
    namespace_problems,
)
from trainer_infra.platform.workspaces.network_policy import (
    API_SERVER,
    DNS,
    INTERNET,
    TRAINING_PODS,
    egress_problems,
    network_policies,
    network_policy,
    ports,
)
from trainer_infra.platform.workspaces.queue import derived_hard_limits, queue_problems
from trainer_infra.platform.workspaces.quota import limit_problems, resource_quota_objects
from trainer_infra.platform.workspaces.rights import (
    SDK,
    member_problems,
    rights_objects,
    rights_problems,
    role,
    role_binding,
    role_rules,
)
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES, WorkspaceArgs

TRAINING: Final = "training"
"""Name of the service account of training pods unless the program gives another."""
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII)
_LEADER_WORKER_SET: Final = Resource(
    "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets"
)
_SERVICE_ACCOUNT: Final = Resource("v1", "ServiceAccount", "serviceaccounts")
_RIGHTS: Final = (
    *right_to(_LEADER_WORKER_SET, "create", "get", "list", "watch"),
    *right_to(SERVICE, "create", "get", "list", "watch"),
    *right_to(_SERVICE_ACCOUNT, "create", "delete", "get", "list", "watch"),
    *right_to(TRAIN_JOB, "get"),
)
_CACHE_PODS: Final[JSONObject] = {
    "matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]
}
_FLIGHT_PORT: Final = 50051


def workspace_objects(namespace: str, args: WorkspaceArgs) -> tuple[JSONObject, ...]:
    """The objects of a workspace, but those of its queue.

    Raises:
        InvalidInput: What an argument says cannot be.
    """
    if problems := tuple(_problems(namespace, args)):
        raise InvalidInput(problems)
    return tuple(_objects(namespace, args))


def _objects(namespace: str, args: WorkspaceArgs) -> Iterator[JSONObject]:
    level = args.get("pod_security", LEVELS[0])
    yield namespace_object(namespace, level, args.get("labels", {}))
    annotations = args.get("service_account_annotations", {})
    yield _service_account(args.get("service_account", TRAINING), namespace, annotations)
    for name, values in args.get("secrets", {}).items():
        yield _secret(name, namespace, values)
    yield from rights_objects(namespace, args.get("members", ()), args.get("rights", (SDK,)))
    if args.get("network_policy", True):
        yield from network_policies(namespace, args)
        if args.get("data_cache"):
            yield from _data_cache_policies(namespace)
    if args.get("data_cache"):
        yield from _data_cache_objects(namespace)
    hard = {**derived_hard_limits(args), **args.get("resource_quota", {})}
    yield from resource_quota_objects(namespace, hard, args.get("limit_range"))
    if "runtimes" in args:
        yield from runtime_policy_objects(namespace, args["runtimes"])


def _problems(namespace: str, args: WorkspaceArgs) -> Iterator[Problem]:
    """In the order of the arguments."""
    yield from shape_problems(("namespace",), namespace, SHORT_NAME)
    yield from namespace_problems(str(namespace))
    yield from namespace_label_problems(args.get("labels", {}))
    yield from queue_problems(args)
    members = args.get("members", ())
    for number, each in enumerate(members):
        yield from member_problems(number, each)
    yield from rights_problems("rights", args.get("rights", (SDK,)))
    for number, each in enumerate(members):
        if "rights" in each:
            yield from rights_problems(f"members[{number}].rights", each["rights"])
    if "runtimes" in args:
        yield from runtime_problems(args["runtimes"])
    yield from _secret_problems(args.get("secrets", {}))
    yield from _account_problems(args.get("service_account", TRAINING))
    yield from _network_problems(args)
    yield from limit_problems(args)


def _network_problems(args: WorkspaceArgs) -> Iterator[Problem]:
    yield from egress_problems(args.get("egress", ()))
    trainer = args.get("trainer_namespace", names.SYSTEM_NAMESPACE)
    yield from shape_problems(("trainer_namespace",), trainer, SHORT_NAME)
    if args.get("network_policy", True):
        return
    for name in ("internet", "egress"):
        if name in args:
            what = "is a rule of the network policy, and network_policy=False switches that off"
            yield Problem(name, what, fix="leave one of the two out")


def _data_cache_objects(namespace: str) -> Iterator[JSONObject]:
    """The initializer's service account and its rights."""
    metadata = {"name": SERVICE_ACCOUNT, "namespace": namespace}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    made = role("Role", SERVICE_ACCOUNT, namespace, role_rules(_RIGHTS))
    subject = {"kind": "ServiceAccount", **metadata}
    yield from (account, made, role_binding(made, [subject]))


def _data_cache_policies(namespace: str) -> Iterator[JSONObject]:
    """The initializer reaches the API server, and training pods the cache."""
    initializer = {
        "podSelector": {"matchLabels": {names.REPLICATED_JOB_LABEL: names.DATASET_INITIALIZER}},
        "policyTypes": ["Egress"],
        "egress": [API_SERVER],
    }
    yield network_policy("cache-initializer", namespace, initializer)
    cache, training = {"podSelector": _CACHE_PODS}, {"podSelector": TRAINING_PODS}
    clients = {
        "podSelector": TRAINING_PODS,
        "policyTypes": ["Egress"],
        "egress": [{"to": [cache], "ports": ports(_FLIGHT_PORT)}],
    }
    yield network_policy("cache-clients", namespace, clients)
    servers = {
        "podSelector": _CACHE_PODS,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [cache]}, {"from": [training], "ports": ports(_FLIGHT_PORT)}],
        "egress": [{"to": [cache]}, DNS, INTERNET],
    }
    yield network_policy("cache", namespace, servers)


def _secret(name: str, namespace: str, values: Mapping[str, pulumi.Input[str]]) -> JSONObject:
    """A Secret whose values Pulumi keeps encrypted, those that the program gave as plain text too."""
    hidden = {key: pulumi.Output.secret(value) for key, value in values.items()}
    made = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "stringData": hidden}
    return {**made, "metadata": {"name": name, "namespace": namespace}}


def _secret_problems(secrets: Mapping[str, Mapping[str, object]]) -> Iterator[Problem]:
    """What is wrong with Secrets; a value is in no message."""
    for name, values in secrets.items():
        yield from shape_problems(("secrets",), name, NAME)
        if not values:
            yield Problem(f"secrets.{name}", "has no values", fix=f"write {EXAMPLES['secrets']}")
        for key in values:
            if not _KEY.fullmatch(key):
                what, fix = "is not a valid Secret key", "write letters, digits, -, _ and ."
                yield Problem(f"secrets.{name}", what, got=key, fix=fix)


def _service_account(
    name: str, namespace: str, annotations: Mapping[str, pulumi.Input[str]]
) -> JSONObject:
    """A ServiceAccount whose pods get no token unless they ask for one."""
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if annotations:
        metadata["annotations"] = dict(annotations)
    made = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    return {**made, "automountServiceAccountToken": False}


def _account_problems(name: object) -> Iterator[Problem]:
    if name == "default":
        what = "is the one that Kubernetes makes in each namespace"
        yield Problem("service_account", what, got=name, fix="choose another name")
    else:
        yield from shape_problems(("service_account",), name, NAME)
