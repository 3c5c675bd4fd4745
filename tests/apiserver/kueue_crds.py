"""CRDs of Kueue and of Volcano's Queue for an API server without their controllers."""

from collections.abc import Sequence
from typing import Final

from from_source.cluster import crds
from from_source.cluster.crds import JSON, Published
from trainer_infra.json_values import JSONObject

VOLCANO_QUEUE: Final = Published(
    "volcano.sh/volcano",
    "v1.10.0",
    "config/crd/volcano/bases/scheduling.volcano.sh_queues.yaml",
    "cac5d5f817af8f2d7167fd9c9ef0ecaae1944a2139648c790c2948e3a38c4065",
)


def kueue_crds(released: Sequence[JSONObject]) -> tuple[JSON, ...]:
    """The CRDs of Kueue's release, and Volcano's of queues, as a server without their controllers has them."""
    return (*map(_without_conversion, released), crds.published(VOLCANO_QUEUE))


def _without_conversion(definition: JSONObject) -> JSON:
    """Its controller would convert what is asked for in another version than it was written in."""
    spec = {key: value for key, value in definition["spec"].items() if key != "conversion"}
    return {**definition, "spec": spec}
