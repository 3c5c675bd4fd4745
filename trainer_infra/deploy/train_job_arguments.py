"""The arguments of a TrainJob as a user gives them -> spec, code and secretData in wire form.

Values of Secret go to secretData, references to the job's own Secret stay in their place
(`secret_door`). Pure but for reading the user's source.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, Required, Self, TypeAlias, TypedDict

from trainer_infra import names
from trainer_infra.api.checkpoint import Checkpoint, checkpoint_problems
from trainer_infra.api.finding import path_text
from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.api.secret import Secret
from trainer_infra.deploy import secret_door
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import InvalidInput, Problem, independent
from trainer_infra.json_values import JSONObject, json_leaves
from trainer_infra.trainers import checkpoints
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.pods import env_and_args
from trainer_infra.trainers.trainer import PACKABLE, PackableTrainer, PackedTrainer, is_trainer

if TYPE_CHECKING:
    from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
    from trainer_infra.api.wire_types.runtime_patch import RuntimePatchArgs
    from trainer_infra.api.wire_types.train_job import InitializerArgs, TrainerArgs
    from trainer_infra.catalog.runtime_names import RuntimeName
    from trainer_infra.deploy.resource_type import RuntimeResource
    from trainer_infra.trainers.kubeflow_sdk.sdk_type import (
        SdkInitializer,
        SdkOption,
        SdkRuntime,
        SdkTrainer,
    )

    AnyRuntime: TypeAlias = (
        Input[RuntimeName | str]
        | Input[Mapping[str, Any]]
        | TrainingRuntime
        | ClusterTrainingRuntime
        | RuntimeResource
        | SdkRuntime
    )
    """What a TrainJob takes as its runtime."""

Labels: TypeAlias = Input[Mapping[str, Input[str]] | None]
"""Labels or annotations."""
Outputs: TypeAlias = Sequence[Input[str]] | Mapping[str, Input[str] | None]
"""Names of what a run leaves behind, or names with where each is kept."""
WaitFor: TypeAlias = Literal["running", "complete"]
"""What a gate can wait for."""


class TrainJobArgs(TypedDict, total=False):
    """Arguments of a run: keywords of TrainJob, and the mapping of one member of TrainJobs."""

    runtime: Required["AnyRuntime"]
    """Name of a runtime of the catalog, or a runtime: a resource, typed, or in wire form."""
    trainer: "PackableTrainer | SdkTrainer | Input[TrainerArgs | None]"
    """A CustomTrainer or another trainer, one of the kubeflow SDK, or spec.trainer in wire form: a mapping with
    the names of its YAML."""
    initializer: "SdkInitializer | Input[InitializerArgs | None]"
    """spec.initializer in wire form, whose env values may be Secret; or an Initializer of the kubeflow SDK."""
    options: "Sequence[SdkOption] | None"
    """Options of the kubeflow SDK, such as `Labels` or `RuntimePatch`."""
    runtime_patches: "Input[Sequence[Input[RuntimePatchArgs]] | None]"
    """spec.runtimePatches in wire form."""
    suspend: Input[bool | None]
    """True holds the run back, or stops it in place."""
    active_deadline_seconds: Input[int | None]
    """Seconds of running after which the run fails."""
    name: Input[str | None]
    """Name of the run; a change of content then deletes the old run first. Without it
    `<resource>-<8 hex of stack and content>`, of TrainJobs `<resource>-<member>-<8 hex>`."""
    namespace: Input[str]
    """Namespace of the run; without it the stack's (`trainer:namespace`), else `default`."""
    labels: Labels
    """Labels of the TrainJob."""
    annotations: Labels
    """Annotations of the TrainJob."""
    checkpoint: Checkpoint | None
    """Where and when the program saves its state, and from what it resumes: `trainer_infra.checkpoint`."""
    outputs: Input[Outputs | None]
    """Names of what the run leaves behind, or names with where each is kept: `pvc://CLAIM/PATH`, or
    a URI; see `trainer_infra.storage`. Kept when the run is gone."""
    attempt: Input[int]
    """A higher number runs the same content again; 1 without it."""
    adopt: Input[bool]
    """True takes over a run of this name that another resource declared."""
    delete_timeout: Input[float]
    """Seconds that a delete waits for the processes to end; 60 without it."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a TrainJob that make its spec, as they were given: of any type."""

    runtime: Any
    trainer: Any = None
    initializer: Any = None
    runtime_patches: Any = None
    suspend: Any = None
    active_deadline_seconds: Any = None
    labels: Any = None
    annotations: Any = None
    checkpoint: Any = None

    def as_mapping(self) -> dict[str, Any]:
        """The arguments as plain structures, a trainer as its own arguments."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if is_trainer(self.trainer):
            # Those that its constructor does not take, it computes itself.
            own = [each.name for each in fields(self.trainer) if each.init]
            values["trainer"] = {PACKABLE: {each: getattr(self.trainer, each) for each in own}}
        if isinstance(self.checkpoint, Checkpoint):
            values["checkpoint"] = self.checkpoint.as_mapping()
        return values

    def with_values(self, values: JSONObject) -> Self:
        """The same kind of trainer with the values of an `as_mapping`, in which Outputs are open now.

        Raises:
            InvalidInput: The trainer cannot be made of its fields.
        """
        if not is_trainer(self.trainer):
            return replace(self, **values)
        kind, own = type(self.trainer), values["trainer"][PACKABLE]
        try:
            signature(kind).bind(**own)
        except TypeError as error:
            what = f"{kind.__name__} cannot be made anew of its fields: {error}"
            fix = "make it a dataclass without an __init__ of its own"
            raise InvalidInput([Problem("trainer", what, fix=fix, independent=True)]) from None
        return replace(self, **{**values, "trainer": kind(**own)})


def to_inputs(job: Arguments) -> dict[str, Any]:
    """`runtime`, `spec`, `code`, `labels`, `annotations` and `secretData` in wire form.

    Raises:
        InvalidInput: holds every problem of the code and of values of secrets.
    """
    if misshapen := tuple(independent(_misshapen(job))):
        raise InvalidInput(misshapen)
    secrets: dict[str, Any] = {}
    code: JSONObject | None = None
    unfit = [*_unfit(_wire(job.initializer), "initializer"), *_unfit_checkpoint(job.checkpoint)]
    if is_trainer(job.trainer):
        packed = _packed(job.trainer, [*unfit, *_unfit_runtime(job)])
        trainer: Any = packed.trainer
        code = packed.code.to_wire() if packed.code else None
        secrets |= packed.secret_data
    else:
        unfit += _unfit(_wire(job.trainer), "trainer")
        trainer = secret_door.without_secrets(_wire(job.trainer), "trainer", secrets)
    if job.checkpoint is not None and not unfit and not is_stand_in(trainer):
        env = [*((trainer or {}).get("env") or ()), checkpoints.variable_of(job.checkpoint)]
        trainer = {**(trainer or {}), "env": env}
    spec: dict[str, Any] = {
        "runtimeRef": runtime_ref(job.runtime),
        "initializer": secret_door.without_secrets(_wire(job.initializer), "initializer", secrets),
        "trainer": trainer,
        "runtimePatches": None if job.runtime_patches is None else _wire(list(job.runtime_patches)),
        "suspend": as_python(job.suspend),
        "activeDeadlineSeconds": as_python(job.active_deadline_seconds),
    }
    spec = {key: value for key, value in spec.items() if value is not None}
    metadata = {"labels": job.labels, "annotations": job.annotations}
    if unfit:
        raise InvalidInput(unfit)
    runtime = None if isinstance(job.runtime, str) else job.runtime
    return {"runtime": runtime, "spec": spec, "code": code, **metadata, "secretData": secrets}


def _unfit_checkpoint(given: Any) -> Iterator[Problem]:
    if given is not None:
        found = checkpoint_problems(as_python(given))
        yield from independent(each for each in found if not is_unknown(each.got))


def _packed(trainer: PackableTrainer, unfit: Sequence[Problem]) -> PackedTrainer:
    """What a trainer becomes; with the problems of other arguments where it cannot."""
    kind = type(trainer).__name__
    try:
        packed = trainer.pack()
    except InvalidInput as error:
        fix = "give the InvalidInput that its pack raises its problems"
        reason = error.problems or [
            Problem("trainer", f"{kind} refuses it without a reason", fix=fix)
        ]
        given = [getattr(trainer, each.name) for each in fields(trainer)]
        found = reason if is_unknown(given) else independent(reason)
        raise InvalidInput((*unfit, *found)) from None
    if problems := [*unfit, *_mispacked(packed, kind)]:
        raise InvalidInput(problems)
    return packed


def _mispacked(packed: object, kind: str) -> Iterator[Problem]:
    if not isinstance(packed, PackedTrainer):
        what = f"pack of {kind} must return a PackedTrainer, not {type(packed).__name__}"
        fix = "return PackedTrainer(code, trainer, secret_data), or a PackedProgram"
        yield Problem("trainer", what, fix=fix, independent=True)


def _unfit_runtime(job: Arguments) -> Iterator[Problem]:
    """Why a runtime is none for a trainer of the kubeflow SDK."""
    trainer_type = getattr(job.trainer, "trainer_type", "")
    if trainer_type:
        # A program without the SDK's types does not need it.
        from trainer_infra.trainers.kubeflow_sdk import runtime  # noqa: PLC0415

        yield from runtime.runtime_problems(trainer_type, job.runtime)


def _misshapen(job: Arguments) -> Iterator[Problem]:
    """Arguments that are of another kind than they can be."""
    if job.runtime is None:
        what = "is required: it says on what to train"
        yield Problem(
            "runtime", what, fix='name one of the catalog, for example "torch-distributed"'
        )
    elif not _is_a(job.runtime, str | Mapping):
        fix = "give the name of one of the catalog, a runtime resource, or a runtime in wire form"
        yield Problem("runtime", "must be a runtime or its name", got=job.runtime, fix=fix)
    if job.trainer is not None and not (is_trainer(job.trainer) or _is_a(job.trainer, Mapping)):
        what = "must be a trainer, such as CustomTrainer, or spec.trainer in wire form"
        yield Problem("trainer", what, got=job.trainer, fix=_trainer_meant(job.trainer))
    if job.initializer is not None and not _is_a(job.initializer, Mapping):
        what, fix = "must be spec.initializer in wire form", ""
        if isinstance(job.initializer, str) and "://" in job.initializer:
            place = f'{{"storageUri": "{job.initializer}"}}'
            fix = f'write {{"model": {place}}}, or the same as "dataset"'
        yield Problem("initializer", what, got=job.initializer, fix=fix)
    if not isinstance(job.runtime_patches, list | tuple | None):
        what = "must be a list of patches in wire form"
        yield Problem("runtime_patches", what, got=job.runtime_patches)


def _trainer_meant(given: Any) -> str:
    """What to write for something that is not a trainer; empty where that is not known."""
    if isinstance(given, type):
        # A trainer's own class, also one of the kubeflow SDK.
        return f"write trainer={given.__name__}(...)" if is_dataclass(given) else ""
    if isinstance(given, str) or callable(given):
        return f"write trainer=CustomTrainer({getattr(given, '__name__', repr(given))})"
    return ""


def _is_a(value: Any, kinds: Any) -> bool:
    """Whether a value is of these kinds, or a typed kind of the API."""
    return isinstance(value, kinds) or hasattr(type(value), "to_wire")


def runtime_ref(runtime: Any) -> dict[str, str]:
    """spec.runtimeRef of a runtime given by name, typed, or in wire form."""
    if isinstance(runtime, str):
        return {"name": runtime}
    wire = runtime if isinstance(runtime, Mapping) else runtime.to_wire()
    name = (wire.get("metadata") or {}).get("name", "")
    return {"name": name, "kind": wire.get("kind", names.CLUSTER_TRAINING_RUNTIME)}


def _wire(value: Any) -> Any:
    """A typed kind in wire form; the type is not named, so that programs need not load it."""
    return as_python(value.to_wire() if hasattr(value, "to_wire") else value)


def _unfit(value: Any, path: str) -> Iterator[Problem]:
    """Secret variables whose value is not a text."""
    for place, leaf in json_leaves(value):
        if isinstance(leaf, Secret):
            at = path_text(("spec", path, *place))
            yield from independent(env_and_args.secret_problems(at, leaf))
