"""What is known of a run, whatever its target: the values that a `Target` takes and returns.

Everything here turns into JSON and back without loss; secret values never do. JSON of another
release is read as far as this one knows it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.attempts import Attempts
from trainer_infra.runs.settings import RunSettings

T = TypeVar("T")

CREATED: Final = "Created"
SUSPENDED: Final = "Suspended"
RUNNING: Final = "Running"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
LOST: Final = "Lost"
"""Its JobSet is gone though it had not finished; nothing runs it again by itself."""
FINISHED: Final = frozenset({COMPLETE, FAILED})

_OLDER_TYPE: Final = re.compile(rf"{re.escape(names.OLDER_RESOURCE_TYPE)}(\w+)")


def canonical_urn(urn: str) -> str:
    """The URN of an owner as this release has it, also where an older one wrote it."""
    return _OLDER_TYPE.sub(
        lambda found: f"{names.RESOURCE_TYPE}{names.SHORT_TYPES.get(found[1], found[1])}", urn
    )


@dataclass(frozen=True, slots=True)
class Owner:
    """Who declared a run; all empty for `trainer-infra run`."""

    project: str = ""
    """The Pulumi project."""
    stack: str = ""
    """The Pulumi stack."""
    urn: str = ""
    """The URN of the resource."""
    backend: str = ""
    """The backend that keeps the stack, as `deploy.backend` identifies it; empty where that is not
    known, and in what earlier releases wrote."""

    def shown(self) -> str:
        """As an error names it."""
        if not self.urn:
            return "`trainer-infra run`"
        kept = f" in backend {self.backend}" if self.backend else ""
        return f"{self.urn} of stack {self.stack} of project {self.project}{kept}"

    def is_same(self, other: "Owner") -> bool:
        """Whether both are one owner; a backend that only one of them has tells nothing."""
        mine = (self.project, self.stack, canonical_urn(self.urn))
        if mine != (other.project, other.stack, canonical_urn(other.urn)):
            return False
        return self.backend == other.backend or not (self.backend and other.backend)


@dataclass(frozen=True, slots=True)
class Submission:
    """Everything needed to run a TrainJob."""

    job: JSONObject
    """The TrainJob in wire form, code attached; `metadata.name` and `metadata.namespace` are set."""
    runtime: JSONObject
    """The runtime it was born with, in wire form."""
    objects: tuple[JSONObject, ...]
    """Everything rendered: ConfigMaps, Secrets (values shown as `names.SECRET_SHOWN`), JobSet."""
    secret_data: Mapping[str, str]
    """Key to value of the job's own Secret."""
    packages: tuple[str, ...]
    """Locked requirements of the job's Python, as a requirements file has them: options that name
    indexes first; empty for the interpreter that submits."""
    owner: Owner
    """Who declared it."""
    content: str
    """Hash of what was submitted: the same content of the same owner is the same run."""
    plugins: tuple[str, ...] = ()
    """Listed plugins that rendered it and reconcile it, as `render.plugin_registry` takes them."""
    controller: str = ""
    """Which controller renders it, as `Target.controller` said it; empty for none."""

    @property
    def key(self) -> "RunKey":
        """Which run it makes."""
        metadata = self.job["metadata"]
        return RunKey(metadata["namespace"], metadata["name"])

    @property
    def contents(self) -> "Contents":
        """What the record does not keep of it."""
        return Contents(self.secret_data, tuple(filter(is_fixed, self.objects)))


def is_fixed(value: JSONObject) -> bool:
    """Whether the object is an immutable ConfigMap: large, and of one content under its name."""
    return value["kind"] == "ConfigMap" and bool(value.get("immutable"))


@dataclass(frozen=True, slots=True)
class Contents:
    """What objects of a run hold and its record does not keep: secret values, and code."""

    secret_data: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Key to value of the job's own Secret."""
    config_maps: tuple[JSONObject, ...] = ()
    """Immutable ConfigMaps with their data."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The pod that ended a run."""

    pod: str = ""
    """Its name."""
    reason: str = ""
    """`Error`, `StartError` and the like, as the container's termination reason."""
    exit_code: int | None = None
    """The container's exit code, 128+n for signal n; None when no container ended."""
    last_lines: tuple[str, ...] = ()
    """The last lines of its log, at most 20."""


