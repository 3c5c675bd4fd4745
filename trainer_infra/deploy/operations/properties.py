"""Properties of our resources as typed values: what a program gave, and what the state keeps. Pure.

The engine's JSON is read here; its keys are an API (design "Names that are an API"). A value keeps
the JSON that it was read from, so that what an earlier or a later release wrote is not lost on the
way back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import Owner, RunKey, owner_from_json
from trainer_infra.trainers import checkpoints
from trainer_infra.trainers.code import Code

DELETE_TIMEOUT: Final = 60.0
"""Seconds that a delete waits where the program does not say."""


def urn_place(urn: str) -> tuple[str, str]:
    """Stack and project of a URN, `urn:pulumi:STACK::PROJECT::TYPES::NAME`."""
    head, project, *_ = urn.split("::")
    return head.rpartition(":")[2], project


@dataclass(frozen=True, slots=True)
class ResourceProperties:
    """Inputs of a resource, or its state."""

    json: JSONObject

    @property
    def name(self) -> str:
        """Of the object; empty in inputs of a TrainJob whose run is named by its content."""
        return str(self.json.get("name") or "")

    @property
    def namespace(self) -> str:
        """Of the object; empty for one of the whole cluster."""
        return str(self.json.get("namespace") or "")

    @property
    def host(self) -> str:
        """Of a state: which machine or cluster has the object."""
        return str(self.json["host"])

    @property
    def uid(self) -> str:
        """Of a state: the object's; empty where none was made."""
        return str(self.json.get("uid") or "")

    @property
    def owner(self) -> Owner:
        """Who declares the object."""
        return owner_from_json(self.json["owner"])

    @property
    def urn(self) -> str:
        """Of the resource that messages are about: its own, or of a gate the gate's."""
        return str(self.json["urn"] if "urn" in self.json else self.json["owner"]["urn"])

    @property
    def resource(self) -> str:
        """The Pulumi resource's name."""
        return str(self.json["resource"])

    @property
    def has_gate(self) -> bool:
        """Whether another resource waits for its runs."""
        return bool(self.json.get("waitFor"))

    @property
    def target(self) -> str:
        """`local` or `kubernetes`."""
        return str(self.json["target"])

    @property
    def engine(self) -> str:
        """Of a run in a cluster: what drives it; earlier releases knew one and did not say it."""
        return str(self.json.get("engine") or "provider")

    @property
    def has_run(self) -> bool:
        """Of a state: whether a run was made."""
        return "uid" in self.json

    @property
    def key(self) -> RunKey:
        """Of a state: what finds its run again."""
        owner = self.owner if "owner" in self.json else None
        return RunKey(self.namespace, self.name, str(self.json["uid"]), owner)

    @property
    def keys(self) -> tuple[RunKey, ...]:
        """Of a state: those of all runs that it has."""
        return (self.key,)

    @property
    def shown(self) -> str:
        """The resource as a sentence names it."""
        return f"TrainJob {self.name}"

    @property
    def spec(self) -> JSONObject:
        """Of the object."""
        return self.json.get("spec") or {}

    @property
    def plugins(self) -> tuple[str, ...]:
        """Plugins of other packages, as `module:name`."""
        return tuple(self.json.get("plugins") or ())

    @property
    def adopts(self) -> bool:
        """Whether it takes over an object of its name."""
        return bool(self.json.get("adopt"))

    @property
    def drift(self) -> JSONObject:
        """Of a state: fields that another writer changed."""
        return self.json.get("drift") or {}

    def seen(self, drift: JSONObject, **observed: Any) -> dict[str, Any]:
        """The state once the object was looked at: what was observed of it, and its drift."""
        kept = {key: each for key, each in self.json.items() if key != "drift"}
        return kept | observed | ({"drift": dict(drift)} if drift else {})

    def wire_object(self, kind: str) -> dict[str, Any]:
        """The object as a manifest would have it."""
        keys = ("name", "namespace", "labels", "annotations")
        return {
            "apiVersion": names.API_VERSION,
            "kind": kind,
            "metadata": {key: self.json[key] for key in keys if self.json.get(key)},
            "spec": self.spec,
        }


class RuntimeProperties(ResourceProperties):
    """A TrainingRuntime or ClusterTrainingRuntime resource."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """Which of the two it is."""
        return str(self.json["kind"])

    @property
    def wire(self) -> dict[str, Any]:
        """The runtime as a manifest would have it."""
        return self.wire_object(self.kind)

    @property
    @override
    def shown(self) -> str:
        return f"{self.kind} {self.name}"


class TrainJobProperties(ResourceProperties):
    """A TrainJob resource, or a member of a batch."""

    __slots__ = ()

    def with_values(self, **values: Any) -> "TrainJobProperties":
        """The properties with other values, by their keys in JSON."""
        return TrainJobProperties({**self.json, **values})

    @property
    def is_suspended(self) -> bool:
        """Whether the spec suspends it."""
        return bool(self.spec.get("suspend"))

    @property
    def annotations(self) -> JSONObject:
        """Of the TrainJob."""
        return self.json.get("annotations") or {}

    @property
    def runtime(self) -> JSONObject | None:
        """The runtime in wire form; None in inputs that name one of the catalog."""
        return self.json.get("runtime")

    @property
    def has_runtime_of_program(self) -> bool:
        """Whether the runtime stands in the program, and is not another resource."""
        return self.runtime is not None and not self.json.get("runtimeResource")

    @property
    def code(self) -> Code | None:
        """What the trainer packed; None where the job brings its own command."""
        return Code.from_wire(self.json["code"]) if self.json.get("code") else None

    @property
    def controller(self) -> str:
        """Of engine `controller`: which one renders it; earlier releases knew one and did not say it."""
        return str(self.json.get("controller") or names.UPSTREAM)

    @property
    def packages(self) -> tuple[str, ...]:
        """Requirements of the code."""
        return tuple((self.json.get("code") or {}).get("packages") or ())

    @property
    def packages_at(self) -> str | None:
        """Address of the packages' cache, empty for one of each pod; None where pods install none."""
        code = self.code
        if code is None or self.target == names.TARGET_LOCAL:
            return None
        return code.packages_at or str(self.json.get("packagesAt") or "")

    @property
    def secret_data(self) -> Mapping[str, str]:
        """Values of the run's own Secret."""
        return self.json.get("secretData") or {}

    @property
    def outputs(self) -> Any:
        """Addresses by name of an output; in inputs whatever the program gave."""
        return self.json.get("outputs") or {}

    @property
    def attempt(self) -> Any:
        """Which try of the same content it is, from 1; in inputs whatever the program gave."""
        return self.json.get("attempt", 1)

    @property
    def delete_timeout(self) -> float:
        """Seconds that a delete waits; longer, where the program says none, than pods take to save a checkpoint."""
        said = checkpoint.said_of(checkpoints.variable_text(self.spec.get("trainer") or {})) or {}
        save = said.get("save_seconds")
        saving = save + 2 * checkpoint.MARGIN if isinstance(save, int) else 0
        return float(self.json.get("deleteTimeout", max(DELETE_TIMEOUT, saving)))

    @property
    def is_held(self) -> bool:
        """Whether the gate of its batch starts it when it is its turn."""
        return bool(self.json.get("maxParallel"))

    @property
    def rendered(self) -> Mapping[str, JSONObject]:
        """The objects of the run by their role, as a check filled them in."""
        objects: Mapping[str, JSONObject] = self.json["rendered"]
        return objects
