"""Cohort: queues that lend one another what they do not use."""

from collections.abc import Iterable
from typing import Any, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.json_values import JSONObject
from trainer_infra.platform.argument_problems import ArgumentProblems, quantity_text
from trainer_infra.platform.queues.queue_component import (
    QueueArgs,
    QueueComponent,
    judge_reference,
    name_of,
)
from trainer_infra.platform.queues.quota import Quota, QuotaRules, judge_quota, resource_groups


class CohortArgs(QueueArgs, total=False):
    """Arguments of a cohort."""

    parent: "pulumi.Input[str] | Cohort"
    """The cohort that this one is a part of."""
    quota: Quota
    """What belongs to all of its queues together, besides their own, by flavor."""
    fair_sharing_weight: pulumi.Input[float | str]
    """Its part when cohorts of the same parent compete, where Kueue shares fairly; 1 unless given."""


class Cohort(QueueComponent):
    """Kueue's Cohort: queues that lend one another what they do not use."""

    _arguments = CohortArgs

    def __init__(
        self,
        resource_name: str,
        *,
        opts: pulumi.ResourceOptions | None = None,
        **args: Unpack[CohortArgs],
    ) -> None:
        """Declare it.

        Args:
            resource_name: Name of the component, and the beginning of its resources' names.
            opts: Options of the component.
            args: See `CohortArgs`.
        """
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("parent"), *args.get("quota", ()))

    @override
    def _judge(self, problems: ArgumentProblems, args: Any) -> None:
        if "parent" in args:
            judge_reference(problems, ("parent",), args["parent"], Cohort)
            if name_of(args["parent"]) == self.object_name:
                problems.add(("parent",), "must be another cohort", self.object_name)
        rules = QuotaRules("parent", "parent" in args, is_of_queue=False)
        judge_quota(problems, args.get("quota", {}), rules)
        if "fair_sharing_weight" in args:
            problems.judge_weight(("fair_sharing_weight",), args["fair_sharing_weight"])

    @override
    def _objects(self, args: Any) -> Iterable[JSONObject]:
        spec: dict[str, Any] = {}
        if "parent" in args:
            spec["parentName"] = name_of(args["parent"])
        if groups := resource_groups(args.get("quota", {})):
            spec["resourceGroups"] = groups
        if "fair_sharing_weight" in args:
            spec["fairSharing"] = {"weight": quantity_text(args["fair_sharing_weight"])}
        yield self._object("Cohort", args, spec=spec)
