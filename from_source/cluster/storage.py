"""The default StorageClass: local-path-provisioner v0.0.30, volumes as folders of the node.

The manifest is that of the Go module; what differs is said in `manifests`.
"""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from from_source.cluster import build, busybox, images, kubectl
from from_source.cluster.build import Program
from tools import schemas

PROVISIONER: Final = Program(
    "local-path-provisioner", "coredns", "github.com/rancher/local-path-provisioner"
)
"""What is built: in one module with CoreDNS, so that Kubernetes' libraries are compiled once for both."""

VERSION: Final = "v0.0.30"
"""Of the module; go/coredns/go.mod names the same."""

DEPLOYMENT: Final = "/apis/apps/v1/namespaces/local-path-storage/deployments/local-path-provisioner"
"""Where its state is read."""

_FOLDER: Final = "/opt/local-path-provisioner"
"""Where volumes stand inside, see namespaces.py."""


def install(kubeconfig: Path) -> None:
    """Load its images and apply its manifest.

    Raises:
        NotAvailable: It cannot be built, or the cluster refuses it.
    """
    objects = manifests()
    program = build.built(PROVISIONER)
    (image,) = (
        each["spec"]["template"]["spec"]["containers"][0]["image"]
        for each in objects
        if each["kind"] == "Deployment"
    )
    config = {"Env": ["PATH=/"]}
    images.loaded(image, images.of_program(image, program, program.name, config))
    busybox.loaded()
    kubectl.apply(kubeconfig, objects)


def manifests() -> list[dict[str, Any]]:
    """Its objects: the class is the default one, and a volume may be shared by many pods.

    The node is the only one, so its folder is a file system that all nodes share.
    """
    folder = schemas.module_folder(PROVISIONER.package, VERSION)
    text = (folder / "deploy" / "local-path-storage.yaml").read_text()
    objects = [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]
    for each in objects:
        if each["kind"] == "StorageClass":
            default = {"storageclass.kubernetes.io/is-default-class": "true"}
            each["metadata"]["annotations"] = default
        if each["kind"] == "ConfigMap":
            each["data"]["config.json"] = json.dumps({"sharedFileSystemPath": _FOLDER})
    return objects
