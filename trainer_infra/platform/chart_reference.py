"""Which Helm chart is installed, and how; `manifests.helm_chart` renders it."""

from dataclasses import dataclass, field

from trainer_infra.json_values import JSONObject


@dataclass(frozen=True, slots=True)
class HelmChart:
    """A chart and its values."""

    reference: str
    """A folder, an archive, `oci://HOST/PATH`, `REPOSITORY/NAME` that helm knows, or a name in the
    repository."""
    release: str
    """Name of the installation, which charts put into the names of objects."""
    namespace: str
    version: str = ""
    """Empty for a folder or an archive."""
    values: JSONObject = field(default_factory=dict, hash=False)
    keeps_hooks: bool = False
    """Whether hooks that install something are objects as all others; refused unless it is true."""
    repository: str = ""
    """URL of the repository that has the chart; empty where the reference says it."""
