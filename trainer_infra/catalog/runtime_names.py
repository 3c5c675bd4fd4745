"""The names of the shipped runtimes as a type, so that an editor completes them.

A test holds it equal to the catalog. Only type checkers read it.
"""

from typing import Literal

RuntimeName = Literal[
    "torch-distributed",
    "jax-distributed",
    "xgboost-distributed",
    "deepspeed-distributed",
    "mlx-distributed",
    "torchtune-llama3.2-1b",
    "torchtune-llama3.2-3b",
    "torchtune-qwen2.5-1.5b",
    "torch-distributed-with-cache",
    "plain-distributed",
    "flux-distributed",
    "torchtune-llama3.3-70b",
    "torch-distributed-with-initializers",
]
