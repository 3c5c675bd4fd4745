"""A real API server that serves the kinds of Kueue and Volcano's Queue, without their controllers."""

from collections.abc import Sequence
from typing import Final

from tools.cluster import crds
from tools.cluster.client import Client
from tools.cluster.crds import Published
from tools.cluster.kube_apiserver import Address
from trainer_infra.json_values import JSONObject

VOLCANO_QUEUE: Final = Published(
    "volcano.sh/volcano",
    "v1.10.0",
    "config/crd/volcano/bases/scheduling.volcano.sh_queues.yaml",
    "cac5d5f817af8f2d7167fd9c9ef0ecaae1944a2139648c790c2948e3a38c4065",
)


def install_kueue_crds(address: Address, definitions: Sequence[JSONObject]) -> None:
    """Serve them, as Kueue's release and Volcano's define them."""
    kueue = [dict(each) for each in definitions]
    for each in kueue:
        # Its controller converts older versions; nothing here asks for one.
        each["spec"] = {key: value for key, value in each["spec"].items() if key != "conversion"}
        each["spec"]["versions"] = [
            one for one in each["spec"]["versions"] if one["name"] == "v1beta2"
        ]
    with Client(address) as client:
        crds.install(client, (*kueue, crds.published(VOLCANO_QUEUE)))
