"""CRDs of Kueue and of Volcano's Queue for an API server without their controllers."""

from collections.abc import Sequence
from typing import Final

from tools.cluster import crds
from tools.cluster.crds import JSON, Published
from trainer_infra.json_values import JSONObject

VOLCANO_QUEUE: Final = Published(
    "volcano.sh/volcano",
    "v1.10.0",
    "config/crd/volcano/bases/scheduling.volcano.sh_queues.yaml",
    "cac5d5f817af8f2d7167fd9c9ef0ecaae1944a2139648c790c2948e3a38c4065",
)


def kueue_crds(released: Sequence[JSONObject]) -> tuple[JSON, ...]:
    """The CRDs of Kueue's release, and Volcano's of queues, as a server without their controllers has them."""
    return (*map(_with_one_version, released), crds.published(VOLCANO_QUEUE))


def _with_one_version(definition: JSONObject) -> JSON:
    """Its controller converts older versions; nothing here asks for one."""
    spec = {key: value for key, value in definition["spec"].items() if key != "conversion"}
    spec["versions"] = [each for each in spec["versions"] if each["name"] == "v1beta2"]
    return {**definition, "spec": spec}
