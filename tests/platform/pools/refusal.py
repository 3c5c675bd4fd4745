"""What a program ends with that declares a pool that cannot work."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import declared_resources
from trainer_infra import platform


def pool_refusal(name: str, base: Mapping[str, Any], change: Mapping[str, Any]) -> list[str]:
    """The lines that the program ends with.

    Args:
        name: of the pool.
        base: arguments of a pool that works.
        change: others in their place; None takes one away.
    """
    args = {key: each for key, each in {**base, **change}.items() if each is not None}
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: platform.GpuNodePool(name, **args))
    return str(raised.value).splitlines()
