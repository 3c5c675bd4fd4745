"""The process group of torchrun's processes, on their GPUs where there are any.

Needs torch.
"""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import gc
import os
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


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
