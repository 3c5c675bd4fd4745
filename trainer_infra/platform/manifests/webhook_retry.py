"""What tries again to write an object while the controller that judges it is about to answer.

A controller writes its webhooks' certificates some seconds after its pods are ready, and a kind is
served a moment after its definition is stored. The engine asks a program before it gives up on a
resource (Pulumi's error hooks); `destroy` needs no program for them.
"""

import asyncio
from typing import Final

import pulumi
from pulumi.runtime.settings import _get_callbacks
from pulumi.runtime.sync_await import _sync_await

from trainer_infra.deploy.program_value import ProgramValue

PASSING: Final = (
    "failed calling webhook",
    "no endpoints available for service",
    "no matches for kind",
    "the server could not find the requested resource",
    "certificate signed by unknown authority",
    "connect: connection refused",
)
"""Parts of what an API server says while a webhook or a kind is not served yet."""
TRIES: Final = 30
"""Tries of one object at most."""
_PAUSE: Final = 2.0
"""Seconds between two tries."""


def will_pass(errors: list[str]) -> bool:
    """Whether what an object was refused for is over in a moment.

    Args:
        errors: of every try until now.
    """
    return 0 < len(errors) < TRIES and all(any(part in each for part in PASSING) for each in errors)


def _new_hook() -> pulumi.ResourceHookBinding:
    async def ask(failed: pulumi.ErrorHookArgs) -> bool:
        if failed.failed_operation == "delete" or not will_pass(failed.errors):
            return False
        await asyncio.sleep(_PAUSE)
        return True

    # Where a program ends with a sentence while the SDK's server of hooks starts, Python crashes.
    _sync_await(_get_callbacks())
    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook("trainer:webhook-retry", ask)])


_HOOK: Final = ProgramValue(_new_hook)


def webhook_retry() -> pulumi.ResourceHookBinding:
    """An option for resources, one of each program: the engine takes the name of a hook once."""
    return _HOOK.of()
