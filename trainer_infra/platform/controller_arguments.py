"""Arguments of the controllers and schedulers that a release installs."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypedDict

import pulumi

from trainer_infra.deploy.destroy_guard_resource import GuardedCluster
from trainer_infra.errors import InvalidInput
from trainer_infra.platform.argument_problems import ArgumentProblems
from trainer_infra.platform.chart_reference import HelmChart
from trainer_infra.platform.pod_arguments import judge_image, judge_pod_arguments
from trainer_infra.platform.releases import release_of
from trainer_infra.words import did_you_mean


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


def judge_controller_arguments(
    problems: ArgumentProblems, args: Mapping[str, Any], project: str, parts: Collection[str]
) -> None:
    """What a release cannot be installed with.

    Args:
        problems: where to say what is wrong.
        args: of the types that their annotations say.
        project: as `releases` has it.
        parts: what has an image of its own, where there are several.
    """
    judge_pod_arguments(problems, args)
    for part, image in args.get("images", {}).items():
        if part in parts:
            judge_image(problems, ("images", part), image)
        else:
            fix = did_you_mean(part, parts)
            problems.add(("images", part), f"is no image of {project}", fix=fix)
    problems.judge_known(("configuration",), args.get("configuration", {}))
    if "manifests" not in args:
        try:
            release_of(project, args.get("version"))
        except InvalidInput as error:
            problems.add_all(error.problems)
    elif "version" in args:
        what, fix = "and manifests= exclude one another", "leave one of the two out"
        problems.add(("version",), what, args["version"], fix)
