"""What pods of a workspace talk to: nothing, but for what training needs.

A NetworkPolicy has an effect only where the cluster's network enforces it (Cilium, Calico, the clouds'
own). It can select pods that belong to some JobSet, not those of the same one: jobs of one workspace reach
each other, those of two workspaces do not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.namespace import own_namespace
from trainer_infra.platform.workspaces.workspace_args import WorkspaceArgs

_API: Final = "networking.k8s.io/v1"
_ANY_V4: Final = "0.0.0.0/0"
_METADATA: Final = "169.254.169.254/32"
"""Where clouds tell a machine its own credentials."""
_INSIDE_V4: Final = (
    *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
    *("100.64.0.0/10", "169.254.0.0/16"),
)
"""Addresses of clusters and machines (RFC 1918, RFC 6598, RFC 3927), with the clouds' metadata."""
_INSIDE_V6: Final = ("fc00::/7", "fe80::/10")
_NODE_LOCAL_DNS: Final = "169.254.20.10/32"
_GOOGLE_ANNOTATION: Final = "iam.gke.io/gcp-service-account"
_STATUS_PORT: Final = 10443
TRAINING_PODS: Final[JSONObject] = {
    "matchExpressions": [{"key": names.JOBSET_NAME_LABEL, "operator": "Exists"}]
}
"""Pods of JobSets."""


def network_policies(namespace: str, args: WorkspaceArgs) -> Iterator[JSONObject]:
    """Nothing for every pod of the namespace, and for pods of JobSets what training needs."""
    deny = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    yield network_policy("default-deny", namespace, deny)
    annotations = args.get("service_account_annotations", {})
    each_other = {"podSelector": TRAINING_PODS}
    spec = {
        "podSelector": TRAINING_PODS,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [each_other]}],
        "egress": [
            {"to": [each_other]},
            DNS,
            _status_server(args.get("trainer_namespace", names.SYSTEM_NAMESPACE)),
            *([INTERNET] if args.get("internet", True) else []),
            *(GOOGLE_IDENTITY if _GOOGLE_ANNOTATION in annotations else ()),
            *args.get("egress", ()),
        ],
    }
    yield network_policy("training", namespace, spec)


def network_policy(name: str, namespace: str, spec: JSONObject) -> JSONObject:
    """A NetworkPolicy of ours."""
    metadata = {"name": f"trainer-infra-{name}", "namespace": namespace}
    return {"apiVersion": _API, "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def egress_problems(egress: Sequence[object]) -> Iterator[Problem]:
    """Rules that are none; what is in them the API server judges."""
    for number, each in enumerate(egress):
        if isinstance(each, Mapping) and not each.get("to") and not each.get("ports"):
            path, fix = f"egress[{number}]", "name to or ports"
            yield Problem(path, "lets everything out", got=dict(each), fix=fix)


def ports(*numbers: int, protocols: Sequence[str] = ("TCP",)) -> list[JSONObject]:
    """Ports of a rule."""
    return [{"protocol": each, "port": number} for number in numbers for each in protocols]


def _block(cidr: str, *inside: str) -> JSONObject:
    return {"ipBlock": {"cidr": cidr} | ({"except": list(inside)} if inside else {})}


def _status_server(namespace: str) -> JSONObject:
    """Reports of progress (reference behaviour 6 and 8.2)."""
    manager = {"matchLabels": {"app.kubernetes.io/component": "manager"}}
    server = {"namespaceSelector": own_namespace(namespace), "podSelector": manager}
    return {"to": [server], "ports": ports(_STATUS_PORT)}


DNS: Final[JSONObject] = {
    "to": [{"namespaceSelector": own_namespace("kube-system")}, _block(_NODE_LOCAL_DNS)],
    "ports": ports(53, protocols=("UDP", "TCP")),
}
"""The cluster's own, and the cache of a node (NodeLocal DNSCache)."""
INTERNET: Final[JSONObject] = {
    "to": [_block(_ANY_V4, *_INSIDE_V4), _block("::/0", *_INSIDE_V6)],
    "ports": ports(443),
}
"""Hubs and buckets, but nothing inside the cluster or its network."""
GOOGLE_IDENTITY: Final[Sequence[JSONObject]] = (
    {"to": [_block("169.254.169.252/32")], "ports": ports(988)},
    {"to": [_block(_METADATA)], "ports": ports(80)},
)
"""GKE's own metadata server, which gives a pod the identity of its service account."""
API_SERVER: Final[JSONObject] = {"to": [_block(_ANY_V4, _METADATA)], "ports": ports(443, 6443)}
"""The address of an API server is not known to a program."""
