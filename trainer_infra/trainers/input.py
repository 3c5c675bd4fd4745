"""`Input[T]`: a T, or in a Pulumi program something that becomes one: an Output or an awaitable.

Used by the types of what users write here. This room does not import Pulumi, and works without it.
A protocol of our own would not do: `Output` is generic, and a program that hands on an `Input[T]`
that it got itself must pass a type checker. So a type checker, which needs no import at run time,
reads Pulumi's own type, and Python a union that says as much as this room knows: the deploy room
puts the values in before anything here is called.
"""

from typing import TYPE_CHECKING, Any, TypeVar, Union

T = TypeVar("T")

if TYPE_CHECKING:
    from pulumi import Input
else:
    Input = Union[T, Any]  # noqa: UP007  an alias that can be subscripted

__all__ = ["Input"]
