"""What only the replica that leads may do in the cluster, for no longer than its Lease lasts.

The reconciler, the recorder of events and the finalizers of runtimes write with it. A process that stood still
and goes on cannot know by itself that another replica leads by now; its clock tells.
"""

import math
from collections.abc import Callable

from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient


class LeaderClient:
    """A client whose requests end with the Lease."""

    def __init__(self, client: KubeClient) -> None:
        """For ever, until replicas elect a leader.

        Args:
            client: of the cluster.
        """
        self.client = client
        """For what every replica may do, reads above all."""
        self.seconds_left: Callable[[], float] = lambda: math.inf
        """How long it may write; replaced where replicas elect a leader."""

    def within(self, seconds: float) -> KubeClient:
        """The client for one request, which takes no longer than this many seconds.

        Raises:
            NotAvailable: Another replica may lead.
        """
        left = self.seconds_left()
        if left <= 0.0:
            raise NotAvailable("another replica may lead now: nothing more is written")
        return self.client.within(min(seconds, left))
