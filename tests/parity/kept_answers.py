"""What the reference answered, kept in the cache folder: asking it is most of the time of its tests.

It is pinned, and what it answers follows from the question but for the order in which it calls its
plugins; so an answer that it gave once stands for the next time. A question that ours, the
generator or the reference itself changes is another one, and asked.
"""

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path


def kept_answer(folder: Path, question: str, ask: Callable[[], str]) -> str:
    """The answer that the folder has to the question; else the one that it is given now."""
    file = folder / f"{hashlib.sha256(question.encode()).hexdigest()}.gz"
    try:
        return gzip.decompress(file.read_bytes()).decode()
    except FileNotFoundError:
        answer = ask()
    folder.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_bytes(gzip.compress(answer.encode(), compresslevel=1, mtime=0))
    partial.rename(file)
    return answer
