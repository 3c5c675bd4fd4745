"""Schedulers of gangs on a real cluster: all pods of a run start, or none of them does.

Each is installed by `pulumi up` in a stack of its own, runs a torchtune-like and an MPI run of engine
`provider`, and is taken away.
"""

from typing import Any

from tests.e2e.conftest import kubeconfig, namespace

__all__ = ["kubeconfig", "namespace"]
JSON = dict[str, Any]

PROGRAM = """
import pulumi
from trainer_infra import platform

# Images are loaded into the node, which has two cores.
here = {"image_pull_policy": "IfNotPresent", "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}}}
scheduler = platform.COMPONENT("gangs", **here)
pulumi.export("version", scheduler.version)
"""
