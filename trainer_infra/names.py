"""Every fixed string that a cluster or a user can see: labels, env names, reasons, messages.

Rooms read these instead of spelling them. Sources: reference behaviour 1.3, 3, 4.1
and 6; names that are our own: design "Names that are an API".
"""

from typing import Final

GROUP: Final = "trainer.kubeflow.org"
API_VERSION: Final = "trainer.kubeflow.org/v1alpha1"
JOBSET_API_VERSION: Final = "jobset.x-k8s.io/v1alpha2"
JOBSET: Final = "JobSet"

TRAIN_JOB: Final = "TrainJob"
TRAINING_RUNTIME: Final = "TrainingRuntime"
CLUSTER_TRAINING_RUNTIME: Final = "ClusterTrainingRuntime"
RUNTIMES: Final = frozenset((TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME))
DEFAULT_NAMESPACE: Final = "default"
"""Where an object is that names no namespace."""
WITH_PODS: Final = RUNTIMES | {TRAIN_JOB, JOBSET}
"""Kinds in which pods are written, or which render to some."""

MANAGED_BY: Final = "trainer.kubeflow.org/trainjob-controller"

# Labels and annotations of the reference (reference behaviour 4.1) and of JobSet.
ANCESTOR_LABEL: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
RESOURCE_IN_USE: Final = "trainer.kubeflow.org/resource-in-use"
"""A runtime's finalizer, of Kubeflow Trainer before 2.3."""
FRAMEWORK_LABEL: Final = "trainer.kubeflow.org/framework"
SUPPORT_LABEL: Final = "trainer.kubeflow.org/support"
SUPPORT_DEPRECATED: Final = "deprecated"
DEPRECATION_POLICY: Final = (
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
)
WEBHOOK_VALIDATION_LABEL: Final = "trainer.kubeflow.org/webhook-validation"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
COMPLETION_INDEX_FIELD: Final = f"metadata.annotations['{COMPLETION_INDEX}']"
JOBSET_NAME_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX_LABEL: Final = "jobset.sigs.k8s.io/job-index"
RESTART_ATTEMPT_LABEL: Final = "jobset.sigs.k8s.io/restart-attempt"
JOBSET_UID_LABEL: Final = "jobset.sigs.k8s.io/jobset-uid"
REPLICATED_JOB_REPLICAS_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-replicas"
GLOBAL_REPLICAS_LABEL: Final = "jobset.sigs.k8s.io/global-replicas"
JOB_GLOBAL_INDEX_LABEL: Final = "jobset.sigs.k8s.io/job-global-index"
JOB_KEY_LABEL: Final = "jobset.sigs.k8s.io/job-key"
GROUP_NAME_LABEL: Final = "jobset.sigs.k8s.io/group-name"
GROUP_REPLICAS_LABEL: Final = "jobset.sigs.k8s.io/group-replicas"
JOB_GROUP_INDEX_LABEL: Final = "jobset.sigs.k8s.io/job-group-index"
COORDINATOR_LABEL: Final = "jobset.sigs.k8s.io/coordinator"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
JOB_NAME_OLD_LABEL: Final = "job-name"
JOB_COMPLETION_INDEX: Final = "JOB_COMPLETION_INDEX"  # env name that the Job controller adds

