"""TrainJob, one training run: what a user writes and the status it gets.

Fields of reference behaviour 1.1 to 1.3 (API v2.3.0). Limits and rules are in the
published schema, which schema.py checks; defaults are not filled in here: an unset field is None.
"""

from typing import ClassVar

from pydantic import StrictBool, StrictInt

from trainer_infra.api.base import Kind, KubeModel
from trainer_infra.json_values import JSONDict
from trainer_infra.names import CLUSTER_TRAINING_RUNTIME, GROUP, TRAIN_JOB


class RuntimeRef(KubeModel):
    """Which runtime a TrainJob runs on."""

    name: str
    """Name of the runtime, 1 to 253 characters."""
    api_group: str | None = None
    """API group of the runtime; None means `trainer.kubeflow.org`."""
    kind: str | None = None
    """Kind of the runtime; None means ClusterTrainingRuntime."""

    @property
    def named(self) -> tuple[str, str, str]:
        """API group, kind and name of the runtime, with the defaults that the API server sets."""
        return (self.api_group or GROUP, self.kind or CLUSTER_TRAINING_RUNTIME, self.name)


class _Download(KubeModel):
    storage_uri: str | None = None
    """Where it is, `<scheme>://...`; empty or None when env says it."""
    env: tuple[JSONDict, ...] | None = None
    """EnvVar objects for the initializer container, at most 128."""
    secret_ref: JSONDict | None = None
    """LocalObjectReference to a Secret with access data."""


class DatasetInitializer(_Download):
    """Downloads a dataset before training starts."""


class ModelInitializer(_Download):
    """Downloads a model before training starts."""


class Initializer(KubeModel):
    """What is downloaded before training starts."""

    dataset: DatasetInitializer | None = None
    """The dataset; None for no dataset initializer."""
    model: ModelInitializer | None = None
    """The model; None for no model initializer."""


class Trainer(KubeModel):
    """What differs from the runtime's own trainer container."""

    image: str | None = None
    """Container image, at most 500 characters."""
    command: tuple[str, ...] | None = None
    """Entrypoint, at most 128 items."""
    args: tuple[str, ...] | None = None
    """Arguments of the entrypoint, at most 128 items."""
    env: tuple[JSONDict, ...] | None = None
    """EnvVar objects, merged by name over the runtime's; at most 128."""
    num_nodes: StrictInt | None = None
    """Training nodes; None takes the runtime's number."""
    resources_per_node: JSONDict | None = None
    """ResourceRequirements of the trainer container, as written (quantities stay as they are)."""
    num_proc_per_node: StrictInt | None = None
    """Processes per node; None takes the runtime's number."""


class RuntimePatch(KubeModel):
    """One manager's changes to the runtime, merged strategically into its JobSet template."""

    manager: str
    """Who made the patch; key of the list, 1 to 253 characters."""
    time: str | None = None
    """RFC 3339 time of the last change, stamped by the API server's webhook."""
    training_runtime_spec: JSONDict | None = None
    """The patch, as written: `template.metadata` and `template.spec.replicatedJobs`."""


class TrainJobSpec(KubeModel):
    """What is to be trained, and on which runtime."""

    runtime_ref: RuntimeRef
    """The runtime; cannot be changed later."""
    initializer: Initializer | None = None
    """Downloads before training."""
    trainer: Trainer | None = None
    """Changes to the runtime's trainer container."""
    runtime_patches: tuple[RuntimePatch, ...] | None = None
    """Patches in the order in which they are merged, at most 16, one per manager."""
    suspend: StrictBool | None = None
    """True holds the job back or stops its pods; None means False."""
    active_deadline_seconds: StrictInt | None = None
    """Seconds from start (or resume) until the job fails; at least 1."""
    managed_by: str | None = None
    """Which controller reconciles it; None means Trainer's own."""


class Condition(KubeModel):
    """One condition of a TrainJob; types are Suspended, Complete and Failed."""

    type: str
    """What is true or not, for example `Complete`."""
    status: str
    """`True`, `False` or `Unknown`."""
    reason: str
    """One word in CamelCase that says why."""
    message: str
    """A sentence that says why."""
    last_transition_time: str
    """RFC 3339 time at which `status` last changed."""
    observed_generation: StrictInt | None = None
    """Generation of the spec that was judged."""


class JobStatus(KubeModel):
    """Counts of one replicated job's Jobs."""

    name: str
    """Name of the replicated job."""
    ready: StrictInt
    """Jobs whose pods are all ready or done."""
    succeeded: StrictInt
    """Jobs that completed."""
    failed: StrictInt
    """Jobs that failed."""
    active: StrictInt
    """Jobs with a pod that is pending or running."""
    suspended: StrictInt
    """Jobs held back."""


class Metric(KubeModel):
    """One number that the training reported."""

    name: str
    """Name of the metric, 1 to 64 characters."""
    value: str
    """Its value as text, 1 to 64 characters."""


class TrainerStatus(KubeModel):
    """What the training itself reported."""

    progress_percentage: StrictInt | None = None
    """0 to 100."""
    estimated_remaining_seconds: StrictInt | None = None
    """Seconds until completion, as the training estimates."""
    metrics: tuple[Metric, ...] | None = None
    """Metrics as last reported, at most 256."""
    last_updated_time: str | None = None
    """RFC 3339 time of the report; required whenever there is a trainer status."""


class TrainJobStatus(KubeModel):
    """What was observed of a TrainJob."""

    conditions: tuple[Condition, ...] | None = None
    """At most 8, one per type."""
    jobs_status: tuple[JobStatus, ...] | None = None
    """One per replicated job."""
    trainer_status: TrainerStatus | None = None
    """The training's own report."""


class TrainJob(Kind):
    """One training run."""

    schema_name: ClassVar[str] = TRAIN_JOB

    kind: str = TRAIN_JOB
    """Always `TrainJob`."""
    spec: TrainJobSpec
    """What is to be trained."""
    status: TrainJobStatus | None = None
    """What was observed; None for a new job."""
