"""The program that an engine runs, to which belongs what its components know of one another."""

import pulumi
from pulumi.runtime.mocks import MockMonitor
from pulumi.runtime.settings import get_monitor


def program_root() -> pulumi.Resource | None:
    """The resource of its stack; None under Pulumi's mocks.

    A process of unit tests has one root for all of them, and each may declare what another one does.
    """
    return None if isinstance(get_monitor(), MockMonitor) else pulumi.runtime.get_root_resource()
