"""Pulumi Outputs inside what a user wrote -> plain values, with secret ones marked as Secret.

The engine keeps a secret encrypted only under the input name it came in (Pulumi facts
row 12), so secrets must be known before the inputs are made. Called by `declared`.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi
from pulumi import _types  # no public name tells an input type

from trainer_infra.deploy.boundary import UNKNOWN_TEXT
from trainer_infra.trainers.secret import Secret

T = TypeVar("T")


def found_in(value: Any) -> bool:
    """Whether the value is, or holds, an Output."""
    if isinstance(value, Secret):
        return found_in(value.value)
    if isinstance(value, Mapping):
        return any(found_in(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(found_in(each) for each in value)
    return isinstance(value, pulumi.Output)


def plain_inputs(value: Any) -> Any:
    """The value with a mapping in place of each input type, and an Output of each awaitable.

    What stands in an input type, of pulumi_kubernetes for example, would else reach the engine
    unseen, secrets too. An awaitable can be awaited only once.
    """
    if isinstance(value, Secret):
        return Secret(plain_inputs(value.value))
    if isinstance(value, Mapping):
        return {key: plain_inputs(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain_inputs(each) for each in value]
    if _types.is_input_type(type(value)):
        return plain_inputs(_types.input_type_to_dict(value))
    return pulumi.Output.from_input(value) if inspect.isawaitable(value) else value


@dataclass(slots=True)
class _Opened:
    complete: bool = True
    """Whether every value is known."""
    known: bool = True
    """Whether there is a result."""
    resources: set[pulumi.Resource] = field(default_factory=set)


def opened(
    value: Any,
    judge: Callable[[Any], None],
    then: Callable[[Any], Mapping[str, Any]],
    keys: tuple[str, ...],
) -> dict[str, pulumi.Output[Any]]:
    """`then` of the opened value, as one Output per key of its result.

    What is not known at preview stays unknown in its place, so that all else is shown and judged;
    where `then` cannot do without it, the whole result is. The Outputs are not secret: `judge` gets
    Secret objects, also of values that are not known yet, and raises where they must not stand.
    """
    state = _Opened()

    async def compute() -> Mapping[str, Any]:
        plain = await _open(value, state)
        judge(plain)
        if state.complete:
            return then(plain)
        try:
            return {key: _unknown_whole(each) for key, each in then(plain).items()}
        except (pulumi.RunError, TypeError, ValueError):
            # It may be the stand-in that does not suit; the deployment tells.
            state.known = False
            return {}

    task = asyncio.ensure_future(compute())

    async def data(key: str) -> Any:
        return (await task).get(key)

    async def known() -> bool:
        await asyncio.wait({task})
        return state.known

    async def resources() -> set[pulumi.Resource]:
        await asyncio.wait({task})
        return state.resources

    return {
        key: pulumi.Output(_begun(resources()), _begun(data(key)), _begun(known())) for key in keys
    }


def _begun(what: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """The coroutine on its way: an error ends the program once, however many Outputs have it."""
    task = asyncio.ensure_future(what)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


async def _open(value: Any, state: _Opened) -> Any:
    if isinstance(value, Secret):
        inner = await _open(value.value, state)
        return inner if isinstance(inner, Secret) else Secret(inner)
    if isinstance(value, Mapping):
        return {key: await _open(each, state) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [await _open(each, state) for each in value]
    if not isinstance(value, pulumi.Output):
        return value
    state.resources |= await value.resources()
    if not await value.is_known():
        state.complete = False
        return Secret(UNKNOWN_TEXT) if await value.is_secret() else UNKNOWN_TEXT
    inner = await _open(await value.future(), state)
    return Secret(inner) if await value.is_secret() else inner


def _unknown_whole(value: Any) -> Any:
    """The value, with texts that have an unknown one in them unknown as a whole."""
    if isinstance(value, Mapping):
        return {key: _unknown_whole(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_unknown_whole(each) for each in value]
    return UNKNOWN_TEXT if isinstance(value, str) and UNKNOWN_TEXT in value else value
