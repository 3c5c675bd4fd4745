"""A namespace of the test cluster, worked on with kubectl."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

JSON = dict[str, Any]


@dataclass(frozen=True)
class Namespace:
    name: str
    kubeconfig: Path
    kubectl: str

    def run(self, *arguments: str, given: str | None = None, code: int = 0) -> str:
        """Output of a command that must end with `code`; with its errors where that is not 0."""
        done = subprocess.run(
            [self.kubectl, "--kubeconfig", self.kubeconfig, "--namespace", self.name, *arguments],
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + (done.stderr if code else "")

    def apply(self, *objects: JSON, code: int = 0) -> str:
        items = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        return self.run("apply", "--filename", "-", given=json.dumps(items), code=code)

    def wait(self, what: str, condition: str, seconds: int = 90) -> None:
        """Return when an object has a condition or a field: what `kubectl wait --for` takes."""
        self.run("wait", what, f"--for={condition}", f"--timeout={seconds}s")

    def finished(self, pod: str) -> str:
        """What a pod wrote, once it has succeeded."""
        self.wait(f"pod/{pod}", "jsonpath={.status.phase}=Succeeded")
        return self.run("logs", pod, "--container", "main")


def pod(name: str, command: Sequence[str], **spec: Any) -> JSON:
    """A pod of one busybox container, run once."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {**_spec(command), **spec},
    }


def jobset(name: str, pods: int, command: Sequence[str]) -> JSON:
    """A JobSet with one replicated job `node` of indexed pods."""
    template = {"spec": _spec(command)}
    job = {"completions": pods, "parallelism": pods, "completionMode": "Indexed"}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "replicatedJobs": [
                {"name": "node", "template": {"spec": {**job, "template": template}}}
            ]
        },
    }


def _spec(command: Sequence[str]) -> JSON:
    container = {
        "name": "main",
        "image": "busybox",
        "imagePullPolicy": "Never",
        "command": list(command),
    }
    return {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
    }
