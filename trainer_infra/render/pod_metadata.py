"""Labels and annotations that others read from pods or JobSets, and that a TrainJob does not give to them.

A TrainJob's metadata stays its own (reference behaviour 4.5): its JobSet and pods have that of the
runtime and of runtime patches.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from trainer_infra.api.trainjob import TrainJob

OF_PODS: Final = (
    *("*istio.io/*", "*linkerd.io/*", "consul.hashicorp.com/*", "vault.hashicorp.com/*"),
    *("cluster-autoscaler.kubernetes.io/*", "karpenter.sh/*", "descheduler.alpha.kubernetes.io/*"),
    *(
        "prometheus.io/*",
        "*datadoghq.com/*",
        "*opentelemetry.io/*",
        "*dynatrace.com/*",
        "co.elastic.logs/*",
    ),
    *("fluentbit.io/*", "k8s.v1.cni.cncf.io/*", "v1.multus-cni.io/*", "cni.projectcalico.org/*"),
    *("gke-gcsfuse/*", "networking.gke.io/*", "iam.amazonaws.com/*", "eks.amazonaws.com/*"),
    *("azure.workload.identity/*", "aadpodidbinding", "kubectl.kubernetes.io/default-container"),
    *("container.apparmor.security.beta.kubernetes.io/*", "io.kubernetes.cri-o.*", "hami.io/*"),
    *("nvidia.com/use-gputype", "nvidia.com/nouse-gputype", "volcano.sh/vgpu-mode", "gpu-topology"),
    *(
        "kueue.x-k8s.io/podset-*",
        "kubernetes.io/ingress-bandwidth",
        "kubernetes.io/egress-bandwidth",
    ),
)
OF_JOBSETS: Final = ("alpha.jobset.sigs.k8s.io/*",)
"""Patterns of their keys."""
WHAT: Final = "is read from pods, and pods do not have it from here"
WHAT_OF_JOBSETS: Final = "is read from the JobSet, which does not have it from here"
PATCH: Final = "write it in spec.runtimePatches, below trainingRuntimeSpec.template"
OF_POD: Final = "spec.replicatedJobs[name: node].template.spec.template.metadata"


@lru_cache(1024)
def is_of_pods(key: str) -> bool:
    """Whether others read a label or annotation from pods."""
    return any(fnmatchcase(key, each) for each in OF_PODS)


def is_of_jobsets(key: str) -> bool:
    """Whether it is read from a JobSet."""
    return any(fnmatchcase(key, each) for each in OF_JOBSETS)


def metadata_sentences(job: TrainJob) -> Iterator[str]:
    """What of a TrainJob's labels and annotations has no effect where it is."""
    for field in ("labels", "annotations"):
        for key in getattr(job.metadata, field) or ():
            place = f"metadata.{field}[{key}]"
            if is_of_pods(key):
                yield f"{place} {WHAT}; {PATCH}.{OF_POD}.{field}"
            elif is_of_jobsets(key):
                yield f"{place} {WHAT_OF_JOBSETS}; {PATCH}.metadata.{field}"
