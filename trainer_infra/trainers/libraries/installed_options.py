"""The options of the library that is installed here, where its version is not the recorded one.

The library's own parser is asked in a process of its own (`parser_record`), once for each version:
what it says stays in the cache. Where it cannot be asked, the record counts.
"""

import hashlib
import importlib.metadata
import io
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from trainer_infra import home_folders
from trainer_infra.trainers.custom.stored_code import write_whole
from trainer_infra.trainers.libraries import option_schema, parser_record
from trainer_infra.trainers.libraries.option_schema import OptionSchema

WITHIN: Final = 120.0
"""Seconds that a library gets to say what it takes: it may import much."""


@cache
def option_schema_of(name: str) -> OptionSchema:
    """The schema of a record, `trl-sft`, for the library as this Python has it."""
    known = option_schema.recorded(name)
    try:
        version = parser_record.version_of(known.library)
    except importlib.metadata.PackageNotFoundError:
        return known
    if version == known.version:
        return known
    # What another release of ours asked a library may lack what this one reads.
    asking = hashlib.sha256(Path(parser_record.__file__).read_bytes()).hexdigest()[:8]
    file = home_folders.cache_home() / "option-records" / f"{name}-{version}-{asking}.json"
    if not file.exists() and (said := _asked(name)):
        write_whole(file, io.BytesIO(said.encode()))
    return OptionSchema.from_record(json.loads(file.read_text("utf-8"))) if file.exists() else known


def _asked(name: str) -> str:
    """What the library's parser says, as JSON; empty where it cannot be asked."""
    command = [sys.executable, parser_record.__file__, name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = done.stdout.splitlines()
    return lines[-1] if done.returncode == 0 and lines else ""
