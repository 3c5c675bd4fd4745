"""Arguments of the type that they need: what is not typed correctly cannot be judged."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.platform.pools.pool_arguments import (
    AksArgs,
    ClusterApiArgs,
    ComputeClassArgs,
    EksArgs,
    FabricArgs,
    GkeArgs,
    KarpenterArgs,
    NodesArgs,
)

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "accelerator": (str,),
    "machine_type": (str,),
    "reservation": (str,),
    "nodes": (Mapping,),
    "capacity": (Mapping,),
    "labels": (Mapping,),
    "domain_nodes": (Mapping,),
    "taints": (list, tuple),
    "topology": (list, tuple),
    "zones": (list, tuple),
    "fabric": (str, Mapping),
    "gpus_per_node": (int,),
    "max_run_duration": (int,),
    "karpenter": (Mapping,),
    "gke_compute_class": (Mapping,),
    "cluster_api": (Mapping,),
    "gke": (Mapping,),
    "eks": (Mapping,),
    "aks": (Mapping,),
}
_WORDS: Final = {Mapping: "a mapping", list: "a list", str: "a name", int: "a whole number"}
_PARTS: Final[Mapping[str, type]] = {
    "nodes": NodesArgs,
    "karpenter": KarpenterArgs,
    "gke_compute_class": ComputeClassArgs,
    "cluster_api": ClusterApiArgs,
    "gke": GkeArgs,
    "eks": EksArgs,
    "aks": AksArgs,
}


def problems_of_types(args: Mapping[str, Any]) -> Iterator[Problem]:
    """Outputs where a plain value is needed, values of another type, and keys that are none."""
    for key, value in args.items():
        if isinstance(value, pulumi.Output):
            what = "is an Output, whose value the preview does not know"
            yield Problem(key, what, fix="write the value itself")
        elif key in _TYPES and not isinstance(value, _TYPES[key]):
            yield Problem(key, f"must be {_WORDS[_TYPES[key][0]]}", got=value)
    for part, known in _PARTS.items():
        yield from _unknown_keys(part, args.get(part), known)
    yield from _unknown_keys("fabric", args.get("fabric"), FabricArgs)
    if isinstance(args.get("fabric"), Mapping) and "preset" not in args["fabric"]:
        yield Problem("fabric.preset", "is missing")


def _unknown_keys(path: str, value: object, known: type) -> Iterator[Problem]:
    fields: Sequence[str] = tuple(known.__annotations__)
    for key in value if isinstance(value, Mapping) else ():
        if key not in fields:
            yield Problem(f"{path}.{key}", "is not an argument", fix=f"use {', '.join(fields)}")
