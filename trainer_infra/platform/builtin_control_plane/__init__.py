"""Our own controller's objects, which need no download: rights, pods, webhooks, CRDs, alerts.

`builtin_objects` has them for `trainer_control_plane`. Names are those of Kubeflow Trainer's release, so
that one can take the other's place.
"""

from importlib import metadata
from pathlib import Path
from typing import Any, Final

import yaml

from trainer_infra import names
from trainer_infra.api import crd
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.platform.manifests.manifest_text import objects_of_text, with_containers

VERSION: Final = "2.3.0"
"""The release of Kubeflow Trainer as which it behaves."""
IMAGE: Final = "trainer-infra/controller"
"""Its image without a tag: that is the version of this package."""
_FOLDER: Final = Path(__file__).parent
_FILES: Final = ("rights.yaml", "manager.yaml", "webhooks.yaml")
_KINDS: Final = (names.CLUSTER_TRAINING_RUNTIME, names.TRAINING_RUNTIME, names.TRAIN_JOB)
"""Runtimes first: TrainJobs name them."""
_COLUMNS: Final = (
    {
        "name": "Progress",
        "type": "integer",
        "description": "Percentage that the training has reported.",
        "jsonPath": ".status.trainerStatus.progressPercentage",
    },
    {
        "name": "Waiting",
        "type": "string",
        "description": "Why it does not go on.",
        "jsonPath": ".metadata.annotations." + names.WAITING.replace(".", r"\."),
    },
)
"""Columns of `kubectl get trainjobs` besides those of Kubeflow Trainer, after its State."""


def builtin_objects() -> tuple[JSONObject, ...]:
    """Everything that the controller needs, without what is for Prometheus."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": names.SYSTEM_NAMESPACE}}
    texts = {file: (_FOLDER / file).read_text("utf-8") for file in _FILES}
    read = (each for file, text in texts.items() for each in objects_of_text(text, file))
    own = (with_containers(each, lambda known: {**known, "image": image()}) for each in read)
    return (space, *map(_with_columns, crd.crd_definitions(_KINDS)), *own)


def alert_groups(labels: str) -> list[Any]:
    """The groups of a PrometheusRule for the pods that labels choose, in PromQL without braces."""
    text = (_FOLDER / "alerts.yaml").read_text("utf-8").replace("LABELS", labels)
    groups: list[Any] = yaml.load(text, yaml.CSafeLoader)["groups"]
    return groups


def image() -> str:
    """The image of this version of the package."""
    return f"{IMAGE}:{metadata.version('trainer-infra')}"


def _with_columns(definition: JSONDict) -> JSONDict:
    """A CRD with our columns, where it is that of TrainJobs."""
    (version,) = definition["spec"]["versions"]
    published = version.get("additionalPrinterColumns") or ()
    if not published:
        return definition
    first = [each for each in published if each["name"] == "State"]
    rest = [each for each in published if each not in first]
    changed = {**version, "additionalPrinterColumns": [*first, *_COLUMNS, *rest]}
    return {**definition, "spec": {**definition["spec"], "versions": [changed]}}
