"""What the data-cache initializer of `torch-distributed-with-cache` needs in a namespace.

Its steps: reference behaviour 7.2. Rights: the data-cache overlay of the reference, which forgets `get` of the
TrainJob: the initializer reads it to own what it makes, and without that starts no cache and reports no
error.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.data_cache import SERVICE_ACCOUNT
from trainer_infra.cluster.rights import right_to
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import SERVICE, TRAIN_JOB, Resource
from trainer_infra.platform.workspaces.network_policy import (
    API_SERVER,
    DNS,
    INTERNET,
    TRAINING_PODS,
    network_policy,
    ports,
)
from trainer_infra.platform.workspaces.rights import role, role_binding, role_rules

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


def data_cache_objects(namespace: str) -> Iterator[JSONObject]:
    """The initializer's service account and its rights."""
    metadata = {"name": SERVICE_ACCOUNT, "namespace": namespace}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    made = role("Role", SERVICE_ACCOUNT, namespace, role_rules(_RIGHTS))
    subject = {"kind": "ServiceAccount", **metadata}
    yield from (account, made, role_binding(made, [subject]))


def data_cache_policies(namespace: str) -> Iterator[JSONObject]:
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
