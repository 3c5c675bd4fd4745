"""What torchrun adds to a log when one of its processes has failed: two screens that do not say why.

Pure. Source: PyTorch's `torch.distributed.elastic.multiprocessing`.
"""

import re
from collections.abc import Sequence
from typing import Final

_FAILED: Final = re.compile(
    r"torch/distributed/elastic/multiprocessing/api\.py:\d+\] failed \(exitcode"
)
"""The first line of it, which names the exit code and the rank."""


def without_torchrun_summary(lines: Sequence[str]) -> Sequence[str]:
    """The lines up to the one in which torchrun says that a process has failed."""
    for index, line in enumerate(lines):
        if _FAILED.search(line):
            return lines[: index + 1]
    return lines
