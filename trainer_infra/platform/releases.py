"""What the platform installs: versions, where their manifests are published, and what these contain.

The one place of version pins. `tools/releases.py` prints the row of another version. A digest is that
of the published files, see `manifests.release_files`; the image is that of the release, because the
files of most projects name the one of their own tests.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.chart_reference import HelmChart


@dataclass(frozen=True, slots=True)
class Release:
    """A published version of a project."""

    project: str
    """Its name, as components and messages have it."""
    version: str
    """Its tag, with the leading v."""
    repository: str
    """Host and path of its source."""
    module: str
    """Its Go module, which has the same files."""
    folder: str
    """The folder of the repository that has the manifests."""
    digest: str
    """SHA-256 of the files in it."""
    kustomization: JSONObject = field(hash=False)
    """What of it is installed; paths are relative to the folder."""
    chart: HelmChart | None = field(default=None, hash=False)
    """What is installed besides; its reference is relative to the folder."""


def _of_kubernetes_sigs(project: str, name: str, version: str, digest: str) -> Release:
    """A release of a SIG of Kubernetes: all of `config/default`, but with the published image."""
    image = {
        "name": f"us-central1-docker.pkg.dev/k8s-staging-images/{name}/{name}",
        "newName": f"registry.k8s.io/{name}/{name}",
        "newTag": version,
    }
    return Release(
        project,
        version,
        f"github.com/kubernetes-sigs/{name}",
        f"sigs.k8s.io/{name}",
        "config",
        digest,
        {"resources": ["default"], "images": [image]},
    )


def _trainer(version: str, digest: str) -> Release:
    """Its own overlay also fetches JobSet, which is a component of its own here."""
    stable = {"disableNameSuffixHash": True}
    return Release(
        "Trainer",
        version,
        "github.com/kubeflow/trainer",
        "github.com/kubeflow/trainer/v2",
        "manifests",
        digest,
        {
            "namespace": names.SYSTEM_NAMESPACE,
            "resources": [
                "overlays/manager/namespace.yaml",
                *(f"base/{part}" for part in ("crds", "manager", "rbac", "webhook")),
            ],
            "images": [
                {"name": "ghcr.io/kubeflow/trainer/trainer-controller-manager", "newTag": version}
            ],
            "secretGenerator": [{"name": "kubeflow-trainer-webhook-cert", "options": stable}],
            "configMapGenerator": [
                {
                    "name": "kubeflow-trainer-public",
                    "literals": [f"kubeflow_trainer_version={version}"],
                    "options": stable,
                }
            ],
        },
    )


def _coscheduling(version: str, digest: str) -> Release:
    """The chart of a second scheduler, with the one plugin; the module leaves the chart's CRDs out."""
    crds = [f"{plugin}/crd.yaml" for plugin in ("coscheduling", "capacityscheduling")]
    values = {
        "scheduler": {"leaderElect": True},
        "controller": {"leaderElect": True},
        "plugins": {"enabled": ["Coscheduling"]},
    }
    chart = "install/charts/as-a-second-scheduler"
    return Release(
        "Coscheduling",
        version,
        "github.com/kubernetes-sigs/scheduler-plugins",
        "sigs.k8s.io/scheduler-plugins",
        "manifests",
        digest,
        {"resources": crds},
        HelmChart(chart, "scheduler-plugins", "scheduler-plugins", values=values),
    )


def _volcano(version: str, digest: str) -> Release:
    return Release(
        "Volcano",
        version,
        "github.com/volcano-sh/volcano",
        "volcano.sh/volcano",
        "installer",
        digest,
        {"resources": ["volcano-development.yaml"]},
    )


_JOBSET: Final = partial(_of_kubernetes_sigs, "JobSet", "jobset")
_KUEUE: Final = partial(_of_kubernetes_sigs, "Kueue", "kueue")
_LEADER_WORKER_SET: Final = partial(_of_kubernetes_sigs, "LeaderWorkerSet", "lws")

RELEASES: Final = (
    _coscheduling("v0.32.7", "b2b4df9115d3d5a5fa5e0e4c7449b2c99ae00f3420aaa435136110a1b8f7a4bc"),
    _JOBSET("v0.12.0", "acf6095b2e2dc7cf6b200f7a29d07b83213a252aaef4127987aac61225ccb884"),
    _JOBSET("v0.11.1", "0a625ebadae3f339ac0fc52660f5cb907b3c17dfed7202bde510b294f60f9ff6"),
    _KUEUE("v0.19.0", "94312dd6c9923fb344193d8e660e36e5800d963de2e54387cb2c9cd2b6148320"),
    _LEADER_WORKER_SET(
        "v0.9.0", "c1d6fe3ecdb2ad20220bdaf92bb4a4b67bbf830e7c68e3f82b0ed72d221fd58e"
    ),
    _LEADER_WORKER_SET(
        "v0.8.0", "4a65326280f909ff6e5c2945c06811ddc96d1fe33c2490fbcb6a2baf64da6016"
    ),
    _trainer("v2.3.0", "f7696c74056f8aa9ecc92e85669c5350e0211c6c1edf7900ef6c1d8f836d0991"),
    _trainer("v2.2.1", "f8ede5f738c27f2abef5700c4df58121da5fdde6d808c0463808fbdf4a16454a"),
    _volcano("v1.10.0", "c3c98cd38542f7cd4519f5e215e6b07827dadcdd35d5d1437cf2df78745da42a"),
)
"""Every release that a component installs by its version; of a project the default one first."""


def release_of(project: str, version: str | None) -> Release:
    """The release of a version, with or without its v; the default one of None.

    Raises:
        InvalidInput: It is not pinned here.
    """
    known = [each for each in RELEASES if each.project == project]
    for each in known:
        if version is None or each.version == f"v{version.removeprefix('v')}":
            return each
    versions = ", ".join(each.version for each in known)
    what = f"is not a version of {project} that this release of trainer-infra pins"
    fix = f"use {versions}, or give that version's manifests: manifests="
    raise InvalidInput([Problem("version", what, got=version, fix=fix)])
