"""Several requests at once: all of them end before the first error is raised.

Called wherever what was begun must be known before the next step, for example to remove it again.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

T = TypeVar("T")


async def all_results(requests: Iterable[Awaitable[T]]) -> list[T]:
    """The results in order.

    Raises:
        Exception: The first error by order, once every request has ended.
    """
    results = await asyncio.gather(*requests, return_exceptions=True)
    for each in results:
        if isinstance(each, BaseException):
            raise each
    return [each for each in results if not isinstance(each, BaseException)]
