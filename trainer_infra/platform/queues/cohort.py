"""Cohort: queues that lend one another what they do not use."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Unpack

import pulumi
from typing_extensions import override

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_fields import Fields, at
from trainer_infra.platform.component import Options
from trainer_infra.platform.queues.queue_component import (
    WEIGHT,
    QueueArgs,
    QueueComponent,
    name_of,
)
from trainer_infra.platform.queues.quota import QUOTA, Quota, quota_problems


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
    kind = "Cohort"
    fields: ClassVar[Fields] = {
        "parent": at("spec.parentName", name_of),
        "quota": QUOTA,
        "fair_sharing_weight": WEIGHT,
    }

    def __init__(
        self, resource_name: str, *, opts: Options = None, **args: Unpack[CohortArgs]
    ) -> None:
        """Declare it; what to give is in `CohortArgs`."""
        super().__init__(resource_name, args, opts)

    @override
    def _references(self, args: Any) -> Iterable[object]:
        return (args.get("parent"), *args.get("quota", ()))

    @override
    def _problems(self, args: Any) -> Iterator[Problem]:
        if name_of(args.get("parent")) == self.object_name:
            yield Problem("parent", "must be another cohort", self.object_name)
        yield from quota_problems(args.get("quota", {}))
