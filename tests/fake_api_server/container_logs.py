"""What containers have written, for memory.py.

A test writes it; a container without a line has not started.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fake_api_server import object_store
from tests.fake_api_server.request_judgement import refused
from trainer_infra.kube.client import LogOf

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log."""

    time: str
    """RFC 3339."""
    text: str


@dataclass(slots=True)
class Log:
    """What one container has written."""

    lines: list[Line] = field(default_factory=list)
    ended: bool = False
    """Whether the container has."""


class Logs:
    """The logs of all containers."""

    def __init__(self) -> None:
        self._logs: dict[tuple[str, str, str], Log] = {}

    def write(self, namespace: str, pod: str, container: str, text: str) -> None:
        """Add a line."""
        log = self._logs.setdefault((namespace, pod, container), Log())
        log.lines.append(Line(object_store.now(), text))

    def end(self, namespace: str, pod: str, container: str) -> None:
        """No line comes any more."""
        self._logs.setdefault((namespace, pod, container), Log()).ended = True

    def find(self, wanted: LogOf, pod: JSON) -> Log:
        """The log that is meant.

        Raises:
            Invalid: The container has not started, or has no such name, or none was named.
        """
        known = [each["name"] for each in pod["spec"]["containers"]]
        container = wanted.container or known[0]
        found = self._logs.get((wanted.namespace, wanted.pod, container))
        if not wanted.container and len(known) > 1:
            choose = f"choose one of: [{' '.join(known)}]"
            message = f"a container name must be specified for pod {wanted.pod}, {choose}"
        elif container not in known:
            message = f"container {container} is not valid for pod {wanted.pod}"
        elif wanted.previous:
            message = f'previous terminated container "{container}" of {wanted.pod} not found'
        elif found is None:
            message = f'container "{container}" in pod "{wanted.pod}" is waiting to start'
        else:
            return found
        raise refused("BadRequest", message, f"read the log of {wanted.namespace}/{wanted.pod}")
