"""A dynamic resource that does nothing: what Pulumi itself costs, beside which ours is measured.

Imported by the programs that `tools/bench/cluster.py` writes.
"""

from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, Resource, ResourceProvider
from typing_extensions import override


class TrivialProvider(ResourceProvider):
    """Creates nothing."""

    @override
    def create(self, props: dict[str, Any]) -> CreateResult:
        """An id, and the inputs as outputs."""
        return CreateResult(str(props["index"]), props)


class Trivial(Resource, module="bench", name="Trivial"):
    """One resource with one number."""

    def __init__(self, name: str, index: int, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(TrivialProvider(), name, {"index": index}, opts)
