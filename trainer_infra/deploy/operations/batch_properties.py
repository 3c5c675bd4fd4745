"""Properties of a batch of TrainJobs as typed values, and of the gates of one and of many.

Pure. Each member has the properties of a TrainJob (`members`); what the state keeps of its run is an
entry, also where it is not a member any more.
"""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from trainer_infra.deploy.operations.properties import ResourceProperties
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import Run, RunKey, owner_from_json


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
    """A TrainJobs resource."""

    __slots__ = ()

    @property
    def runs(self) -> Mapping[str, MemberEntry]:
        """Entries of the members, by name, each with whose its run is.

        A run keeps its owner when the batch has another one, until an update of that member.
        """
        return {
            name: MemberEntry({"owner": member_owner(self.json, name), **each})
            for name, each in (self.json.get("members") or {}).items()
        }

    @property
    @override
    def keys(self) -> tuple[RunKey, ...]:
        return tuple(each.key for each in self.runs.values() if each.has_run)

    @property
    @override
    def shown(self) -> str:
        return f"TrainJobs {self.resource}"

    @property
    def uids(self) -> frozenset[str]:
        """Those of its runs."""
        return frozenset(each.uid for each in self.keys)

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


class GateProperties(BatchProperties):
    """What waits for a batch, or for a TrainJob: that is a batch of one, whose member has no name."""

    __slots__ = ()

    @property
    def is_of_batch(self) -> bool:
        """Whether it waits for a batch."""
        return "batch" in self.json

    @property
    @override
    def name(self) -> str:
        """Of the TrainJob."""
        return str(self.json["jobName"])

    @property
    @override
    def runs(self) -> Mapping[str, MemberEntry]:
        """What it waits for."""
        if not self.is_of_batch:
            return {"": MemberEntry({**self.json, "name": self.name})}
        return {name: MemberEntry(each) for name, each in (self.json.get("runs") or {}).items()}

    @property
    @override
    def resource(self) -> str:
        """The name of the batch's resource."""
        return str(self.json["batch"])

    @property
    @override
    def shown(self) -> str:
        return super().shown if self.is_of_batch else f"TrainJob {self.name}"

    @property
    def until(self) -> Any:
        """The event that it waits for; in inputs whatever the program gave."""
        return self.json.get("until")

    @property
    def tolerated(self) -> Any:
        """How many members may fail; in inputs whatever the program gave."""
        return self.json.get("tolerateFailures", 0)

    def is_of_another(self, member: str, run: Run) -> bool:
        """Whether a run is another owner's by now; a gate of an earlier release does not know whose."""
        if "owner" not in self.json:
            return False
        owner = self.json["owner"]
        if self.is_of_batch:
            owner = (self.json.get("owners") or {}).get(member) or member_owner(self.json, member)
        return not run.owner.is_same(owner_from_json(owner))


def member_owner(batch: JSONObject, member: str) -> dict[str, Any]:
    """Whose the runs of a member are that the batch submits: by the batch's URN, `#` and the member's name."""
    return {**batch["owner"], "urn": f"{batch['owner']['urn']}#{member}"}