# Node labels that say which accelerators a machine has (GPU feature discovery, GKE, Karpenter).
ACCELERATOR_LABELS: Final = (
    "nvidia.com/gpu.product",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
RESOURCE_QUOTA: Final = "ResourceQuota"
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  of a pod, not of this machine

# Our own annotations of a TrainJob or its runtime, for what the API has no field for.
OUTPUTS: Final = "trainer-infra.dev/outputs"
"""JSON: the name of each output of a run to where it is kept."""
STORED_CODE: Final = "trainer-infra.dev/stored-code"
"""JSON: the `address` of a job's code in a store, the `secret` with the variables for it, and the `image` that fetches it."""
CODE_ORIGIN: Final = "trainer-infra.dev/code-origin"
"""The git reference that a job's code is from, with the commit."""
ARGUMENTS: Final = "trainer-infra.dev/arguments"
"""JSON: the arguments that a job's function was `given` and those that it has by `defaults`; none that are secret."""
PACKAGES: Final = "trainer-infra.dev/packages"
"""JSON: a job's packages with their versions."""
TTL_SECONDS: Final = "trainer-infra.dev/ttl-seconds-after-finished"
WAITING: Final = "trainer-infra.dev/waiting"
"""Why a TrainJob does not go on, in a sentence; the controller writes it, and takes it away."""
EARLY_ENDS: Final = "trainer-infra.dev/early-ends"
"""JSON: pods of a TrainJob that were told to end and ended with 0, as the controller saw them go."""

# Labels of the runtimes that a RuntimeCatalog keeps in a cluster.
CONTENT_LABEL: Final = "trainer-infra.dev/content"
"""Eight hex digits of what the runtime contains."""
CATALOG_LABEL: Final = "trainer-infra.dev/catalog"
"""Which catalog of which stack keeps it."""
VERSION_OF_LABEL: Final = "trainer-infra.dev/version-of"
"""Of a frozen copy: the runtime that it is a copy of."""
DEPRECATED_LABEL: Final = "trainer-infra.dev/deprecated"
"""`true` of a runtime that is no longer in the program, and stays for the jobs that name it."""

# Types of our resources in Pulumi, and what releases before 0.2 called them.
RESOURCE_TYPE: Final = "pulumi-python:trainer:"
OLDER_RESOURCE_TYPE: Final = "pulumi-python:dynamic/trainer:"
SHORT_TYPES: Final = {
    "TrainJobResult": "Result",
    "TrainJobsResult": "Results",
    "TrainingRuntime": "Runtime",
    "ClusterTrainingRuntime": "ClusterRuntime",
}
"""Classes whose type has another name than they; the older types had the class's."""

# The managers of our own runtime patches.
CODE_MANAGER: Final = "trainer.kubeflow.org/trainer-infra"
OUTPUTS_MANAGER: Final = "trainer-infra.dev/outputs"
CLAIMS_MANAGER: Final = "trainer-infra.dev/initializer-claims"
ADAPTER_MANAGER: Final = "trainer-infra.dev/adapter"

# Replicated jobs and containers with a meaning (reference behaviour 4.1).
NODE: Final = "node"
LAUNCHER: Final = "launcher"
TRAINER: Final = "trainer"
DATASET_INITIALIZER: Final = "dataset-initializer"
MODEL_INITIALIZER: Final = "model-initializer"
INITIALIZER_VOLUME: Final = "initializer"

# Env names that plugins write (reference behaviour 3).
PET_NNODES: Final = "PET_NNODES"
PET_NPROC_PER_NODE: Final = "PET_NPROC_PER_NODE"
PET_NODE_RANK: Final = "PET_NODE_RANK"
PET_MASTER_ADDR: Final = "PET_MASTER_ADDR"
PET_MASTER_PORT: Final = "PET_MASTER_PORT"
TORCH_VARIABLES: Final = (
    PET_MASTER_ADDR,
    PET_MASTER_PORT,
    PET_NNODES,
    PET_NODE_RANK,
    PET_NPROC_PER_NODE,
)
JAX_NUM_PROCESSES: Final = "JAX_NUM_PROCESSES"
JAX_PROCESS_ID: Final = "JAX_PROCESS_ID"
JAX_COORDINATOR_ADDRESS: Final = "JAX_COORDINATOR_ADDRESS"
DMLC_TRACKER_URI: Final = "DMLC_TRACKER_URI"
DMLC_TRACKER_PORT: Final = "DMLC_TRACKER_PORT"
DMLC_TASK_ID: Final = "DMLC_TASK_ID"
DMLC_NUM_WORKER: Final = "DMLC_NUM_WORKER"
OMPI_DEFAULT_HOSTFILE: Final = "OMPI_MCA_orte_default_hostfile"
OMPI_KEEP_FQDN_HOSTNAMES: Final = "OMPI_MCA_orte_keep_fqdn_hostnames"
OMPI_DEFAULT_SLOTS: Final = "OMPI_MCA_orte_set_default_slots"
OMPI_RSH_ARGS: Final = "OMPI_MCA_plm_rsh_args"
OMPI_EXPORTED: Final = "OMPI_MCA_mca_base_env_list"
"""Variables that mpirun gives to its processes on other nodes, as -x does; Open MPI 4 aborts with both."""
PRTE_DEFAULT_HOSTFILE: Final = "PRTE_MCA_prte_default_hostfile"
PRTE_KEEP_FQDN_HOSTNAMES: Final = "PRTE_MCA_prte_keep_fqdn_hostnames"
PRTE_DEFAULT_SLOTS: Final = "PRTE_MCA_prte_set_default_slots"
PRTE_SSH_ARGS: Final = "PRTE_MCA_plm_ssh_args"
STORAGE_URI: Final = "STORAGE_URI"
RENDEZVOUS_PORT: Final = 29500

# TorchTune, a mode of torch's plugin (reference behaviour 3.3).
TUNE_RUN: Final = ("tune", "run")

# Gang schedulers of podGroupPolicy: their PodGroups and what pods carry (reference behaviour 3.8 and 3.9).
POD_GROUP: Final = "PodGroup"
COSCHEDULING_API_VERSION: Final = "scheduling.x-k8s.io/v1alpha1"
COSCHEDULING_GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
VOLCANO_API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
VOLCANO_GROUP_ANNOTATION: Final = "scheduling.k8s.io/group-name"
VOLCANO_QUEUE_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"

# Schedulers beyond the reference: our annotations on a TrainJob or its runtime, whose values are
# those of the plugins (docs/gang-scheduling.md).
SCHEDULER: Final = "trainer-infra.dev/scheduler"
QUEUE: Final = "trainer-infra.dev/queue"
TOPOLOGY: Final = "trainer-infra.dev/topology"
REQUIRED_TOPOLOGY: Final = "trainer-infra.dev/required-topology"
PREFERRED_TOPOLOGY: Final = "trainer-infra.dev/preferred-topology"
# The annotations of a TrainJob, besides its runtime's, that change what is rendered.
JOB_SETTINGS: Final = (SCHEDULER, QUEUE, TOPOLOGY, REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY)

# What Kueue reads (0.19); of the other schedulers it stands in their plugins.
KUEUE_QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
KUEUE_LONGEST_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"
KUEUE_REQUIRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-required-topology"

# What marks the machines of a GpuNodePool.
POOL_LABEL: Final = "trainer-infra.dev/pool"

# Kueue's kinds; some of these words are kinds of others too, so the group goes with them.
KUEUE_GROUP: Final = "kueue.x-k8s.io"
KUEUE_VERSIONS: Final = (f"{KUEUE_GROUP}/v1beta2", f"{KUEUE_GROUP}/v1beta1")
"""Those that Kueue 0.19 serves, the newest first."""
LOCAL_QUEUE: Final = "LocalQueue"
CLUSTER_QUEUE: Final = "ClusterQueue"
RESOURCE_FLAVOR: Final = "ResourceFlavor"
COHORT: Final = "Cohort"
ADMISSION_CHECK: Final = "AdmissionCheck"
KUEUE_TOPOLOGY: Final = "Topology"
WORKLOAD: Final = "Workload"
WORKLOAD_PRIORITY_CLASS: Final = "WorkloadPriorityClass"
VOLCANO_QUEUE: Final = "Queue"

# Kinds of Kubernetes that jobs name.
PRIORITY_CLASS: Final = "PriorityClass"
NAMESPACE: Final = "Namespace"

CHECK_CONFIGS: Final = ("MultiKueueCluster", "MultiKueueConfig", "ProvisioningRequestConfig")
KUEUE_KINDS: Final = (
    *(CLUSTER_QUEUE, LOCAL_QUEUE, RESOURCE_FLAVOR, COHORT, KUEUE_TOPOLOGY, WORKLOAD),
    *(WORKLOAD_PRIORITY_CLASS, ADMISSION_CHECK, *CHECK_CONFIGS),
)
QUEUEING_KINDS: Final = frozenset((*KUEUE_KINDS, VOLCANO_QUEUE, "HyperNode", POD_GROUP))
"""Kinds that queue and place jobs: Kueue's, Volcano's and coscheduling's."""

# The progress protocol (reference behaviour 6).
PROGRESS_URL: Final = "KUBEFLOW_TRAINER_SERVER_URL"
PROGRESS_CA: Final = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
PROGRESS_TOKEN: Final = "KUBEFLOW_TRAINER_SERVER_TOKEN"  # noqa: S105  the variable's name
PROGRESS_VOLUME: Final = "kubeflow-trainer-token"
PROGRESS_MOUNT: Final = "/var/run/secrets/kubeflow/trainer"
PROGRESS_CA_KEY: Final = "ca.crt"
TLS_CONFIG_SUFFIX: Final = "-tls-config"
PROGRESS_MANAGER: Final = "trainer-status"
"""Field manager of what a status server writes."""

# Conditions of a TrainJob (reference behaviour 1.3).
SUSPENDED: Final = "Suspended"
RESUMED: Final = "Resumed"
COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
ENDED_EARLY: Final = "EndedEarly"
SUSPENDED_MESSAGE: Final = "TrainJob is suspended"
RESUMED_MESSAGE: Final = "TrainJob is resumed"
NOT_IMPORTED: Final = (
    "resources of trainer_infra are not imported but adopted: declare it in the program with the "
    "name= that it has and adopt=True, without import, and run `pulumi up`"
)
"""What to say when a resource of ours is to be imported, for which the engine has no inputs."""
DEADLINE_MESSAGE: Final = "TrainJob exceeded its active deadline"
RUNTIME_NOT_SUPPORTED: Final = "TrainingRuntimeNotSupported"

# Reasons of a TrainJob's events; the first is the reference's (reference behaviour 4.6).
EVENT_CREATION_FAILED: Final = "TrainJobResourcesCreationFailed"
EVENT_CREATED: Final = "TrainJobResourcesCreated"
EVENT_SUSPENDED: Final = "TrainJobSuspended"
EVENT_RESUMED: Final = "TrainJobResumed"
EVENT_COMPLETE: Final = "TrainJobComplete"
EVENT_FAILED: Final = "TrainJobFailed"
EVENT_DEADLINE: Final = "TrainJobDeadlineExceeded"
EVENT_PATCH_OVERRIDDEN: Final = "RuntimePatchOverridden"
EVENT_TTL: Final = "TrainJobTTLExpired"
EVENT_UNCOUNTED: Final = "KueueCountsLess"

# Conditions of a JobSet: type, then (reason, message) (JobSet v0.12, pkg/constants).
JOBSET_COMPLETED: Final = "Completed"
JOBSET_FAILED: Final = "Failed"
JOBSET_SUSPENDED: Final = "Suspended"
JOBSET_RESTARTING: Final = "RestartingJobSet"
JOBSET_STARTUP_IN_PROGRESS: Final = "StartupPolicyInProgress"
JOBSET_STARTUP_COMPLETED: Final = "StartupPolicyCompleted"
ALL_JOBS_COMPLETED: Final = ("AllJobsCompleted", "jobset completed successfully")
FAILED_JOBS: Final = ("FailedJobs", "jobset failed due to one or more job failures")
MAX_RESTARTS: Final = ("ReachedMaxRestarts", "jobset failed due to reaching max number of restarts")
FAIL_ACTION: Final = ("FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action")
SUSPENDED_JOBS: Final = ("SuspendedJobs", "jobset is suspended")
RESUMED_JOBS: Final = ("ResumeJobs", "jobset is resumed")
RESTARTED_JOBS: Final = ("JobsReady", "all jobs are ready")
RESTART_COMPLETED: Final = ("JobSetCompleted", "jobset completed successfully")
RESTART_FAILED: Final = ("JobSetFailed", "jobset failed")
RESTART_SUSPENDED: Final = ("JobSetSuspended", "jobset is suspended")
IN_ORDER_IN_PROGRESS: Final = (
    "InOrderStartupPolicyInProgress",
    "in order startup policy is in progress",
)
IN_ORDER_COMPLETED: Final = (
    "InOrderStartupPolicyCompleted",
    "in order startup policy has completed",
)
DEFAULT_FAILURE_POLICY: Final = "DefaultFailurePolicy"

# Why a Job failed: (reason, message) of its condition (Kubernetes batch/v1).
BACKOFF_LIMIT: Final = ("BackoffLimitExceeded", "Job has reached the specified backoff limit")
JOB_DEADLINE: Final = ("DeadlineExceeded", "Job was active longer than specified deadline")
FAILED_INDEXES: Final = ("FailedIndexes", "Job has failed indexes")
MAX_FAILED_INDEXES: Final = (
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
POD_FAILURE_POLICY: Final = "PodFailurePolicy"

# A TrainJob's child objects (reference behaviour 3.11), and those of our own.
SNAPSHOT_SUFFIX: Final = "-runtime-snapshot"
SNAPSHOT_KEY: Final = "runtime"
SSH_AUTH_SUFFIX: Final = "-mpi-ssh-auth"
SSH_AUTH_TYPE: Final = "kubernetes.io/ssh-auth"
SSH_PRIVATE_KEY: Final = "ssh-privatekey"
SSH_PUBLIC_KEY: Final = "ssh-publickey"
HOSTFILE_SUFFIX: Final = "-mpi-hostfile"
SSH_AUTH_VOLUME, HOSTFILE_VOLUME = SSH_AUTH_SUFFIX[1:], HOSTFILE_SUFFIX[1:]
FLUX_ENTRYPOINT_SUFFIX: Final = "-flux-entrypoint"
FLUX_CURVE_SUFFIX: Final = "-flux-curve"
FLUX_CURVE_KEY: Final = "curve.cert"
CODE_SUFFIX: Final = "-code"
SECRET_SUFFIX: Final = "-secret"  # noqa: S105  an object's name

# A secretKeyRef of this name means "the Secret of this very job": its real name holds the job's
# name, which is only known once the whole specification is.
OWN_SECRET: Final = "trainer-infra-own-secret"  # noqa: S105  an object's name
SECRET_SHOWN: Final = "<secret>"  # noqa: S105  what is shown instead of a value
GENERATED_SHOWN: Final = "<generated>"  # what is shown of a Secret whose value is made at create

# Where CustomTrainer's code and secret arguments are mounted in a pod.
CODE_MOUNT: Final = "/opt/trainer-infra/code"
OUTPUTS_MOUNT: Final = "/opt/trainer-infra/outputs"
OUTPUTS_VOLUME: Final = "trainer-infra-output"
# Where initializers find a claim that they read; in_pod/initializers, which stands alone, spells it itself.
CLAIMS_MOUNT: Final = "/opt/trainer-infra/claims"
CLAIM_VOLUME: Final = "trainer-infra-claim"
# in_pod/storage.py, which stands alone, spells these two itself.
OUTPUT_VARIABLE: Final = "TRAINER_INFRA_OUTPUT_"
MOUNTS_VARIABLE: Final = "TRAINER_INFRA_MOUNTS"
SECRET_MOUNT: Final = "/opt/trainer-infra/secret"  # noqa: S105  a folder
CODE_VOLUME: Final = "trainer-infra-code"
# Where an initializer puts code that no ConfigMap holds; in_pod, which stands alone, spells both paths itself.
SOURCE_MOUNT: Final = "/opt/trainer-infra/source"
SOURCE_VOLUME: Final = "trainer-infra-source"
SOURCE_FOLDER: Final = "TRAINER_INFRA_SOURCE"  # the env variable with its path
STORE_VOLUME: Final = "trainer-infra-store"
CODE_INITIALIZER: Final = "code-initializer"
INITIALIZER_IMAGE: Final = "trainer-infra/initializer:0.1.0"
"""Of images/initializer; the tag is the version of this package."""
FILE_VOLUME: Final = "trainer-infra-file"
SECRET_VOLUME: Final = "trainer-infra-secret"  # noqa: S105  a volume's name
# Packages that pods install: their cache, wheels from a claim, and options among requirements.
PACKAGES_MOUNT: Final = "/opt/trainer-infra/packages"
PACKAGES_VOLUME: Final = "trainer-infra-packages"
WHEELS_MOUNT: Final = "/opt/trainer-infra/wheels"
WHEELS_VOLUME: Final = "trainer-infra-wheels"
INSTALLER_OPTION: Final = "--"
"""How a line of a job's packages begins that is not a requirement."""
FIND_LINKS: Final = "--find-links="
SECRET_ARGS_KEY: Final = "secret_args.json"  # noqa: S105  a file's name
SECRET_ARGS: Final = "TRAINER_INFRA_SECRET_ARGS"  # noqa: S105  the env variable with that file's path

# Trainer's controllers in a cluster.
SYSTEM_NAMESPACE: Final = "kubeflow-system"
"""Where Trainer's controller runs."""
PUBLIC_CONFIG_MAP: Final = "kubeflow-trainer-public"
"""What every account may read of Trainer: its version, and which controller it is."""
CONTROLLER_KEY: Final = "controller"
"""The key of `PUBLIC_CONFIG_MAP` that says it; Kubeflow's own has none."""
BUILTIN: Final = "builtin"
"""The controller of this package."""
UPSTREAM: Final = "upstream"
"""Kubeflow Trainer's."""

# Engine `provider`: the manager of our fields and those of single fields of ours, the labels of
# every object of a run, and what the run record has besides.
FIELD_MANAGER: Final = "trainer-infra"
TRAINER_MANAGER: Final = "trainer"
"""The manager of what the controller writes (reference behaviour 3.11)."""
WAITING_MANAGER: Final = "trainer-waiting"
"""The manager of the controller's annotations on TrainJobs."""
SUSPEND_MANAGER: Final = "trainer-infra-suspend"
STATUS_MANAGER: Final = "trainer-infra-status"
OWN_PREFIX: Final = "trainer-infra.dev/"
PROJECT_LABEL: Final = "trainer-infra.dev/project"
STACK_LABEL: Final = "trainer-infra.dev/stack"
URN_LABEL: Final = "trainer-infra.dev/urn"
RUN_LABEL: Final = "trainer-infra.dev/run"
RECORD_LABEL: Final = "trainer-infra.dev/record"
OWNER_ANNOTATION: Final = "trainer-infra.dev/owner"
BACKEND_ANNOTATION: Final = "trainer-infra.dev/backend"
FORMAT_ANNOTATION: Final = "trainer-infra.dev/format"
CONTENT_ANNOTATION: Final = "trainer-infra.dev/content"
PLUGINS_ANNOTATION: Final = "trainer-infra.dev/plugins"
OBJECTS_ANNOTATION: Final = "trainer-infra.dev/objects"
STATUS_ANNOTATION: Final = "trainer-infra.dev/status"
UID_ANNOTATION: Final = "trainer-infra.dev/run-uid"
RECORD_JOB_KEY: Final = "trainJob"
RECORD_OBJECTS_KEY: Final = "objects"
RECORD_STATUS_KEY: Final = "status"
KUEUE_PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"

# Reports of a pod without a server: the variable with the file that takes the last one, and what
# its line in the log begins with. in_pod/report.py, which stands alone, spells both itself.
REPORT_FILE: Final = "TRAINER_INFRA_REPORT"
REPORT_PREFIX: Final = "trainer-infra-report: "
TERMINATION_LOG: Final = "/dev/termination-log"
# The metric that callbacks report; in_pod/callbacks/training_progress.py spells it itself.
SAMPLES_PER_SECOND: Final = "samples_per_second"

# The local target: variables that move its folders or choose what installs packages, and the mark
# that every process of a run has.
TARGET_LOCAL: Final = "local"
TARGET_KUBERNETES: Final = "kubernetes"
STATE_HOME: Final = "TRAINER_INFRA_HOME"
CACHE_HOME: Final = "TRAINER_INFRA_CACHE"
INSTALLER: Final = "TRAINER_INFRA_INSTALLER"
PROCESS_MARK: Final = "TRAINER_INFRA_PROCESS"

# Why a run on this machine failed, beyond what a JobSet says.
SUPERVISOR_LOST: Final = "SupervisorLost"
DISK_FULL: Final = "DiskFull"
INSTALL_FAILED: Final = "InstallFailed"


def namespace_of(given: str | None) -> str:
    """The namespace of an object that names this one, or none."""
    return given or DEFAULT_NAMESPACE