@dataclass(frozen=True, slots=True)
class Node:
    """One pod of the trainer step, as it is now."""

    pod: str = ""
    """Its name."""
    phase: str = ""
    """`Pending`, `Running`, `Succeeded` or `Failed`."""
    progress: int | None = None
    """Percent, of its own last report; None before the first."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Of its own last report."""
    restarts: int = 0
    """How often it was started again."""
    step: str = ""
    """The replicated job that it is of."""
    host: str = ""
    """The Kubernetes node that it runs on; empty on this machine."""
    gpus: int = 0
    """Accelerators that its containers asked for."""
    kept_by: tuple[str, ...] = ()
    """Containers that go on though the one that trains has ended: the pod does not end before them."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """Which run, and whose."""

    namespace: str
    name: str
    """Of the TrainJob."""
    uid: str = ""
    """Empty for whichever run has the name."""
    owner: Owner | None = None
    """Whose it has to be; None for any owner."""

    @property
    def address(self) -> tuple[str, str, str]:
        """Which run it is, of any owner."""
        return self.namespace, self.name, self.uid

    def shown(self) -> str:
        """As an error names it: `run team/digits`."""
        return f"run {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class LogSelection:
    """Which lines of a run's pods."""

    pod: str | None = None
    """Only of this pod; on a cluster also without the five characters at the end of its name."""
    tail: int | None = None
    """Begin with the last lines only, as many per container."""
    follow: bool = False
    """Go on until the run has ended."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a run now."""

    namespace: str
    """Of the TrainJob."""
    name: str
    """Of the TrainJob; unique in its namespace."""
    uid: str
    """New for each run, also under a name used before."""
    host: str
    """The machine or the cluster that it runs on."""
    owner: Owner
    """Who declared it, or adopted it last."""
    content: str
    """As submitted."""
    created: str
    """RFC 3339, UTC."""
    phase: str
    """`Created`, `Suspended`, `Running`, `Complete`, `Failed` or `Lost`."""
    reason: str = ""
    """Of a finished run: the condition's reason."""
    message: str = ""
    """Of a finished run; names pod and exit code when it failed."""
    status: JSONObject = field(default_factory=dict)
    """TrainJob.status in wire form: conditions, jobsStatus, trainerStatus."""
    nodes: tuple[Node, ...] = ()
    """The pods of the trainer step, in order of their index."""
    failure: Failure | None = None
    """The pod that ended it, when a pod did."""
    started: str = ""
    """When the first process started; RFC 3339, empty before."""
    finished: str = ""
    """When it ended; RFC 3339, empty before."""
    waiting_for: str = ""
    """What it waits for now, for example `installing 3 packages`; empty when it waits for nothing."""
    cause: str = ""
    """What kind of thing it waits for: an id of docs/waiting.md; empty when it waits for nothing. On
    this machine only `hang`."""
    stuck: str = ""
    """Why it will not go on unless you help: an image that cannot be pulled, a lost node."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Where each output is kept, also when the run is gone: a folder, `pvc://CLAIM/PATH`, or a URI."""
    code_origin: str = ""
    """The git reference that its code is from, with the commit; empty where it is from none."""
    settings: RunSettings = field(default_factory=RunSettings)
    """Runtime, arguments, packages, image and so on."""
    attempts: Attempts = field(default_factory=Attempts)
    """The attempts of a program with checkpoints, once there are several."""
    drift: Mapping[str, str] = field(default_factory=dict)
    """Fields of ours that another writer changed: `<kind> <name>: <path>` to what is there now and whose
    it is."""

    @property
    def key(self) -> RunKey:
        """What finds it again, as long as it is its owner's."""
        return RunKey(self.namespace, self.name, self.uid, self.owner)


@dataclass(frozen=True, slots=True)
class Listing:
    """The runs of a place, and what could not be read there."""

    runs: tuple[Run, ...] = ()
    """By namespace and name."""
    unread: tuple[str, ...] = ()
    """A sentence for each thing that should be a run's and cannot be read."""


def outputs_of(job: JSONObject) -> dict[str, str]:
    """Where the outputs of a run are kept, by what its TrainJob says; nothing where that is damaged."""
    said = (job["metadata"].get("annotations") or {}).get(names.OUTPUTS)
    try:
        found = json.loads(said) if said else {}
    except ValueError:
        return {}
    return {str(name): str(each) for name, each in found.items()} if isinstance(found, dict) else {}


def code_origin_of(job: JSONObject) -> str:
    """The git reference that the code of a run is from, by what its TrainJob says; empty where it is from none."""
    return str((job["metadata"].get("annotations") or {}).get(names.CODE_ORIGIN) or "")


def run_to_json(run: Run) -> dict[str, Any]:
    """A run as JSON values."""
    return asdict(run)


def run_from_json(value: Any) -> Run:
    """The run that `run_to_json` wrote, in this release or another one.

    Raises:
        ValueError: The value says no run.
    """
    return _from_json(_runs(), value)


def owner_from_json(value: Any) -> Owner:
    """The owner in JSON, with the fields that this release knows.

    Raises:
        ValueError: The value says no owner.
    """
    return _from_json(_owners(), value)


def attempts_from_json(value: Any) -> Attempts:
    """The attempts in JSON; none where that is missing or damaged."""
    try:
        return _from_json(_attempts(), value) if value else Attempts()
    except ValueError:
        return Attempts()


def owner_to_json(owner: Owner) -> dict[str, str]:
    """An owner as JSON values, without a backend that is not known."""
    return {key: each for key, each in asdict(owner).items() if each or key != "backend"}


def _from_json(adapter: TypeAdapter[T], value: Any) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        parts = (".".join(map(str, first["loc"])), first["msg"].lower())
        raise ValueError(": ".join(filter(None, parts))) from None


# Made only where such JSON is read: making one takes longer than reading.
@lru_cache
def _runs() -> TypeAdapter[Run]:
    return TypeAdapter(Run)


@lru_cache
def _attempts() -> TypeAdapter[Attempts]:
    return TypeAdapter(Attempts)


@lru_cache
def _owners() -> TypeAdapter[Owner]:
    return TypeAdapter(Owner)
