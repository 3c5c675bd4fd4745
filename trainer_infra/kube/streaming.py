"""Lines of an answer that comes bit by bit.

A line may be longer than any buffer: an event of a watch is one.
"""

from collections.abc import AsyncGenerator, AsyncIterator


class BrokenStream(Exception):
    """A stream's connection was lost, or was silent for too long."""


async def stream_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Each line without its end; a last one without an end comes too, unless the stream breaks.

    Raises:
        BrokenStream: The stream did not end by itself; every whole line has come before.
    """
    kept: list[bytes] = []
    async for chunk in chunks:
        head, *rest = chunk.split(b"\n")
        kept.append(head)
        for line in rest:
            yield b"".join(kept)
            kept = [line]
    if last := b"".join(kept):
        yield last
