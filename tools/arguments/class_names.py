"""What the generated TypedDicts are called, and the file in which each stands; `generate` reads it.

A class is called as Kubernetes and Kubeflow Trainer call its type, which the CRDs do not say, so
what the last word of its path does not say is named here.
"""

from collections.abc import Mapping
from typing import Final

_PATCH: Final = "trainingRuntimeSpec.template.spec.replicatedJobs[]"
_JOB: Final = "TrainingRuntime.template.spec.replicatedJobs[]"
_POD: Final = ".template.spec.template"

NAMES: Final[Mapping[str, str]] = {
    "TrainingRuntime": "TrainingRuntimeSpec",
    "dataset": "DatasetInitializer",
    "model": "ModelInitializer",
    "dataset.env[]": "EnvVar",
    "model.env[]": "EnvVar",
    "trainer.env[]": "EnvVar",
    "env[]": "ContainerEnvVar",
    "valueFrom": "EnvVarSource",
    "configMapKeyRef": "ConfigMapKeySelector",
    "secretKeyRef": "SecretKeySelector",
    "fileKeyRef": "FileKeySelector",
    "fieldRef": "ObjectFieldSelector",
    "resourceFieldRef": "ResourceFieldSelector",
    "envFrom[]": "EnvFromSource",
    "configMapRef": "ConfigMapEnvSource",
    "envFrom[].secretRef": "SecretEnvSource",
    "secretRef": "LocalObjectReference",
    "nodePublishSecretRef": "LocalObjectReference",
    "imagePullSecrets[]": "LocalObjectReference",
    "metadata": "ObjectMeta",
    "namespaceSelector": "LabelSelector",
    "persistentVolumeClaim": "PersistentVolumeClaimVolumeSource",
    "matchLabels": "LabelSelector",
    "matchExpressions[]": "SelectorRequirement",
    "matchFields[]": "SelectorRequirement",
    "resourcesPerNode": "ResourcesPerNode",
    "resources": "ResourceRequirements",
    "claims[]": "ResourceClaim",
    "resourceClaims[]": "PodResourceClaim",
    "runtimePatches[]": "RuntimePatch",
    "trainingRuntimeSpec": "TrainingRuntimeSpecPatch",
    "trainingRuntimeSpec.template": "JobSetTemplatePatch",
    "trainingRuntimeSpec.template.spec": "JobSetSpecPatch",
    _PATCH: "ReplicatedJobPatch",
    f"{_PATCH}.template": "JobTemplatePatch",
    f"{_PATCH}.template.spec": "JobSpecPatch",
    f"{_PATCH}{_POD}": "PodTemplateSpecPatch",
    f"{_PATCH}{_POD}.spec": "PodSpecPatch",
    f"{_PATCH}{_POD}.spec.containers[]": "ContainerPatch",
    f"{_PATCH}{_POD}.spec.initContainers[]": "ContainerPatch",
    "TrainingRuntime.template": "JobSetTemplateSpec",
    "TrainingRuntime.template.spec": "JobSetSpec",
    "TrainingRuntime.template.spec.failurePolicy": "JobSetFailurePolicy",
    "failurePolicy.rules[]": "FailurePolicyRule",
    "TrainingRuntime.template.spec.successPolicy": "JobSetSuccessPolicy",
    "dependsOn[]": "DependsOn",
    f"{_JOB}.template": "JobTemplateSpec",
    f"{_JOB}.template.spec": "JobSpec",
    "podFailurePolicy.rules[]": "PodFailurePolicyRule",
    "onPodConditions[]": "PodConditionPattern",
    "onExitCodes": "ExitCodesRequirement",
    "exitCodes": "ContainerRestartExitCodes",
    f"{_JOB}.template.spec.successPolicy": "JobSuccessPolicy",
    "successPolicy.rules[]": "JobSuccessPolicyRule",
    f"{_JOB}{_POD}": "PodTemplateSpec",
    f"{_JOB}{_POD}.spec": "PodSpec",
    "template.spec.securityContext": "PodSecurityContext",
    "initContainers[]": "Container",
    "hostAliases[]": "HostAlias",
    "resizePolicy[]": "ContainerResizePolicy",
    "restartPolicyRules[]": "ContainerRestartRule",
    "ports[]": "ContainerPort",
    "os": "PodOS",
    "options[]": "DNSConfigOption",
    "dnsConfig": "DNSConfig",
    "postStart": "LifecycleHandler",
    "preStop": "LifecycleHandler",
    "exec": "ExecAction",
    "httpGet": "HTTPGetAction",
    "httpHeaders[]": "HTTPHeader",
    "tcpSocket": "TCPSocketAction",
    "sleep": "SleepAction",
    "grpc": "GRPCAction",
    "livenessProbe": "Probe",
    "readinessProbe": "Probe",
    "startupProbe": "Probe",
    "seLinuxOptions": "SELinuxOptions",
    "preference": "NodeSelectorTerm",
    "requiredDuringSchedulingIgnoredDuringExecution": "RequiredNodeAffinity",
    "nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[]": "PreferredNodeAffinity",
    "preferredDuringSchedulingIgnoredDuringExecution[]": "PreferredPodAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution[]": "PodAffinityTerm",
    "volumes[]": "Volume",
    "configMap.items[]": "KeyToPath",
    "secret.items[]": "KeyToPath",
    "downwardAPI.items[]": "DownwardAPIVolumeFile",
    "csi": "CSIVolumeSource",
    "nfs": "NFSVolumeSource",
    "sources[]": "VolumeProjection",
    "volumeClaimTemplate": "PersistentVolumeClaimTemplate",
    "volumeClaimTemplate.spec": "PersistentVolumeClaimSpec",
    "volumeClaimPolicies[]": "VolumeClaimPolicy",
    "templates[]": "PersistentVolumeClaim",
    "templates[].spec": "PersistentVolumeClaimSpec",
    "volumeClaimTemplate.spec.resources": "VolumeResourceRequirements",
    "templates[].spec.resources": "VolumeResourceRequirements",
    "spec.selector": "LabelSelector",
    "dataSource": "TypedLocalObjectReference",
    "dataSourceRef": "TypedObjectReference",
    "retentionPolicy": "VolumeClaimRetentionPolicy",
    "mlPolicy": "MLPolicy",
    "flux": "FluxMLPolicy",
    "jax": "JAXMLPolicy",
    "mpi": "MPIMLPolicy",
    "torch": "TorchMLPolicy",
    "xgboost": "XGBoostMLPolicy",
    "targets[]": "EnvInjectionTarget",
    "coscheduling": "CoschedulingPodGroupPolicy",
    "volcano": "VolcanoPodGroupPolicy",
}  # fmt: skip
"""Name of a class without its suffix, by the end of its path; the longest end that fits counts."""

