"""Accounts of a real cluster with rights in one namespace only, as a CI job has them."""

import base64
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from tests.e2e.cluster import Namespace

RULES = [
    {
        "apiGroups": [""],
        "resources": ["configmaps", "secrets"],
        "verbs": ["create", "get", "list", "patch", "delete"],
    },
    {
        "apiGroups": ["jobset.x-k8s.io"],
        "resources": ["jobsets"],
        "verbs": ["create", "get", "list", "patch", "delete"],
    },
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]},
]


@dataclass(frozen=True)
class Account:
    """A service account, and the kubeconfig of who is signed in as it."""

    namespace: Namespace
    name: str
    kubeconfig: Path
    token: str

    def revoke(self) -> None:
        """Make its tokens worthless."""
        self.namespace.kubectl("delete", "serviceaccount", self.name)


def made(namespace: Namespace, name: str, folder: Path) -> Account:
    """A new account that may submit in the namespace, and read nothing outside."""
    namespace.kubectl("create", "serviceaccount", name)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": RULES,
    }
    namespace.kubectl("apply", "-f", "-", given=json.dumps(role))
    subject = f"--serviceaccount={namespace.name}:{name}"
    namespace.kubectl("create", "rolebinding", name, f"--role={name}", subject)
    token = namespace.kubectl("create", "token", name).strip()
    file = folder / f"kubeconfig-{name}"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config(namespace.kubeconfig, token)))
    return Account(namespace, name, file, token)


def config(kubeconfig: Path, token: str) -> dict[str, object]:
    """A kubeconfig for the same server with another token."""
    (cluster,) = (each["cluster"] for each in yaml.safe_load(kubeconfig.read_text())["clusters"])
    if "certificate-authority" in cluster:
        authority = Path(cluster["certificate-authority"]).read_bytes()
        data = base64.b64encode(authority).decode()
    else:
        data = cluster["certificate-authority-data"]
    server = {"server": cluster["server"], "certificate-authority-data": data}
    name = urlsplit(cluster["server"]).netloc
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
