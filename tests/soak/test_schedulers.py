"""Schedulers of gangs on a real cluster: all pods of a run start, or none of them does.

Each is installed by `pulumi up` in a stack of its own, runs a torchtune-like and an MPI run of engine
`provider`, and is taken away.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.conftest import kubeconfig, namespace
from tests.e2e.jobs import Jobs, eventually
from tests.soak.gangs import MPI, SLOT, TORCHTUNE, Gang, Slots
from tools.cluster import base_image, coscheduling, helm, images, lws, volcano
from trainer_infra import names
from trainer_infra.runs.run import COMPLETE

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
