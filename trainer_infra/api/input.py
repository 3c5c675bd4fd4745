"""`Input[T]`: a T, or in a Pulumi program something that becomes one: an Output or an awaitable.

This room works without Pulumi. A protocol of our own would not do: `Output` is generic, and a program that hands on
an `Input[T]` that it got itself must pass a type checker. So that reads Pulumi's own type, and Python a union that
says as much as this room knows: the deploy room puts the values in before anything here is called.
"""

from typing import TYPE_CHECKING, Any, Final, TypeVar, Union

T = TypeVar("T")

if TYPE_CHECKING:
    from pulumi import Input
else:
    Input = Union[T, Any]  # noqa: UP007  an alias that can be subscripted

UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands for an Output that only the deployment will tell, here and as the engine writes it on the wire."""

__all__ = ["UNKNOWN", "Input", "is_stand_in"]


def is_stand_in(value: object) -> bool:
    """Whether it is `UNKNOWN`; an array of numpy has an answer to `==` for each of its items."""
    return isinstance(value, str) and value == UNKNOWN
