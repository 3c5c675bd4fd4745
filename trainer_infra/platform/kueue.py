"""Kueue's controller: it admits jobs when there is quota for them.

Kueue's published manifests let its webhooks see every pod and Deployment of a cluster, those of the
system too. Here it sees the kinds of the frameworks that are switched on, and no others.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Unpack

from typing_extensions import override

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import shape_problems
from trainer_infra.platform.component import Options
from trainer_infra.platform.controller_arguments import ControllerArgs
from trainer_infra.platform.controller_component import (
    ControllerComponent,
    ControllerNames,
    Objects,
)
from trainer_infra.words import did_you_mean

FRAMEWORKS: Final = ("jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob")
"""What training needs."""
_OWN_GROUP: Final = "kueue.x-k8s.io"
_FREE: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_FRAMEWORKS: Final = {"type": "array", "items": {"type": "string"}}
_INTEGRATIONS: Final = _FREE | {"properties": {"frameworks": _FRAMEWORKS}}
_CONFIGURATION: Final = _FREE | {"properties": {"integrations": _INTEGRATIONS}}
"""What the component reads of Kueue's configuration."""
_SHORT: Final = ("", "apps")
"""API groups whose kinds its configuration names without their group."""
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
        "Kueue", "kueue-system", "kueue-controller-manager", "kueue-manager-config"
    )

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[KueueArgs]
    ) -> None:
        super().__init__(resource_name, args, opts)

    @classmethod
    @override
    def judge_arguments(cls, args: Any) -> Iterator[Problem]:
        yield from super().judge_arguments(args)
        yield from shape_problems(("configuration",), args.get("configuration", {}), _CONFIGURATION)

    @override
    def _configuration(self, args: KueueArgs) -> JSONObject:
        chosen: dict[str, Any] = {}
        if frameworks := _frameworks(args):
            chosen["integrations"] = {"frameworks": frameworks}
        if not args.get("visibility", True):
            chosen["featureGates"] = {"VisibilityOnDemand": False}
        return chosen

    @override
    def _prepared(self, objects: Objects, args: KueueArgs) -> Objects:
        visible = args.get("visibility", True)
        served = tuple(each for each in objects if visible or each["kind"] != "APIService")
        if not _frameworks(args):
            return served
        frameworks = args["configuration"]["integrations"]["frameworks"]
        if problems := [*_unknown_frameworks(args.get("frameworks", ()), objects)]:
            raise InvalidInput(problems)
        return tuple(_without_other_kinds(each, frameworks) for each in served)


def _frameworks(args: KueueArgs) -> Sequence[str]:
    """What the program or we choose; an installation that is adopted keeps its own."""
    return tuple(args.get("frameworks", () if args.get("adopt") else FRAMEWORKS))


def _unknown_frameworks(frameworks: Sequence[str], objects: Objects) -> Iterator[Problem]:
    """Kinds that the program names, and of which this release has no webhook."""
    webhooks = (hook for each in objects if each["kind"] in _WEBHOOKS for hook in each["webhooks"])
    known = dict.fromkeys(name for each in webhooks for name in sorted(_frameworks_of(each)))
    for each in frameworks:
        if each not in known:
            what = "is not a kind of job that Kueue supports"
            yield Problem("frameworks", what, got=each, fix=did_you_mean(each, known))


def _without_other_kinds(value: JSONObject, frameworks: Sequence[str]) -> JSONObject:
    """A webhook configuration without the webhooks of frameworks that are off."""
    if value["kind"] not in _WEBHOOKS:
        return value
    seen = ((each, _frameworks_of(each)) for each in value["webhooks"])
    on = [each for each, kinds in seen if not kinds or not kinds.isdisjoint(frameworks)]
    return {**value, "webhooks": on}


def _frameworks_of(webhook: JSONObject) -> frozenset[str]:
    """The kinds of jobs that a webhook sees, as a configuration names them; none of Kueue's own."""
    return frozenset(
        kind if group in _SHORT else f"{group}/{kind}"
        for rule in webhook["rules"]
        for group in rule["apiGroups"]
        if group != _OWN_GROUP
        for kind in (each.partition("/")[0].removesuffix("s") for each in rule["resources"])
    )
