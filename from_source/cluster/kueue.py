"""Kueue v0.19: its controller as a pod, from its own published manifests, for labelled namespaces only.

The manifests are those of the Go module but for what `manifests` says; its webhooks fail closed, so
they see namespaces with `LABEL` alone.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import build, images, kubectl
from from_source.cluster.build import Program
from from_source.cluster.waiting import wait_until
from tools import schemas
from trainer_infra.errors import NotAvailable

JSON = dict[str, Any]

MODULE: Final = schemas.KUEUE
"""Module and version of what is installed."""
KUEUE: Final = Program(
    "kueue",
    "kueue",
    "sigs.k8s.io/kueue/cmd/kueue",
    f"-s -w -X sigs.k8s.io/kueue/pkg/version.GitVersion={MODULE[1]}",
)
"""What is built."""
IMAGE: Final = f"registry.k8s.io/kueue/kueue:{MODULE[1]}"
"""The published name of its image; the manifests of the module name a staging one."""

NAMESPACE: Final = "kueue-system"
"""Where its controller runs."""
LABEL: Final = "trainer-infra.local/kueue"
"""Namespaces with this label are Kueue's, with the value `true`."""

_MANAGED: Final = {"matchLabels": {LABEL: "true"}}
_CONFIGURATION: Final[Mapping[str, Any]] = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    "leaderElection": {"leaderElect": False},
    "manageJobsWithoutQueueName": False,
    "managedJobsNamespaceSelector": _MANAGED,
    "integrations": {"frameworks": ["jobset.x-k8s.io/jobset"]},
    "featureGates": {"VisibilityOnDemand": False},
}
"""Leader election is off: there is one replica, and another's lease would be waited for after a
change. So is the visibility API."""
_AGGREGATED: Final = "APIService"
"""Kind that is left out: while one does not answer, no namespace of the cluster can be deleted."""
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_REQUESTS: Final = {"cpu": "50m", "memory": "128Mi"}
"""Less than published: the only node has two cores."""

_SERVES_WITHIN: Final = 180.0
"""Seconds until it is ready and its webhooks judge objects."""


def install(kubeconfig: Path, **configuration: Any) -> None:
    """Make it run in the cluster, with that configuration; return when it judges objects.

    Args:
        kubeconfig: the cluster.
        configuration: further fields of its Configuration, for example `waitForPodsReady`.

    Raises:
        NotAvailable: It cannot be built, the cluster refuses it, or it does not serve in time.
    """
    images.loaded(IMAGE, archive())
    kubectl.apply(kubeconfig, manifests(configuration))
    where = ("--kubeconfig", str(kubeconfig), "--namespace", NAMESPACE)
    patient = f"--timeout={_SERVES_WITHIN:.0f}s"
    kubectl.run(*where, "rollout", "status", patient, "deployment/kueue-controller-manager")
    if not wait_until(lambda: _judges(kubeconfig), _SERVES_WITHIN):
        raise NotAvailable(f"Kueue's webhooks do not answer; look at its pod in {NAMESPACE}")


def remove(kubeconfig: Path) -> None:
    """Take all of it away, with every queue and Workload; nothing to do where it is not there.

    Raises:
        NotAvailable: The cluster does not let it go.
    """
    where = ("--kubeconfig", str(kubeconfig))
    objects = manifests({})
    if not _kubectl(kubeconfig, "get", "--ignore-not-found", "--output=name", objects=objects):
        return
    # The webhooks first: without the controller they would refuse what others write.
    _delete(kubeconfig, (each for each in objects if each["kind"] in _WEBHOOKS))
    # With its pods: one that still ends puts finalizers back on the queues that lose them below.
    deployment = (each for each in objects if each["kind"] == "Deployment")
    _delete(kubeconfig, deployment, "--cascade=foreground")
    for each in _definitions(objects):
        _let_go(where, each)
    _delete(kubeconfig, objects)


