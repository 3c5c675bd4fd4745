"""Properties of a batch of TrainJobs as typed values: what all members have in common, and their runs.

Pure. Each member has the properties of a TrainJob (`members`); what the state keeps of its run is an
entry, also where it is no member any more.
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from trainer_infra.deploy.operations.properties import ResourceProperties
from trainer_infra.json_values import JSONObject


class MemberEntry(ResourceProperties):
    """What the state keeps of a member beside its TrainJob: the run, or why there is none."""

    __slots__ = ()

    @property
    def error(self) -> str:
        """Why the last update of it failed; empty where it did not."""
        return str(self.json.get("error") or "")

    @property
    def replaced(self) -> tuple["MemberEntry", ...]:
        """Runs of it that are still to be deleted; an earlier release wrote them without an owner."""
        owner = {"owner": self.json.get("owner")}
        return tuple(MemberEntry({**owner, **each}) for each in self.json.get("replaced") or ())


class BatchProperties(ResourceProperties):
    """A TrainJobs resource, or the gate of one."""

    __slots__ = ()

    @property
    def resource(self) -> str:
        """The Pulumi resource's name; of a gate that of what it waits for."""
        return str(self.json["resource"] if "resource" in self.json else self.json["batch"])

    @property
    def runs(self) -> Mapping[str, MemberEntry]:
        """Entries of the members, by name."""
        found = self.json.get("runs" if "batch" in self.json else "members") or {}
        return {name: MemberEntry(each) for name, each in found.items()}

    @property
    def uids(self) -> frozenset[str]:
        """Those of its runs."""
        return frozenset(each.uid for each in self.runs.values() if each.has_run)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Those of the members, in order."""
        return tuple(sorted({each.namespace for each in self.runs.values()}))

    @property
    @override
    def namespace(self) -> str:
        """Of the first member; empty where there is none."""
        return next(iter(self.namespaces), "")

    @property
    def max_parallel(self) -> Any:
        """How many members run at the same time, None for all; in inputs whatever the program gave."""
        return self.json.get("maxParallel")

    @property
    def has_gate(self) -> bool:
        """Whether another resource waits for its runs."""
        return bool(self.json.get("waitFor"))


class BatchGateProperties(BatchProperties):
    """What waits for a batch."""

    __slots__ = ()

    @property
    def until(self) -> Any:
        """The event that it waits for; in inputs whatever the program gave."""
        return self.json.get("until")

    @property
    def tolerated(self) -> Any:
        """How many members may fail; in inputs whatever the program gave."""
        return self.json.get("tolerateFailures", 0)

    @property
    def owners(self) -> JSONObject:
        """Whose the runs of members are, by name, where they are not the batch's."""
        return self.json.get("owners") or {}
