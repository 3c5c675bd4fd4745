"""What Kueue knows of a pool: its flavor and its topology, in wire form."""

from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.rules.node_pool import PoolSpec

_VERSION: Final = f"{names.KUEUE_GROUP}/v1beta2"
_HARD: Final = ("NoSchedule", "NoExecute")


def flavor_object(spec: PoolSpec) -> JSONObject:
    """The ResourceFlavor.

    Its tolerations are added to the pods of admitted jobs, so that no job has to write them.
    """
    fields: JSONDict = {
        "nodeLabels": dict(spec.labels),
        "nodeTaints": [dict(each) for each in spec.taints if each["effect"] in _HARD],
        "tolerations": [dict(each) for each in spec.tolerations],
        "topologyName": spec.topology_name,
    }
    return {
        "apiVersion": _VERSION,
        "kind": names.RESOURCE_FLAVOR,
        "metadata": {"name": spec.flavor_name},
        "spec": {key: each for key, each in fields.items() if each},
    }


def topology_object(spec: PoolSpec) -> JSONObject:
    """The Topology, broadest level first."""
    return {
        "apiVersion": _VERSION,
        "kind": names.KUEUE_TOPOLOGY,
        "metadata": {"name": spec.topology_name},
        "spec": {"levels": [{"nodeLabel": each} for each in spec.topology]},
    }
