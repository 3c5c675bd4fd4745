"""DeepSpeed: its process group, and the configuration that `deepspeed.initialize` takes. Needs deepspeed."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SHARED_MEMORY = "deepspeed_shm_comm"
"""The op by which processes of one machine exchange tensors without GPUs; without it gloo does."""

OF_MPI = "OMPI_COMM_WORLD_LOCAL_RANK"
"""Number of a process on its node where mpirun started it; torchrun sets LOCAL_RANK."""


@contextmanager
def prepared(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """`config`, the configuration of the trainer."""
    import deepspeed  # noqa: PLC0415  only this framework has it
    import torch  # noqa: PLC0415  the same

    if not torch.cuda.is_available():
        # DeepSpeed would compile it at each start, a minute, and end where it cannot.
        deepspeed.ops.__compatible_ops__[SHARED_MEMORY] = False
    else:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK") or os.environ.get(OF_MPI) or 0))
    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield {"config": settings["config"]}
    finally:
        gc.collect()  # the engine holds the group in a circle: see fsdp2.py
        torch.distributed.destroy_process_group()
