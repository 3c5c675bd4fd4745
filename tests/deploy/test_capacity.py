"""A preview says what this machine does not have."""

from tests.deploy.project import Stack

PROGRAM = """
from trainer_infra import TrainJobs
wide = {"numNodes": 1000, "command": ["true"], "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
member = {"runtime": "plain-distributed", "trainer": wide, "suspend": True}
TrainJob("job", **member)
TrainJobs("many", {"a": member, "b": member})
"""


def test_a_preview_says_what_this_machine_does_not_have(stack: Stack) -> None:
    stack.program(PROGRAM)
    shown = stack.preview()
    assert shown.count("warning: 8000 nvidia.com/gpu requested in all") == 1
    assert shown.count("warning: 16000 nvidia.com/gpu requested in all") == 1
    assert "1,000 pods are as many processes" in shown
