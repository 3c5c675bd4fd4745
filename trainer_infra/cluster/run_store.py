"""Where an engine keeps what it knows of its runs, and how it differs in that from the other one.

Engine `provider` keeps records in ConfigMaps (`provider.record_store`), engine `controller` on the
TrainJobs that it stores (`controller.job_store`). The verbs (`submit`, `delete` and so on) ask a store, and
never which engine it is of. Pure but for what takes a client: other objects are read and written elsewhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar

from trainer_infra import names
from trainer_infra.cluster import live_objects, record_fields, run_labels
from trainer_infra.cluster.rights import Right, right_to
from trainer_infra.errors import Bug, NotAvailable, Problem, Refused, Unreadable
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, Resource
from trainer_infra.runs import sentences
from trainer_infra.runs.run import (
    CREATED,
    Owner,
    Run,
    RunKey,
    Submission,
    attempts_from_json,
    code_origin_of,
    outputs_of,
    run_to_json,
)
from trainer_infra.runs.settings import settings_of
from trainer_infra.runs.view import Observation


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
        """The run as it was declared in the cluster, before anything is observed of it."""
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
            attempts=attempts_from_json(self.status.get("attempts")),
        )

    @property
    def key(self) -> RunKey:
        """What finds the run again, as long as it is its owner's."""
        return RunKey(self.namespace, self.name, self.uid, self.owner)

    @property
    def holder(self) -> str:
        """UID of the object that keeps it, which owns all others."""
        return str(self.value["metadata"]["uid"])

    def head(self) -> JSONDict:
        """A patch of the very object that keeps it, never of another one of its name."""
        name = self.value["metadata"]["name"]
        return {
            "apiVersion": self.value["apiVersion"],
            "kind": self.value["kind"],
            "metadata": {"name": name, "namespace": self.namespace, "uid": self.holder},
        }

    def owns(self, value: JSONObject) -> bool:
        """Whether the object belongs to the run."""
        return live_objects.is_of(value, self.holder)

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


@dataclass(frozen=True, slots=True)
class RunParts:
    """What is written of a submission."""

    holder: JSONObject
    """The object that keeps the run."""
    owned: tuple[JSONObject, ...]
    """What we write besides and the holder owns, the JobSet last where it is ours to write."""
    jobset: JSONObject
    """The JobSet, also where a controller makes it of the holder."""


