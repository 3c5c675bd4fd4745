"""Arguments of the controllers and schedulers that a release installs."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict

import pulumi

from trainer_infra import names
from trainer_infra.api.finding import path_text
from trainer_infra.deploy.destroy_guard_resource import GuardedCluster
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.platform.argument_fields import (
    Field,
    Fields,
    argument_path,
    at,
    of_argument,
    put_fields,
    refusals,
)
from trainer_infra.platform.argument_problems import (
    INTEGER,
    beside_manifests,
    shape_problems,
    unknown_problems,
    without_repeats,
)
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.releases import release_of
from trainer_infra.words import did_you_mean

_IMAGE: Final = re.compile(r"\S+")
_POD_SPEC: Final = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")


class PodArgs(TypedDict, total=False):
    """How the pods of a controller run."""

    image_pull_policy: pulumi.Input[str]
    """`IfNotPresent` where nodes have the image already; some releases say `Always`."""
    replicas: pulumi.Input[int]
    """How many pods; one leads."""
    resources: pulumi.Input[Mapping[str, Any]]
    """Requests and limits of each container, in wire form."""
    node_selector: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """Labels of the nodes that they run on."""
    tolerations: pulumi.Input[Sequence[Mapping[str, Any]]]
    """Taints that they tolerate, in wire form."""


class WorkloadArgs(PodArgs, total=False):
    """Arguments of everything that a release installs."""

    version: str
    """The release, with or without its v; the one that this release of trainer-infra is tested with
    unless it is given."""
    manifests: str | HelmChart
    """Manifests in place of the release's: a file, a folder, `https://HOST/PATH#sha256=HASH`, or a
    chart."""
    adopt: bool
    """True takes over what is in the cluster already, as it is; the manifests must say the same."""
    guard: bool | GuardedCluster
    """Whether `destroy` is refused while there are objects of its kinds: true unless given. A mapping
    names the cluster to look at, where that is not the stack's own."""
    configuration: Mapping[str, Any]
    """Fields of its configuration file; an object is merged, anything else replaces what is there."""


class ControllerArgs(WorkloadArgs, total=False):
    """Arguments of a controller with one image."""

    image: pulumi.Input[str]
    """The controller's image, for example that of a mirror."""


class SchedulerArgs(WorkloadArgs, total=False):
    """Arguments of a scheduler, which comes with controllers; what they say is said of each."""

    images: Mapping[str, pulumi.Input[str]]
    """Its images by part, for example those of a mirror."""


POD_FIELDS: Final[Fields] = {
    "image": Field(("containers", 0, "image")),
    "image_pull_policy": Field(("containers", 0, "imagePullPolicy")),
    "resources": Field(("containers", 0, "resources")),
    "node_selector": at("nodeSelector"),
    "tolerations": at("tolerations"),
}
"""Where arguments stand in the spec of a pod."""


def pod_problems(args: Mapping[str, Any]) -> Iterator[Problem]:
    """What the API server would refuse of the pods that these arguments are of."""
    # A JobSet, because its published schema has Kubernetes' pod template.
    container = {"name": "manager", "image": "manager"}
    spec = put_fields({"containers": [container], "restartPolicy": "Never"}, args, POD_FIELDS)
    job = {"name": "manager", "template": {"spec": {"template": {"spec": spec}}}}
    jobset = {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "metadata": {"name": "manager"},
        "spec": {"replicatedJobs": [job]},
    }
    found = (
        of_argument(each, argument_path(each.path[len(_POD_SPEC) :], args, POD_FIELDS), POD_FIELDS)
        for each in refusals(jobset)
    )
    yield from without_repeats(
        image_problems("image", args.get("image")),
        shape_problems(("replicas",), args.get("replicas", 1), INTEGER | {"minimum": 1}),
        (each.problem("") for each in found),
    )


def image_problems(path: str, image: object) -> Iterator[Problem]:
    """What is wrong with the name of an image."""
    if isinstance(image, str) and not _IMAGE.fullmatch(image):
        yield Problem(path, "must be the name of an image", image)


def controller_problems(
    args: Mapping[str, Any], project: str, parts: Collection[str]
) -> Iterator[Problem]:
    """What a project's release cannot be installed with; its `parts` have an image of their own each."""
    yield from pod_problems(args)
    for part, image in args.get("images", {}).items():
        path = path_text(("images", part))
        if part in parts:
            yield from image_problems(path, image)
        else:
            yield Problem(path, f"is not an image of {project}", fix=did_you_mean(part, parts))
    yield from unknown_problems(("configuration",), args.get("configuration", {}))
    if "manifests" not in args:
        try:
            release_of(project, args.get("version"))
        except InvalidInput as error:
            yield from error.problems
    yield from beside_manifests(args, "version")
