"""A namespace of a real cluster as tests see and disturb it: by kubectl, as a person would.

What they look at again and again is read by our own client: a kubectl is a process, and a tenth of a
second of the processor, at each look.
"""

import functools
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trainer_infra.cluster.rights import WORKLOAD
from trainer_infra.kube import http, resource
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.loop import run_in_loop
from trainer_infra.kube.resource import Resource

PROGRAM = """
import json, pathlib
place = json.loads(pathlib.Path("place.json").read_text())
NS = place["ns"]

def on(**arguments):
    return CustomTrainer(train, func_args=arguments, num_nodes=2, image=place["image"],
                         resources_per_node={"cpu": "50m"})

def tried_once(name):
    from trainer_infra import catalog
    runtime = catalog.get(name).to_wire()
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        job["template"]["spec"]["backoffLimit"] = 0
    return runtime
"""
"""Begins every program: `on(seconds=1.0)` is a trainer that needs no framework."""

_LOOKED_AT: Final = {
    each.plural: each
    for each in (
        *(resource.CONFIG_MAP, resource.SECRET, resource.POD, resource.EVENT, resource.NODE),
        *(resource.JOB, resource.JOBSET, resource.TRAIN_JOB, resource.TRAINING_RUNTIME),
        WORKLOAD,
        Resource("v1", "ResourceQuota", "resourcequotas"),
        Resource("v1", "ServiceAccount", "serviceaccounts"),
    )
}
"""Kinds that tests wait for, by their names in paths."""


@dataclass(frozen=True)
class Namespace:
    """A namespace, and how to reach it."""

    name: str
    kubeconfig: Path
    program: str
    """The file of kubectl."""

    def kubectl(self, *arguments: str, given: str = "", ok: bool = True) -> str:
        """Run kubectl in the namespace; what it printed."""
        done = subprocess.run(
            [self.program, "--namespace", self.name, *arguments],
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def make(self) -> None:
        """Make the namespace."""
        named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name}}
        run_in_loop(_client(self.kubeconfig).create(named, manager="test"))

    def remove(self) -> None:
        """Begin to delete it, with all that is in it."""
        run_in_loop(_client(self.kubeconfig).delete(resource.NAMESPACE, self.name))

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Every object of a kind."""
        looked_at = _LOOKED_AT.get(kind)
        if looked_at is None:
            found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-o", "json"))[
                "items"
            ]
            return found
        selection = ObjectSelection(looked_at, self.name if looked_at.namespaced else "")
        return [dict(each) for each in run_in_loop(_client(self.kubeconfig).list(selection)).items]

    def one(self, kind: str, name: str) -> dict[str, Any]:
        """One object of a kind that tests wait for."""
        client = _client(self.kubeconfig)
        return dict(run_in_loop(client.get(_LOOKED_AT[kind], name, self.name)))

    def names(self, kind: str) -> list[str]:
        """Names of every object of a kind."""
        return [each["metadata"]["name"] for each in self.all(kind)]


@functools.cache
def _client(kubeconfig: Path) -> KubeClient:
    return run_in_loop(http.connect_client(str(kubeconfig)))
