"""What an API server serves: the address of a kind. Pure."""

from dataclasses import dataclass
from typing import Final

from trainer_infra import names


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind at one version."""

    api_version: str
    """`<group>/<version>`, or the version alone for the core group."""
    kind: str
    plural: str
    """The kind in paths, for example `jobsets`."""
    namespaced: bool = True

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path on the server: of all objects, of a namespace's, of one, or of its subresource, for example `log`."""
        root = (
            f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        )
        within = f"namespaces/{namespace}" if namespace and self.namespaced else ""
        return "/".join(filter(None, (root, within, self.plural, name, subresource)))


CONFIG_MAP: Final = Resource("v1", "ConfigMap", "configmaps")
SECRET: Final = Resource("v1", "Secret", "secrets")
SERVICE: Final = Resource("v1", "Service", "services")
POD: Final = Resource("v1", "Pod", "pods")
EVENT: Final = Resource("v1", "Event", "events")
NODE: Final = Resource("v1", "Node", "nodes", namespaced=False)
NAMESPACE: Final = Resource("v1", "Namespace", "namespaces", namespaced=False)
JOB: Final = Resource("batch/v1", "Job", "jobs")
JOBSET: Final = Resource(names.JOBSET_API_VERSION, names.JOBSET, "jobsets")
ACCESS_REVIEW: Final = Resource(
    "authorization.k8s.io/v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
TOKEN_REVIEW: Final = Resource(
    "authentication.k8s.io/v1", "TokenReview", "tokenreviews", namespaced=False
)
TRAIN_JOB: Final = Resource(names.API_VERSION, names.TRAIN_JOB, "trainjobs")
TRAINING_RUNTIME: Final = Resource(names.API_VERSION, names.TRAINING_RUNTIME, "trainingruntimes")
CLUSTER_TRAINING_RUNTIME: Final = Resource(
    names.API_VERSION, names.CLUSTER_TRAINING_RUNTIME, "clustertrainingruntimes", namespaced=False
)
