"""Kueue's controller: it admits jobs when there is quota for them.

Kueue's published manifests let its webhooks see every pod and Deployment of a cluster, those of the
system too. Here it sees the kinds of the frameworks that are switched on, and no others.
"""

from collections.abc import Sequence
from typing import Any, Final, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.controller_component import (
    ControllerArgs,
    ControllerComponent,
    ControllerNames,
    Objects,
    merged_configuration,
)

FRAMEWORKS: Final = ("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
"""What training needs."""
_OWN_GROUP: Final = "kueue.x-k8s.io"
_AGGREGATED: Final = "APIService"
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class KueueArgs(ControllerArgs, total=False):
    """Arguments of Kueue."""

    frameworks: Sequence[str]
    """Kinds of jobs that it queues, as its configuration names them; JobSet and TrainJob unless given."""
    visibility: bool
    """Whether it serves the pending workloads of a queue; true unless given. The API server must be
    able to reach pods."""


class Kueue(ControllerComponent):
    """Kueue's controller, from its published manifests."""

    _arguments = KueueArgs
    _names = ControllerNames(
        "Kueue",
        "kueue-system",
        "kueue-controller-manager",
        "kueue-manager-config",
        "controller_manager_config.yaml",
    )

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[KueueArgs],
    ) -> None:
        """Install it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `KueueArgs`.
        """
        chosen: dict[str, Any] = {}
        if frameworks := _frameworks(args):
            chosen["integrations"] = {"frameworks": frameworks}
        if not args.get("visibility", True):
            chosen["featureGates"] = {"VisibilityOnDemand": False}
        args["configuration"] = merged_configuration(chosen, args.get("configuration", {}))
        super().__init__(resource_name, args, opts)

    @override
    def _prepared(self, objects: Objects, args: KueueArgs) -> Objects:
        served = tuple(
            each for each in objects if args.get("visibility", True) or each["kind"] != _AGGREGATED
        )
        if not _frameworks(args):
            return served
        frameworks = args["configuration"]["integrations"]["frameworks"]
        return tuple(_without_other_kinds(each, frameworks) for each in served)


def _frameworks(args: KueueArgs) -> Sequence[str]:
    """What the program or we choose; an installation that is adopted keeps its own."""
    return tuple(args.get("frameworks", () if args.get("adopt") else FRAMEWORKS))


def _without_other_kinds(value: JSONObject, frameworks: Sequence[str]) -> JSONObject:
    """A webhook configuration without the webhooks of frameworks that are off."""
    if value["kind"] not in _WEBHOOKS:
        return value
    webhooks = [each for each in value["webhooks"] if _is_on(each, frameworks)]
    return {**value, "webhooks": webhooks}


def _is_on(webhook: JSONObject, frameworks: Sequence[str]) -> bool:
    groups = {group for rule in webhook["rules"] for group in rule["apiGroups"]}
    plural = {each for rule in webhook["rules"] for each in rule["resources"]}
    wanted = {_group_and_plural(each) for each in frameworks}
    return groups == {_OWN_GROUP} or bool(
        wanted & {(group, each.partition("/")[0]) for group in groups for each in plural}
    )


def _group_and_plural(framework: str) -> tuple[str, str]:
    """`batch/job` as webhooks have it; those of the core and apps groups stand without their group."""
    group, _, kind = framework.rpartition("/")
    known = {"pod": "", "deployment": "apps", "statefulset": "apps"}
    return group or known.get(kind, kind), f"{kind}s"