PLAIN: Final = (
    *(
        f"volumes[].{kind}"
        for kind in (
            "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc", "flexVolume",
            "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "iscsi", "photonPersistentDisk",
            "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
        )
    ),
    "windowsOptions",
    "ephemeralContainers[]",
    "templates[].status",
)  # fmt: skip
"""Ends of paths that get no class: what Kubernetes deprecates, no training uses or no runtime may set."""

MODULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "object_references": (
        "References to objects, their metadata, and selectors of labels",
        ("LocalObjectReference", "ObjectMeta", "LabelSelector", "TypedObjectReference"),
    ),
    "env_vars": (
        "Env variables of a container",
        ("EnvVar", "ContainerEnvVar", "EnvFromSource"),
    ),
    "train_job": (
        "`initializer` and `trainer` of a TrainJob",
        ("Initializer", "Trainer"),
    ),
    "security_contexts": (
        "Security contexts of a container and of a pod",
        ("SecurityContext", "PodSecurityContext"),
    ),
    "pod_placement": (
        "On which nodes a pod may run",
        ("Affinity", "Toleration", "TopologySpreadConstraint", "SchedulingGate"),
    ),
    "volume_sources": (
        "Where a volume of a pod comes from",
        ("ProjectedVolumeSource", "EphemeralVolumeSource", "ConfigMapVolumeSource"),
    ),
    "volumes": ("Volumes of a pod", ("Volume", "VolumeMount")),
    "runtime_patch": ("`runtime_patches` of a TrainJob", ("RuntimePatch",)),
    "container": ("A container of a pod", ("Container",)),
    "pod_template": ("The template of a pod", ("PodTemplateSpec",)),
    "job_template": ("The template of a Job", ("JobTemplateSpec",)),
    "training_runtime": ("`spec` of a runtime", ("TrainingRuntimeSpec",)),
}
"""By file: what stands in it, and from which classes on; what two files need is in the earlier."""
