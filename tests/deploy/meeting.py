"""A resource whose create waits until so many others are being created: for `test_serving`.

Copied into a project's folder, whose program and whose serving process import it.
"""

import threading
from typing import Any

from pulumi.dynamic import CheckResult, CreateResult, Resource
from typing_extensions import override

from trainer_infra.deploy.provider import Provider

TOGETHER = 12
"""Creates that wait for each other: three times as many as the SDK's script serves at once."""
WITHIN = 60.0
"""Seconds after which they give up."""
_HERE = threading.Barrier(TOGETHER)


class MeetingProvider(Provider):
    """Of ours, as far as the serving process knows."""

    @override
    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        return CheckResult(news, [])

    @override
    def create(self, props: dict[str, Any]) -> CreateResult:
        _HERE.wait(WITHIN)
        return CreateResult(str(props["index"]), props)


class Meeting(Resource, module="tests", name="Meeting"):
    """One of those who meet."""

    def __init__(self, index: int) -> None:
        super().__init__(MeetingProvider(), f"meeting-{index}", {"index": index})