def manifests(configuration: Mapping[str, Any]) -> list[JSON]:
    """Its objects as people install them, but for image, configuration and whom webhooks see.

    Args:
        configuration: fields of its Configuration besides ours.
    """
    published = kubectl.kustomized(schemas.module_folder(*MODULE) / "config" / "default")
    rendered = yaml.load_all(published, yaml.CSafeLoader)
    content = json.dumps({**_CONFIGURATION, **configuration})
    objects = [each for each in rendered if each and each["kind"] != _AGGREGATED]
    for each in objects:
        if each["kind"] in _WEBHOOKS:
            for webhook in each["webhooks"]:
                webhook["namespaceSelector"] = _MANAGED
        elif each["kind"] == "ConfigMap":
            each["data"] = {"controller_manager_config.yaml": content}
        elif each["kind"] == "Deployment":
            _run_here(each["spec"], content)
    return objects


def _run_here(deployment: JSON, configuration: str) -> None:
    """Name the image, and begin anew when the configuration changes: it is read at the start only."""
    deployment["strategy"] = {"type": "Recreate"}
    template = deployment["template"]
    digest = hashlib.sha256(configuration.encode()).hexdigest()
    template["metadata"]["annotations"]["trainer-infra.local/configuration"] = digest
    (container,) = template["spec"]["containers"]
    container |= {"image": IMAGE, "imagePullPolicy": "IfNotPresent"}
    container["resources"]["requests"] = _REQUESTS


def archive() -> Path:
    """The image's archive, made once."""
    return images.of_program(IMAGE, build.built(KUEUE), "manager", images.MANAGER)


def _definitions(objects: Iterable[JSON]) -> list[str]:
    """Names of its CustomResourceDefinitions, for example `workloads.kueue.x-k8s.io`."""
    kind = "CustomResourceDefinition"
    return [each["metadata"]["name"] for each in objects if each["kind"] == kind]


def _let_go(where: tuple[str, ...], resource: str) -> None:
    """Take the finalizers off a kind's objects: the controller that would is gone."""
    listed = (*where, "get", resource, "--all-namespaces", "--ignore-not-found", "--output=json")
    try:
        found = json.loads(kubectl.run(*listed) or "{}").get("items", ())
    except NotAvailable as error:
        if "the server doesn't have a resource type" in str(error):
            return
        raise
    patch = ("--type=merge", "--patch", '{"metadata":{"finalizers":null}}')
    for metadata in (each["metadata"] for each in found if each["metadata"].get("finalizers")):
        at = ("--namespace", metadata["namespace"]) if "namespace" in metadata else ()
        try:
            kubectl.run(*where, *at, "patch", resource, metadata["name"], *patch)
        except NotAvailable as error:
            # A namespace that is being deleted takes its own.
            if "(NotFound)" not in str(error):
                raise


def _delete(kubeconfig: Path, objects: Iterable[JSON], *options: str) -> None:
    patient = ("--ignore-not-found", "--timeout=120s", *options)
    _kubectl(kubeconfig, "delete", *patient, objects=objects)


def _kubectl(kubeconfig: Path, *arguments: str, objects: Iterable[JSON]) -> str:
    """What a command prints that is given objects."""
    items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    where = ("--kubeconfig", str(kubeconfig))
    return kubectl.run(*where, *arguments, "--filename", "-", given=json.dumps(items))


def _judges(kubeconfig: Path) -> bool:
    """Whether its webhooks answer, and it converts between the versions of its kinds."""
    flavor = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "probe"},
    }
    where = ("--kubeconfig", str(kubeconfig))
    try:
        kubectl.run(*where, "create", "--dry-run=server", "-f", "-", given=json.dumps(flavor))
        kubectl.run(*where, "get", "localqueues.v1beta1.kueue.x-k8s.io", "--all-namespaces")
    except NotAvailable:
        return False
    return True