class RunStore(ABC):
    """How runs are kept."""

    kind: ClassVar[Resource]
    """Of the objects that keep them; those of runs have the label `names.RECORD_LABEL`."""
    jobsets: ClassVar[str]
    """Label selector of the runs' JobSets."""
    objects_at: ClassVar[record_fields.TextPlace]
    """Where an object that keeps a run has what was applied."""
    status_at: ClassVar[record_fields.TextPlace]
    """Where it has what was last known."""
    holder_first: ClassVar[bool]
    """Whether what keeps a run only records it: it is made first, deleted last, and the JobSet is ours to
    write. Else a controller makes the JobSet of it, so that it begins the run itself; see `submit`."""

    @property
    def change(self) -> tuple[Right, ...]:
        """What it takes to suspend a run, to repair it, or to give it another owner."""
        kinds = (CONFIG_MAP, JOBSET if self.holder_first else self.kind)
        return tuple(right for each in kinds for right in right_to(each, "get", "patch"))

    @abstractmethod
    def object_name(self, job: str) -> str:
        """The name of the object that keeps a run, of its TrainJob's."""

    @abstractmethod
    def parts(self, submission: Submission) -> RunParts:
        """What is written of a submission."""

    @abstractmethod
    def problems(
        self, job: JSONObject, objects: Sequence[JSONObject], controller: str
    ) -> tuple[Problem, ...]:
        """What of a TrainJob and its objects the engine cannot run; as `Target.problems`."""

    async def require(self, client: KubeClient, submission: Submission) -> None:  # noqa: B027  an engine may need nothing
        """Raise where the cluster lacks what a run needs before anything of it is written.

        Raises:
            NotAvailable: It does.
        """

    @abstractmethod
    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> Observation:
        """What is seen of a run; of a JobSet that has its name and is not its own, nothing."""

    @abstractmethod
    def current_run(self, record: Record, seen: Observation, host: str, now: datetime) -> Run:
        """The run as it is now, by what is seen of it besides its status; it has not ended so far.

        Raises:
            Unreadable: What the record has is not a TrainJob.
        """

    @abstractmethod
    def owner_patch(self, record: Record, owner: Owner) -> JSONObject:
        """The patch that gives a record, and what it keeps of its objects, a new owner."""

    @abstractmethod
    def suspend_patch(self, record: Record, value: bool) -> JSONObject:
        """The patch that keeps whether the user wants the run suspended."""

    def agreeing_patch(self, record: Record, holder: JSONObject) -> JSONObject | None:  # noqa: ARG002  for a holder that can change
        """The patch that makes of a record what is rendered now; None where it is that, or cannot change.

        An earlier release may have begun the record; the holder is that of the `RunParts`.
        """
        return None

    def repair_patch(self, record: Record) -> JSONObject | None:  # noqa: ARG002  for a holder that was applied
        """The patch that writes what keeps a run again, where fields of ours in it drifted; else None."""
        return None

    def repeated_holder(self, record: Record) -> JSONObject | None:  # noqa: ARG002  for a holder that goes
        """What keeps a run that runs again, as it is created once more; None where it stays."""
        return None

    @abstractmethod
    def job_of(self, value: JSONObject, objects: Sequence[JSONObject]) -> JSONObject:
        """The TrainJob, as `Record.job` has it, of the object that keeps the run, and what was applied.

        Raises:
            ValueError: It is damaged; names the place.
        """

    def uid_of(self, value: JSONObject) -> str:
        """The UID of the run that an object keeps, readable or not."""
        return str(value["metadata"]["uid"])

    def keeps_run(self, value: JSONObject) -> bool:
        """Whether an object should keep a run of ours."""
        return names.RECORD_LABEL in (value["metadata"].get("labels") or {})

    def read_record(self, value: JSONObject) -> Record | None:
        """The record in an object; None when the object keeps no run of this engine.

        Raises:
            Unreadable: It should, and cannot be read.
        """
        if not self.keeps_run(value):
            return None
        try:
            return self._read(value)
        except ValueError as error:
            raise self.unreadable(value, str(error)) from None

    def _read(self, value: JSONObject) -> Record:
        metadata = value["metadata"]
        notes = metadata.get("annotations") or {}
        record_fields.read_version(notes)
        objects = record_fields.read_objects(value, self.objects_at)
        job = self.job_of(value, objects)
        identity: dict[str, Any] = {
            "namespace": metadata["namespace"],
            "name": job["metadata"]["name"],
            "uid": self.uid_of(value),
            "owner": record_fields.read_owner(notes),
            "content": notes.get(names.CONTENT_ANNOTATION, ""),
            "created": metadata["creationTimestamp"],
        }
        status = record_fields.read_status(value, self.status_at)
        return Record(
            **identity,
            value=value,
            job=job,
            objects=objects,
            plugins=tuple(filter(None, notes.get(names.PLUGINS_ANNOTATION, "").split(","))),
            status=status,
            final=record_fields.read_final(status, identity, self.status_at.shown),
        )

    async def live_holder(self, client: KubeClient, key: RunKey) -> JSONObject | None:
        """The object that keeps a run of that name as it is now; None when there is none."""
        name = self.object_name(key.name)
        return await live_objects.named_object(client, self.kind, name, key.namespace)

    async def present_record(self, client: KubeClient, key: RunKey) -> Record:
        """The record of a run that must be there, and still be the one and the owner's that is meant.

        Raises:
            NotAvailable: There is no run of that name, or it has another UID.
            Refused: It is another owner's by now.
            Unreadable: The record is damaged.
        """
        value = await self.live_holder(client, key)
        record = self.read_record(value) if value else None
        if record is not None and key.uid in ("", record.uid):
            if key.owner is not None and not record.owner.is_same(key.owner):
                raise Refused(sentences.taken_by(record))
            return record
        shown = f" with uid {key.uid}" if key.uid else ""
        raise NotAvailable(f"there is no {key.shown()}{shown} in the cluster {client.server}")

    def unreadable(self, value: JSONObject, why: str) -> Unreadable:
        """The error of a record that cannot be read."""
        metadata = value["metadata"]
        return Unreadable(
            f"{self.kind.kind} {metadata['namespace']}/{metadata['name']} should be the record of a run "
            f"and cannot be read: {why}; write it again as it was, or delete it, and with it what is left "
            "of the run"
        )

    def known_record(self, value: JSONObject) -> Record:
        """The record in an object that is known to have one.

        Raises:
            Bug: It has none.
        """
        found = self.read_record(value)
        if found is None:
            raise Bug(f"{self.kind.kind} {value['metadata']['name']} is not a run record")
        return found

    def may_be_of(self, value: JSONObject, owner: Owner) -> bool:
        """Whether a record that cannot be read is that owner's, as far as it still says whose it is."""
        metadata = value["metadata"]
        try:
            return record_fields.read_owner(metadata.get("annotations") or {}).is_same(owner)
        except ValueError:
            found = metadata.get("labels") or {}
            run = {names.RUN_LABEL: found.get(names.RUN_LABEL)}
            expected = {**run_labels.labels_of(owner, ""), **run}
            return all(found.get(key, each) == each for key, each in expected.items())

    def end_patch(self, record: Record, run: Run) -> JSONObject:
        """The patch that keeps a run as it ended."""
        return self.status_patch(record, {**record.status, **run_to_json(run)})

    def attempts_patch(self, record: Record, run: Run) -> JSONObject:
        """The patch that keeps the attempts of a run that goes on, of the very version that was read: it may have ended."""
        patch = self.status_patch(record, {**record.status, "attempts": asdict(run.attempts)})
        version = record.value["metadata"].get("resourceVersion", "")
        return {**patch, "metadata": {**patch["metadata"], "resourceVersion": version}}

    def status_patch(self, record: Record, known: JSONObject) -> JSONObject:
        """The patch that keeps what is last known of a run."""
        patch = record.head()
        texts = patch
        for each in self.status_at.path:
            texts = texts.setdefault(each, {})
        texts[self.status_at.key] = record_fields.compact_text(known)
        return patch
