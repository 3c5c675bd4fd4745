"""A queue's quota counted in machines."""

from collections.abc import Callable

import pulumi
import pytest

from tests.platform.declared_resources import declared_objects, declared_resources
from trainer_infra import platform


def pools() -> tuple[platform.GpuNodePool, platform.GpuNodePool]:
    big = platform.GpuNodePool(
        "big", backend="existing", machine_type="p5.48xlarge", nodes={"max": 4}, fabric="efa"
    )
    small = platform.GpuNodePool(
        "small", backend="existing", machine_type="g6.12xlarge", nodes={"max": 2}
    )
    return big, small


def test_a_queue_has_what_so_many_machines_have_and_none_of_what_they_lack() -> None:
    def program() -> None:
        big, small = pools()
        quota = platform.pool_quota((big, 3), small)
        platform.ClusterQueue("team", quota=quota)

    (group,) = declared_objects(program)["ClusterQueue/team"]["spec"]["resourceGroups"]
    assert group == {
        "coveredResources": ["cpu", "memory", "nvidia.com/gpu", "vpc.amazonaws.com/efa"],
        "flavors": [
            {
                "name": "big",
                "resources": [
                    {"name": "cpu", "nominalQuota": "574350m"},
                    {"name": "memory", "nominalQuota": "6144558Mi"},
                    {"name": "nvidia.com/gpu", "nominalQuota": "24"},
                    {"name": "vpc.amazonaws.com/efa", "nominalQuota": "96"},
                ],
            },
            {
                "name": "small",
                "resources": [
                    {"name": "cpu", "nominalQuota": "95620m"},
                    {"name": "memory", "nominalQuota": "371306Mi"},
                    {"name": "nvidia.com/gpu", "nominalQuota": "8"},
                    {"name": "vpc.amazonaws.com/efa", "nominalQuota": "0"},
                ],
            },
        ],
    }


def more_than_there_are() -> None:
    big, small = pools()
    platform.pool_quota((big, 5), (small, -1))


def without_a_flavor() -> None:
    pool = platform.GpuNodePool(
        "big", backend="existing", machine_type="p5.48xlarge", nodes={"max": 4}, queueing=False
    )
    platform.pool_quota(pool)


@pytest.mark.parametrize(
    ("program", "sentences"),
    [
        (
            more_than_there_are,
            [
                "pool big: quota: must be 0 to 4 machines, which it has, got 5",
                "pool small: quota: must be 0 to 2 machines, which it has, got -1",
            ],
        ),
        (without_a_flavor, ["pool big: quota: has no flavor: queueing is False"]),
    ],
)
def test_machines_that_a_pool_does_not_have_are_no_quota(
    program: Callable[[], None], sentences: list[str]
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(program)
    assert str(raised.value).splitlines() == sentences
