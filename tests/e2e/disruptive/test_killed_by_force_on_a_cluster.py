"""A run on a cluster whose programs, pods and kubelet are killed by force goes on from its checkpoints.

On a cluster of its own: no other pod starts without a kubelet. The figures are shown as those of this machine are.
"""

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.killed_by_force import TIMES
from tests.e2e.killed_on_a_cluster import strike_on_a_cluster


@TIMES
def test_it_goes_on_when_a_program_a_pod_or_a_kubelet_is_killed(
    cluster_stack: Stack, namespace: Namespace, times: int
) -> None:
    strike_on_a_cluster(cluster_stack, namespace, times, kubelet=True)
