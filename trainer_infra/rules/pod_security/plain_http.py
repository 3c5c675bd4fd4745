"""Endpoints without TLS in containers that have a secret: who listens on the way reads it."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_URL: Final = re.compile(
    r"(?P<scheme>https?)://(?:[^/?#@\s]*@)?(?P<host>\[[0-9a-f:]+\]|[a-z0-9._-]+)(?::\d+)?(?:[/?#].*)?",
    re.ASCII | re.IGNORECASE,
)
_NO: Final = ("0", "false", "no", "off")
_YES: Final = ("1", "true", "yes", "on")
_OFF: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("S3_USE_HTTPS", "S3_USE_SSL", "AWS_S3_USE_SSL", "S3_VERIFY_SSL"), _NO),
    **dict.fromkeys(("MINIO_SECURE", "PYTHONHTTPSVERIFY", "NODE_TLS_REJECT_UNAUTHORIZED"), _NO),
    **dict.fromkeys(("GIT_SSL_NO_VERIFY", "MLFLOW_TRACKING_INSECURE_TLS"), _YES),
    "WANDB_INSECURE_DISABLE_SSL": _YES,
}
"""Variables that programs read, with what switches TLS, or the check of certificates, off."""
_PROXY: Final = re.compile(r"(?:https?|all|no|ftp)_proxy", re.IGNORECASE)
_OPTION: Final = re.compile(r"(?:--?)?[\w.-]+=(.*)", re.ASCII | re.DOTALL)
_QUOTES: Final = "'\";"
_WITHIN: Final = (".svc", ".local", ".localhost", ".localdomain")
"""How names end that only a cluster, or a machine, has."""
_ENDING: Final = re.compile(
    r"com|org|net|dev|cloud|app|edu|gov|info|xyz|biz|(?!ai|ci|db|ml|qa)[a-z]{2}"
)
"""How public names of two words end; other names of two are those of a service and its namespace."""


class PlainHttp(Parameters):
    """What may be reached without TLS."""

    allow: tuple[str, ...] = ()
    """Hosts, and domains with a dot in front, `.corp.example.com`."""


def _check(place: PodContainer, context: Context[PlainHttp]) -> Iterator[Finding]:
    allow = context.parameters.allow
    urls = [
        (value, found, _is_near(found["host"].lower(), allow))
        for value, url in _urls(place.value)
        if "//" in url and (found := _URL.fullmatch(url.strip()))
    ]
    what = "is reached without TLS, by a container that has a secret"
    wrong = [
        value.finding(what, f"http://{found['host']}", "use https://")
        for value, found, near in urls
        if not near and found["scheme"].lower() == "http"
    ]
    if not urls or not all(near for _, _, near in urls):
        wrong += _switched_off(place.value)
    if wrong and _has_secret(place):
        yield from map(where_to_fix, wrong)


def _variables(container: Value) -> Iterator[tuple[str, Value]]:
    """Names and values of variables, where both are known."""
    for each in container["env"].items():
        if not (each["name"].is_noted() or each["value"].is_noted()):
            yield each["name"].text(), each["value"]


def _switched_off(container: Value) -> Iterator[Finding]:
    """Variables that take TLS off every endpoint, or the check of who answers."""
    for name, value in _variables(container):
        if value.text().lower() in _OFF.get(name, ()):
            what = "takes TLS, or its check, off what a container with a secret reaches"
            yield value.finding(what, value.text(), "remove the variable")


def _has_secret(container: PodContainer) -> bool:
    value = container.value
    variables = (each.at("valueFrom", "secretKeyRef") for each in value["env"].items())
    sources = (each["secretRef"] for each in value["envFrom"].items())
    if any(each.is_there() for each in (*variables, *sources)):
        return True
    mounted = {each["name"].text() for each in value["volumeMounts"].items()}
    volumes = container.pod.spec["volumes"].items()
    return any(each["name"].text() in mounted and _is_secret(each) for each in volumes)


def _is_secret(volume: Value) -> bool:
    csi, parts = volume["csi"], volume.at("projected", "sources").items()
    secrets = (volume["secret"], csi["nodePublishSecretRef"], *(each["secret"] for each in parts))
    is_store = csi["driver"].raw == "secrets-store.csi.k8s.io"
    return is_store or any(each.is_there() for each in secrets)


def _urls(container: Value) -> Iterator[tuple[Value, str]]:
    """Values of variables and options that may be a URL, each with its text."""
    for name, value in _variables(container):
        if not _PROXY.fullmatch(name):
            yield value, value.text()
    for each in (item for part in ("command", "args") for item in container[part].items()):
        words = () if each.is_noted() else each.text().split()
        # In a script only what is set: it may well fetch public data by http.
        for word in words:
            option = _OPTION.fullmatch(word.strip(_QUOTES))
            if option or not words[1:]:
                yield each, option[1].strip(_QUOTES) if option else word


def _is_near(host: str, allow: tuple[str, ...]) -> bool:
    """Whether a host is of this pod, this machine or this cluster, or may be reached so."""
    if any(host == each or (each.startswith(".") and host.endswith(each)) for each in allow):
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        _, *others = host.rstrip(".").split(".")
        # The name of a service, or that and its namespace.
        is_service = not others[1:] and not any(map(_ENDING.fullmatch, others))
        return is_service or f".{host}".endswith(_WITHIN)
    return address.is_loopback or address.is_link_local or address.is_unspecified


RULE: Final = Rule(
    id="plain-http",
    title="Containers with a secret must reach other hosts through TLS",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security", "network", "secrets"),
    frameworks=("owasp-k8s/K08",),
    why=(
        "Keys of a store and tokens of a tracking server are sent with each request: over plain "
        "HTTP, everyone on the way reads and changes them."
    ),
    fix="Use https://, or put a host whose way is protected otherwise in `allow`.",
    places=pods.containers,
    check=_check,
    parameters=PlainHttp,
)
"""Services of the cluster, whose traffic a mesh often encrypts, and proxies are left out."""
