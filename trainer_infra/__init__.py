"""Kubeflow Trainer v2 as Pulumi code: the public names and nothing else.

Attributes are loaded on first use (PEP 562), so that a packaging script that needs only
CustomTrainer imports no Pulumi.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.api.checkpoint import Checkpoint
    from trainer_infra.api.fault_tolerance import FaultTolerance, with_fault_tolerance
    from trainer_infra.api.secret import Secret
    from trainer_infra.api.wire_types import *
    from trainer_infra.catalog.initializers import with_initializers
    from trainer_infra.deploy.run_result import RunResult
    from trainer_infra.deploy.runtime_resources import ClusterTrainingRuntime, TrainingRuntime
    from trainer_infra.deploy.train_job_arguments import TrainJobArgs
    from trainer_infra.deploy.train_job_resource import TrainJob, TrainJobResult
    from trainer_infra.deploy.train_jobs_resource import TrainJobs, TrainJobsResult
    from trainer_infra.trainers.container_trainer import ContainerTrainer
    from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
    from trainer_infra.trainers.frameworks.deepspeed import DeepSpeed
    from trainer_infra.trainers.frameworks.fsdp2 import Fsdp2
    from trainer_infra.trainers.frameworks.hugging_face import HuggingFaceTrainer
    from trainer_infra.trainers.frameworks.jax import Jax
    from trainer_infra.trainers.frameworks.xgboost import XGBoost
    from trainer_infra.trainers.libraries.fine_tuning import LoraArgs
    from trainer_infra.trainers.libraries.llama_factory import LlamaFactory
    from trainer_infra.trainers.libraries.torchtune import TorchTune
    from trainer_infra.trainers.libraries.trl import Trl
    from trainer_infra.trainers.libraries.unsloth import Unsloth

__all__ = [
    "Checkpoint",
    "ClusterTrainingRuntime",
    "ContainerTrainer",
    "CustomTrainer",
    "DeepSpeed",
    "FaultTolerance",
    "Fsdp2",
    "HuggingFaceTrainer",
    "Jax",
    "LlamaFactory",
    "LoraArgs",
    "RunResult",
    "Secret",
    "TorchTune",
    "TrainJob",
    "TrainJobArgs",
    "TrainJobResult",
    "TrainJobs",
    "TrainJobsResult",
    "TrainingRuntime",
    "Trl",
    "Unsloth",
    "XGBoost",
    "with_fault_tolerance",
    "with_initializers",
    # Parts of these in wire form.
    "AffinityArgs", "AppArmorProfileArgs", "CSIVolumeSourceArgs", "CapabilitiesArgs",
    "ClusterTrustBundleProjectionArgs", "ConfigMapEnvSourceArgs", "ConfigMapKeySelectorArgs",
    "ConfigMapProjectionArgs", "ConfigMapVolumeSourceArgs", "ContainerArgs", "ContainerEnvVarArgs",
    "ContainerPatchArgs", "ContainerPortArgs", "ContainerResizePolicyArgs",
    "ContainerRestartExitCodesArgs", "ContainerRestartRuleArgs", "CoordinatorArgs",
    "CoschedulingPodGroupPolicyArgs", "DNSConfigArgs", "DNSConfigOptionArgs",
    "DatasetInitializerArgs", "DependsOnArgs", "DownwardAPIProjectionArgs",
    "DownwardAPIVolumeFileArgs", "DownwardAPIVolumeSourceArgs", "EmptyDirVolumeSourceArgs",
    "EnvFromSourceArgs", "EnvInjectionArgs", "EnvInjectionTargetArgs", "EnvVarArgs",
    "EnvVarSourceArgs", "EphemeralVolumeSourceArgs", "ExecActionArgs", "ExitCodesRequirementArgs",
    "FailurePolicyRuleArgs", "FileKeySelectorArgs", "FluxMLPolicyArgs", "GRPCActionArgs",
    "HTTPGetActionArgs", "HTTPHeaderArgs", "HostAliasArgs", "HostPathVolumeSourceArgs",
    "ImageVolumeSourceArgs", "InitializerArgs", "JobSetFailurePolicyArgs",
    "JobSetSpecArgs", "JobSetSpecPatchArgs", "JobSetSuccessPolicyArgs", "JobSetTemplatePatchArgs",
    "JobSetTemplateSpecArgs", "JobSpecArgs", "JobSpecPatchArgs", "JobSuccessPolicyArgs",
    "JobSuccessPolicyRuleArgs", "JobTemplatePatchArgs", "JobTemplateSpecArgs", "KeyToPathArgs",
    "LabelSelectorArgs", "LifecycleArgs", "LifecycleHandlerArgs", "LocalObjectReferenceArgs",
    "MLPolicyArgs", "MPIMLPolicyArgs", "ModelInitializerArgs", "NFSVolumeSourceArgs", "NetworkArgs",
    "NetworkTopologyArgs", "NodeAffinityArgs", "NodeSelectorTermArgs", "ObjectFieldSelectorArgs",
    "ObjectMetaArgs", "PersistentVolumeClaimArgs", "PersistentVolumeClaimSpecArgs",
    "PersistentVolumeClaimTemplateArgs", "PersistentVolumeClaimVolumeSourceArgs", "PodAffinityArgs",
    "PodAffinityTermArgs", "PodAntiAffinityArgs", "PodCertificateProjectionArgs",
    "PodConditionPatternArgs", "PodFailurePolicyArgs", "PodFailurePolicyRuleArgs",
    "PodGroupPolicyArgs", "PodOSArgs", "PodResourceClaimArgs", "PodSecurityContextArgs",
    "PodSpecArgs", "PodSpecPatchArgs", "PodTemplateSpecArgs", "PodTemplateSpecPatchArgs",
    "PreferredNodeAffinityArgs", "PreferredPodAffinityArgs", "ProbeArgs",
    "ProjectedVolumeSourceArgs", "ReadinessGateArgs", "ReplicatedJobArgs", "ReplicatedJobPatchArgs",
    "RequiredNodeAffinityArgs", "ResourceClaimArgs", "ResourceFieldSelectorArgs",
    "ResourceRequirementsArgs", "ResourcesPerNodeArgs", "RuntimePatchArgs", "SELinuxOptionsArgs",
    "SchedulingGateArgs", "SchedulingGroupArgs", "SeccompProfileArgs", "SecretEnvSourceArgs",
    "SecretKeySelectorArgs", "SecretProjectionArgs", "SecretVolumeSourceArgs",
    "SecurityContextArgs", "SelectorRequirementArgs", "ServiceAccountTokenProjectionArgs",
    "SleepActionArgs", "StartupPolicyArgs", "SysctlArgs", "TCPSocketActionArgs", "TolerationArgs",
    "TopologySpreadConstraintArgs", "TorchMLPolicyArgs", "TrainerArgs", "TrainingRuntimeSpecArgs",
    "TrainingRuntimeSpecPatchArgs", "TypedLocalObjectReferenceArgs", "TypedObjectReferenceArgs",
    "VolcanoPodGroupPolicyArgs", "VolumeArgs", "VolumeClaimPolicyArgs",
    "VolumeClaimRetentionPolicyArgs", "VolumeDeviceArgs", "VolumeMountArgs", "VolumeProjectionArgs",
    "VolumeResourceRequirementsArgs",
]  # fmt: skip

_HOME = {
    "ClusterTrainingRuntime": "trainer_infra.deploy.runtime_resources",
    "ContainerTrainer": "trainer_infra.trainers.container_trainer",
    "CustomTrainer": "trainer_infra.trainers.custom.custom_trainer",
    "DeepSpeed": "trainer_infra.trainers.frameworks.deepspeed",
    "Checkpoint": "trainer_infra.api.checkpoint",
    "FaultTolerance": "trainer_infra.api.fault_tolerance",
    "Fsdp2": "trainer_infra.trainers.frameworks.fsdp2",
    "HuggingFaceTrainer": "trainer_infra.trainers.frameworks.hugging_face",
    "Jax": "trainer_infra.trainers.frameworks.jax",
    "LlamaFactory": "trainer_infra.trainers.libraries.llama_factory",
    "LoraArgs": "trainer_infra.trainers.libraries.fine_tuning",
    "RunResult": "trainer_infra.deploy.run_result",
    "Secret": "trainer_infra.api.secret",
    "TorchTune": "trainer_infra.trainers.libraries.torchtune",
    "TrainJob": "trainer_infra.deploy.train_job_resource",
    "TrainJobArgs": "trainer_infra.deploy.train_job_arguments",
    "TrainJobResult": "trainer_infra.deploy.train_job_resource",
    "TrainJobs": "trainer_infra.deploy.train_jobs_resource",
    "TrainJobsResult": "trainer_infra.deploy.train_jobs_resource",
    "TrainingRuntime": "trainer_infra.deploy.runtime_resources",
    "Trl": "trainer_infra.trainers.libraries.trl",
    "XGBoost": "trainer_infra.trainers.frameworks.xgboost",
    "Unsloth": "trainer_infra.trainers.libraries.unsloth",
    "with_fault_tolerance": "trainer_infra.api.fault_tolerance",
    "with_initializers": "trainer_infra.catalog.initializers",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its room on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOME.get(name, "trainer_infra.api.wire_types")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
