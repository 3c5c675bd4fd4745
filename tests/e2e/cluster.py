"""A namespace of a real cluster as tests see and disturb it: by kubectl, as a person would."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
            timeout=120,
            check=False,
        )
        assert (done.returncode == 0) == ok, done.stdout
        return done.stdout

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Every object of a kind."""
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", kind, "-o", "json"))["items"]
        return found

    def names(self, kind: str) -> list[str]:
        """Names of every object of a kind."""
        return [each["metadata"]["name"] for each in self.all(kind)]
