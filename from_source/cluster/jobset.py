"""JobSet v0.12: its controller as a pod, from its own published manifests.

The manifests are those of the Go module, unchanged; the image they name is made from the program
that the same module builds.
"""

from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import build, images, kubectl
from from_source.cluster.build import Program
from from_source.cluster.client import Client, Unreachable
from from_source.cluster.waiting import wait_until
from tools import schemas
from trainer_infra.errors import NotAvailable

JOBSET: Final = Program("jobset", "jobset", "sigs.k8s.io/jobset")
"""What is built."""

DEPLOYMENT: Final = "/apis/apps/v1/namespaces/jobset-system/deployments/jobset-controller-manager"
"""Where its state is read."""

_ANSWERS_WITHIN: Final = 60.0
"""Seconds until its webhooks judge objects."""

_PROBE: Final = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "probe"},
    "spec": {"replicatedJobs": []},
}
"""A JobSet that no webhook minds."""


def install(kubeconfig: Path) -> None:
    """Load its image and apply its manifests.

    Raises:
        NotAvailable: It cannot be built, or the cluster refuses it.
    """
    objects = manifests()
    images.loaded(image(objects), archive(objects))
    kubectl.apply(kubeconfig, objects)


def manifests() -> list[dict[str, Any]]:
    """Its objects as people install them, with webhooks and their certificates."""
    module, version, _ = schemas.CRDS["JobSet"]
    rendered = kubectl.kustomized(schemas.module_folder(module, version) / "config" / "default")
    return [each for each in yaml.load_all(rendered, yaml.CSafeLoader) if each]


def image(objects: list[dict[str, Any]]) -> str:
    """The image that its deployment names."""
    (found,) = {
        container["image"]
        for each in objects
        if each["kind"] == "Deployment"
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    return str(found)


def archive(objects: list[dict[str, Any]]) -> Path:
    """The image's archive, made once."""
    program = build.built(JOBSET)
    return images.of_program(image(objects), program, "manager", images.MANAGER)


def wait_until_served(client: Client) -> None:
    """Return when its webhooks judge objects.

    Raises:
        NotAvailable: They do not, in time.
    """

    def judged() -> bool:
        try:
            path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets"
            return not client.create(path, _PROBE, dryRun="All").message
        except Unreachable:
            return False

    if not wait_until(judged, _ANSWERS_WITHIN):
        raise NotAvailable("JobSet's webhooks do not answer; look at its pod in jobset-system")
