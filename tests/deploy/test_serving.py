"""The process that serves our providers: what we change of it, with the real CLI."""

import shutil
from pathlib import Path

from tests.deploy import meeting
from tests.deploy.project import Stack

PROGRAM = """
import meeting
for index in range(meeting.TOGETHER):
    meeting.Meeting(index)
"""


def test_it_serves_as_many_operations_at_once_as_the_engine_asks_for(cli_stack: Stack) -> None:
    shutil.copy(Path(meeting.__file__), cli_stack.folder)
    cli_stack.program(PROGRAM)
    shown = cli_stack.up("--parallel", str(meeting.TOGETHER))
    assert "BrokenBarrierError" not in shown
    assert len(cli_stack.resources("dynamic/tests:Meeting")) == meeting.TOGETHER
