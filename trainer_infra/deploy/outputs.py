"""Pulumi Outputs inside what a user wrote -> plain values, with secret ones marked as Secret.

The engine keeps a secret encrypted only under the input name it came in (Pulumi facts row 12), so
secrets must be known before the inputs are made.
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pulumi
from pulumi import _types  # no public name tells an input type

from trainer_infra.api.input import UNKNOWN
from trainer_infra.api.secret import Secret
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import Problem
from trainer_infra.json_values import as_integer, json_leaves, with_leaves

T = TypeVar("T")


class InputRefusal(pulumi.RunError):
    """What a user wrote cannot work: the problems as sentences, which end the program without a traceback."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.certain: tuple[Problem, ...] = tuple(
            each
            for each in problems
            if each.independent and not is_unknown(each.got) and UNKNOWN not in str(each)
        )
        """Those that hold whatever becomes known."""


def has_output(value: Any) -> bool:
    """Whether the value is, or holds, an Output."""
    return any(
        has_output(leaf.value) if isinstance(leaf, Secret) else isinstance(leaf, pulumi.Output)
        for _, leaf in json_leaves(value)
    )


def plain_inputs(value: Any) -> Any:
    """The value with a mapping in place of each input type, and an Output of each awaitable.

    What stands in an input type, of pulumi_kubernetes for example, would else reach the engine
    unseen, secrets too. An awaitable can be awaited only once.
    """

    def plain(leaf: Any) -> Any:
        if isinstance(leaf, Secret):
            return Secret(plain_inputs(leaf.value))
        if _types.is_input_type(type(leaf)):
            return plain_inputs(_types.input_type_to_dict(leaf))
        return pulumi.Output.from_input(leaf) if inspect.isawaitable(leaf) else leaf

    return with_leaves(value, plain)


@dataclass(slots=True)
class _OpenedValue:
    complete: bool = True
    """Whether every value is known."""
    known: bool = True
    """Whether there is a result."""
    resources: set[pulumi.Resource] = field(default_factory=set)


def open_outputs(
    value: Any,
    judge: Callable[[Any], None],
    then: Callable[[Any], Mapping[str, Any]],
    keys: tuple[str, ...],
) -> dict[str, pulumi.Output[Any]]:
    """`then` of the opened value, as one Output per key of its result.

    What is not known at preview stays unknown in its place, so that all else is shown and judged;
    where `then` cannot do without it, the whole result is, but what `then` refuses for certain ends the
    program. The Outputs are not secret: `judge` gets Secret objects, also of values that are not known
    yet, and raises where they must not stand.
    """
    state = _OpenedValue()

    async def compute() -> Mapping[str, Any]:
        plain = await _open(value, state)
        judge(plain)
        if state.complete:
            return then(plain)
        try:
            return {key: with_leaves(each, _whole_text) for key, each in then(plain).items()}
        except Exception as error:  # noqa: BLE001  a trainer of a third party may fail in any way
            if isinstance(error, InputRefusal) and error.certain:
                raise InputRefusal(error.certain) from None
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


async def _open(value: Any, state: _OpenedValue) -> Any:
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
        return Secret(UNKNOWN) if await value.is_secret() else UNKNOWN
    inner = await _open(with_leaves(await value.future(), as_integer), state)
    return Secret(inner) if await value.is_secret() else inner


def _whole_text(leaf: Any) -> Any:
    """A leaf; a text that has an unknown one in it is unknown as a whole."""
    return UNKNOWN if isinstance(leaf, str) and UNKNOWN in leaf else leaf
