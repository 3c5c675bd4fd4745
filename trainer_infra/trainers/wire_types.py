"""What a type checker knows of `trainer`, `initializer` and `runtime_patches` in wire form.

The fields are those of the typed kinds of `api.trainjob`, under their names on the wire; a test
holds the two equal. At run time these are plain dicts, which the provider's check judges. Values may
be Outputs (`input`); what Kubernetes defines stays `Any`, its schema is checked at preview.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict

from trainer_infra.trainers.input import Input
from trainer_infra.trainers.secret import Secret


class EnvVarArgs(TypedDict, total=False):
    """One env variable of a container, of a trainer or an initializer."""

    name: Required[Input[str]]
    """Its name."""
    value: Input[str] | Secret
    """Its text; a Secret travels apart."""
    valueFrom: Input[Mapping[str, Any]]
    """Where Kubernetes takes it from, as in a pod."""


class TrainerArgs(TypedDict, total=False):
    """spec.trainer of a TrainJob."""

    image: Input[str]
    """Container image, at most 500 characters."""
    command: Input[Sequence[Input[str]]]
    """Entrypoint, at most 128 items."""
    args: Input[Sequence[Input[str]]]
    """Arguments of the entrypoint, at most 128 items."""
    env: Input[Sequence[Input[EnvVarArgs]]]
    """Env variables, merged by name over the runtime's; at most 128."""
    numNodes: Input[int]
    """Training nodes; the runtime's number without it."""
    resourcesPerNode: Input[Mapping[str, Any]]
    """ResourceRequirements of the trainer container: `requests`, `limits` and `claims`."""
    numProcPerNode: Input[int]
    """Processes per node; the runtime's number without it."""


class DatasetInitializerArgs(TypedDict, total=False):
    """spec.initializer.dataset of a TrainJob."""

    storageUri: Input[str]
    """Where it is, `<scheme>://...`; empty when env says it."""
    env: Input[Sequence[Input[EnvVarArgs]]]
    """Env variables of the initializer's container, at most 128."""
    secretRef: Input[Mapping[str, Any]]
    """LocalObjectReference to a Secret with access data."""


class ModelInitializerArgs(TypedDict, total=False):
    """spec.initializer.model of a TrainJob."""

    storageUri: Input[str]
    """Where it is, `<scheme>://...`; empty when env says it."""
    env: Input[Sequence[Input[EnvVarArgs]]]
    """Env variables of the initializer's container, at most 128."""
    secretRef: Input[Mapping[str, Any]]
    """LocalObjectReference to a Secret with access data."""


class InitializerArgs(TypedDict, total=False):
    """spec.initializer of a TrainJob."""

    dataset: Input[DatasetInitializerArgs]
    """The dataset; without it there is no dataset initializer."""
    model: Input[ModelInitializerArgs]
    """The model; without it there is no model initializer."""


class RuntimePatchArgs(TypedDict, total=False):
    """One item of spec.runtimePatches of a TrainJob."""

    manager: Required[Input[str]]
    """Who made the patch; no two of one TrainJob have the same."""
    time: Input[str]
    """RFC 3339 time of the last change; an API server's webhook writes it."""
    trainingRuntimeSpec: Input[Mapping[str, Any]]
    """The patch: `template.metadata` and `template.spec.replicatedJobs`."""
