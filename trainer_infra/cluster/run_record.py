"""What a cluster keeps of a run, whatever engine drives it. Pure.

An object of the cluster has it: with engine `provider` a ConfigMap, with engine `controller` the
TrainJob itself. That object owns everything else of the run.
"""

from dataclasses import dataclass

from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import CREATED, Owner, Run, RunKey, code_origin_of, outputs_of
from trainer_infra.runs.settings import settings_of


@dataclass(frozen=True, slots=True)
class Record:
    """A run record as it is stored."""

    value: JSONObject
    """The object that keeps it."""
    namespace: str
    name: str
    """Of the TrainJob."""
    uid: str
    """The run's."""
    owner: Owner
    """Who declared it, or adopted it last."""
    content: str
    """Hash of what was submitted."""
    created: str
    """RFC 3339, UTC."""
    job: JSONObject
    """The TrainJob in wire form, `spec.suspend` as the user has it now."""
    objects: tuple[JSONObject, ...]
    """What was applied, as it may be shown, what runs last; a ConfigMap with the record is not among
    them."""
    plugins: tuple[str, ...]
    """Listed plugins that rendered it."""
    status: JSONObject
    """What was last known; empty as long as not everything was submitted."""

    final: Run | None
    """The run as it ended; None before an observer has seen that."""

    def declared(self, host: str) -> Run:
        """The run as it was declared, before anything is observed of it.

        Args:
            host: the cluster.
        """
        return Run(
            namespace=self.namespace,
            name=self.name,
            uid=self.uid,
            host=host,
            owner=self.owner,
            content=self.content,
            created=self.created,
            phase=CREATED,
            outputs=outputs_of(self.job),
            code_origin=code_origin_of(self.job),
            settings=settings_of(self.job),
        )

    @property
    def key(self) -> RunKey:
        """What finds the run again, as long as it is its owner's."""
        return RunKey(self.namespace, self.name, self.uid, self.owner)

    @property
    def holder(self) -> str:
        """UID of the object that keeps it, which owns all others."""
        return str(self.value["metadata"]["uid"])

    @property
    def owned(self) -> tuple[JSONObject, ...]:
        """Those of its objects that the one which keeps it owns: all others."""
        kept = (self.value["kind"], self.value["metadata"]["name"])
        return tuple(
            each for each in self.objects if (each["kind"], each["metadata"]["name"]) != kept
        )

    @property
    def jobset_uid(self) -> str:
        """UID of the run's JobSet; empty as long as not everything was submitted."""
        return str(self.status.get("jobset") or "")


def owner_reference(record: Record) -> JSONObject:
    """The owner reference that everything of the run has.

    It does not block the owner's deletion, which nothing waits for: some clusters (OpenShift) give
    that to those alone who may update configmaps/finalizers.
    """
    return {
        "apiVersion": record.value["apiVersion"],
        "kind": record.value["kind"],
        "name": record.value["metadata"]["name"],
        "uid": record.holder,
        "controller": True,
    }
