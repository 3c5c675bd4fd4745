"""What Kueue refuses of a worker's kubeconfig: whatever runs a program, reads a file, or trusts anyone.

These are the rules of `validateKubeconfig` and `validateRestConfig` in Kueue v0.19, which says so only in
a condition of the MultiKueueCluster. No value of a kubeconfig is in a problem.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import yaml

from trainer_infra.platform.argument_problems import NAME

_FORBIDDEN: Final = {
    "tokenFile": "names a file of the token",
    "username": "signs in with a password",
    "password": "signs in with a password",
    "exec": "runs a program to sign in",
    "auth-provider": "has an auth provider",
}
_Parts: TypeAlias = Mapping[str, Mapping[str, Any]]
_USER_FIX: Final = "give the token of a service account"


def kubeconfig_problems(text: str) -> Iterator[tuple[str, str]]:
    """What Kueue refuses of it, and what to do about each.

    Args:
        text: the kubeconfig's.
    """
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:
        config = None
    if not isinstance(config, Mapping):
        yield "is not the text of a kubeconfig", "read the file, and give what is in it"
        return
    try:
        users, clusters = _named(config, "user"), _named(config, "cluster")
    except (TypeError, KeyError, AttributeError):
        yield "is not a kubeconfig: users or clusters have another form", ""
        return
    yield from _refused_parts(users, clusters)


def _refused_parts(users: _Parts, clusters: _Parts) -> Iterator[tuple[str, str]]:
    for name, user in users.items():
        for what in dict.fromkeys(_FORBIDDEN[key] for key in _FORBIDDEN if user.get(key)):
            yield f"{what} (user {name}), which Kueue refuses", _USER_FIX
    for name, cluster in clusters.items():
        for what, fix in _cluster_problems(cluster):
            yield f"{what} (cluster {name}), which Kueue refuses", fix


def _named(config: Mapping[str, Any], part: str) -> dict[str, Mapping[str, Any]]:
    return {str(each["name"]): each.get(part) or {} for each in config.get(f"{part}s") or ()}


def _cluster_problems(cluster: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data = "write certificate-authority-data"
    if cluster.get("insecure-skip-tls-verify"):
        yield "trusts any server", data
    if cluster.get("certificate-authority"):
        yield "names a file of the authority", data
    if not cluster.get("server"):
        yield "has no server", ""
    elif not _is_host(str(cluster["server"])):
        yield "has a server that is no host", "write https://HOST:PORT"


def _is_host(server: str) -> bool:
    try:
        host = (urlsplit(server).hostname or "").lower()
    except ValueError:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(re.search(NAME["pattern"], host)) and len(host) <= NAME["maxLength"]
    return True
