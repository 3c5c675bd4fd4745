"""FSDP2: a mesh of all processes, and a function that shards a model over it. Needs torch 2.6 or newer.

Source: PyTorch's `torch.distributed.fsdp.fully_shard`.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

DATA, TENSOR = "data", "tensor"
"""Dimensions of the mesh."""


@contextmanager
def prepared(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`mesh`, a DeviceMesh of (data, tensor), and `shard`, which takes a model and returns it sharded.

    Settings are `tensor_parallel`, `precision`, `cpu_offload` and `reshard_after_forward` of the trainer.

    Raises:
        ValueError: The processes cannot be divided by `tensor_parallel`.
    """
    import torch  # noqa: PLC0415  only this framework has it

    with process_group() as device:
        tensor, processes = settings["tensor_parallel"], torch.distributed.get_world_size()
        if processes % tensor:
            raise ValueError(f"tensor_parallel={tensor} does not divide {processes} processes")
        shape = (processes // tensor, tensor)
        mesh = torch.distributed.init_device_mesh(device, shape, mesh_dim_names=(DATA, TENSOR))
        yield {"mesh": mesh, "shard": partial(shard, mesh=mesh[DATA], settings=settings)}


def shard(model: Any, *, mesh: Any, settings: dict[str, Any]) -> Any:
    """The model, with each layer of its lists of layers sharded by itself, then the rest."""
    import torch  # noqa: PLC0415  only this framework has it
    from torch.distributed import fsdp  # noqa: PLC0415  the same

    arguments = {"mesh": mesh, "reshard_after_forward": settings["reshard_after_forward"]}
    if settings["precision"]:
        precision = getattr(torch, settings["precision"])
        arguments["mp_policy"] = fsdp.MixedPrecisionPolicy(precision, torch.float32)
    if settings["cpu_offload"]:
        arguments["offload_policy"] = fsdp.CPUOffloadPolicy(pin_memory=torch.cuda.is_available())
    for module in list(model.modules()):
        if isinstance(module, torch.nn.ModuleList):
            for layer in module:
                fsdp.fully_shard(layer, **arguments)
    return fsdp.fully_shard(model, **arguments)


@contextmanager
def process_group() -> Iterator[str]:
    """The kind of device that this process trains on: `cuda` or `cpu`."""
    import torch  # noqa: PLC0415  only this framework has it

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl" if device == "cuda" else "gloo")
    try:
        yield device
    finally:
        # What divides a model holds the group in a circle of references. Freed only when the interpreter
        # ends, its threads can abort a process that has trained to the end (pytorch/pytorch#179291).
        gc.collect()
        torch.distributed.destroy_process_group()
