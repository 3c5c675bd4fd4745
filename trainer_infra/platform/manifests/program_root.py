"""The program that an engine runs, to which belongs what its components know of one another."""

import pulumi

from trainer_infra.platform.cluster_connection import has_no_cluster


def program_root() -> pulumi.Resource | None:
    """The resource of its stack; None under Pulumi's mocks.

    A process of unit tests has one root for all of them, and each may declare what another one does.
    """
    return None if has_no_cluster() else pulumi.runtime.get_root_resource()
