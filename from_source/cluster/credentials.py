"""Who may do what in the cluster: one token for each component and one for the person.

Each component's file asks for its own kubeconfig; kube_apiserver.py reads the list of tokens.
A token is made once and goes with the cluster's folder.
"""

import json
import secrets
from pathlib import Path
from typing import Final

from from_source.cluster import certificates, live
from from_source.cluster.namespaces import ADDRESS

ADMIN: Final = "admin"
"""The person; also what installs and asks."""

GROUPS: Final = {
    ADMIN: "system:masters",
    "system:kube-controller-manager": "",
    "system:kube-scheduler": "",
    "system:kube-proxy": "",
    f"system:node:{live.NODE}": "system:nodes",
    "coredns": "system:masters",
}
"""Users and their groups. The API server's own roles know all but the last, which runs beside it
on the node and reads services of all namespaces."""

INSIDE: Final = f"https://{ADDRESS}:6443"
"""The API server as components reach it."""


def tokens() -> Path:
    """The API server's list of tokens, made where it is missing."""
    file = live.made() / "tokens.csv"
    if not file.exists():
        lines = (f'{secrets.token_hex(16)},{user},{user},"{GROUPS[user]}"\n' for user in GROUPS)
        live.write_private(file, "".join(lines).encode())
    return file


def kubeconfig(user: str, server: str = INSIDE) -> Path:
    """A kubeconfig for one user; JSON is YAML too."""
    authority, secret = certificates.authority(), token(user)
    name = "trainer-infra"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority": str(authority)}}
        ],
        "users": [{"name": name, "user": {"token": secret}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    outside = server != INSIDE
    file = live.kubeconfig() if outside else live.made("kubeconfigs") / user.replace(":", "-")
    live.write_private(file, json.dumps(config, indent=2).encode())
    return file


def token(user: str) -> str:
    """A user's token."""
    for line in tokens().read_text().splitlines():
        secret, name, *_ = line.split(",")
        if name == user:
            return secret
    raise KeyError(user)
