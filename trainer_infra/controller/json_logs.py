"""Logs as one JSON object a line, with the TrainJob that a line is about.

The manager sets it up. Whatever is logged while a worker looks at a TrainJob names that TrainJob.
"""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final

from typing_extensions import override

from trainer_infra.controller.informer import ObjectKey

CURRENT: Final[ContextVar[ObjectKey | None]] = ContextVar("train_job", default=None)
"""The TrainJob that this task looks at."""


class JsonFormatter(logging.Formatter):
    """One JSON object a line."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        time = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "ts": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        key = CURRENT.get()
        if key is not None:
            line["trainJob"] = {"namespace": key.namespace, "name": key.name}
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def start_json_logs(level: str) -> None:
    """Write all logs of this process to stderr so, from a level on: debug, info, warning or error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # aiohttp would write a line for each request that it serves.
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)
