"""TrainingRuntime and ClusterTrainingRuntime: the blueprint that TrainJobs run on.

Fields of reference behaviour 1.4 (API v2.3.0). The two kinds differ in scope only.
The JobSetSpec inside `template.spec` stays plain JSON: render merges into it, and schema.py
checks it against JobSet's published schema.
"""

from typing import ClassVar

from pydantic import StrictBool, StrictInt

from trainer_infra.api.base import Kind, KubeModel, ObjectMeta
from trainer_infra.json_values import JSONDict
from trainer_infra.names import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME


class EnvInjectionTarget(KubeModel):
    """Further containers of one replicated job that get torch's PET_* variables."""

    job_name: str
    """Name of the replicated job; key of the list."""
    container_names: tuple[str, ...]
    """1 to 8 containers, without `node`, which always gets them."""


class EnvInjection(KubeModel):
    """Which containers besides the trainer's get torch's PET_* variables."""

    targets: tuple[EnvInjectionTarget, ...] | None = None
    """At most 16, one per replicated job."""


class Torch(KubeModel):
    """PyTorch with torchrun; may be empty."""

    env_injection: EnvInjection | None = None
    """Further containers that get the variables."""


class MPI(KubeModel):
    """MPI: a launcher that starts processes on the nodes over SSH."""

    num_proc_per_node: StrictInt | None = None
    """Slots per node; None means 1."""
    mpi_implementation: str | None = None
    """`OpenMPI` or empty; None means `OpenMPI`."""
    ssh_auth_mount_path: str | None = None
    """Folder of the SSH keys; None means `/root/.ssh`."""
    run_launcher_as_node: StrictBool | None = None
    """Whether the launcher trains too; None means False."""


class JAX(KubeModel):
    """JAX with its own coordinator; has no fields."""


class XGBoost(KubeModel):
    """XGBoost with its tracker; has no fields."""


class Flux(KubeModel):
    """Flux, the HPC scheduler, inside the job."""

    num_proc_per_node: StrictInt | None = None
    """Processes per node, at least 1; None means 1."""


class MLPolicy(KubeModel):
    """How the framework runs distributed; at most one of the frameworks may be set."""

    num_nodes: StrictInt | None = None
    """Training nodes unless the TrainJob says otherwise; None means 1."""
    torch: Torch | None = None
    """PyTorch."""
    mpi: MPI | None = None
    """MPI."""
    jax: JAX | None = None
    """JAX."""
    xgboost: XGBoost | None = None
    """XGBoost."""
    flux: Flux | None = None
    """Flux."""


class Coscheduling(KubeModel):
    """Gang scheduling by the coscheduling plugin."""

    schedule_timeout_seconds: StrictInt | None = None
    """Seconds that the gang may wait; None means 60."""


class NetworkTopology(KubeModel):
    """How close together Volcano places the gang."""

    mode: str | None = None
    """`hard` or `soft`; None means `hard`."""
    highest_tier_allowed: StrictInt | None = None
    """Highest network tier that pods may span; None means 1."""


class Volcano(KubeModel):
    """Gang scheduling by Volcano; may be empty."""

    network_topology: NetworkTopology | None = None
    """Placement by network distance."""


class PodGroupPolicy(KubeModel):
    """Which scheduler places all pods at once or none; only one may be set."""

    coscheduling: Coscheduling | None = None
    """The coscheduling plugin."""
    volcano: Volcano | None = None
    """Volcano."""


class JobSetTemplate(KubeModel):
    """The JobSet that a TrainJob on this runtime becomes."""

    metadata: ObjectMeta | None = None
    """Labels and annotations of the JobSet; its name is always the TrainJob's."""
    spec: JSONDict | None = None
    """A JobSetSpec (JobSet v0.12), as written."""


class TrainingRuntimeSpec(KubeModel):
    """What a runtime consists of; at least one field is set."""

    ml_policy: MLPolicy | None = None
    """The framework and its number of nodes."""
    pod_group_policy: PodGroupPolicy | None = None
    """Gang scheduling; None for none."""
    template: JobSetTemplate | None = None
    """The JobSet."""


class TrainingRuntime(Kind):
    """A runtime for the TrainJobs of one namespace."""

    schema_name: ClassVar[str] = TRAINING_RUNTIME

    kind: str = TRAINING_RUNTIME
    """Always `TrainingRuntime`."""
    spec: TrainingRuntimeSpec
    """What the runtime consists of."""


class ClusterTrainingRuntime(Kind):
    """A runtime for the TrainJobs of all namespaces."""

    schema_name: ClassVar[str] = CLUSTER_TRAINING_RUNTIME

    kind: str = CLUSTER_TRAINING_RUNTIME
    """Always `ClusterTrainingRuntime`."""
    spec: TrainingRuntimeSpec
    """What the runtime consists of."""


Runtime = TrainingRuntime | ClusterTrainingRuntime
"""Either kind of runtime; the renderer treats them alike."""
