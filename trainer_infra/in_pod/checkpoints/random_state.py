"""The generators of random numbers that a process has: what was drawn before a checkpoint is not drawn again.

JAX has none that is not in the program's own state.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any


def current() -> dict[str, Any]:
    """The states of those of Python, numpy and torch, as far as the program uses them."""
    found: dict[str, Any] = {"python": random.getstate()}
    if numpy := sys.modules.get("numpy"):
        found["numpy"] = numpy.random.get_state()
    if torch := sys.modules.get("torch"):
        found["torch"] = torch.get_rng_state().numpy().tobytes()
        if torch.cuda.is_initialized():
            found["cuda"] = torch.cuda.get_rng_state().numpy().tobytes()
    return found


def restore(states: Mapping[str, Any]) -> None:
    """Go on with these states."""
    random.setstate(states["python"])
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy and "numpy" in states:
        numpy.random.set_state(states["numpy"])
    if torch and "torch" in states:
        torch.set_rng_state(_tensor(torch, states["torch"]))
    if torch and "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(_tensor(torch, states["cuda"]))


def _tensor(torch: Any, content: bytes) -> Any:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)
