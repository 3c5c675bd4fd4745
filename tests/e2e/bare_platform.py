"""A bare cluster that `make platform` works on: what tests of stacks/platform share."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from from_source.cluster import base_image, down, live, up
from tests.deploy.project import pulumi_home
from tests.e2e.cluster import Namespace
from tools import platform_stack

ROOT = Path(__file__).resolve().parents[2]
CONTROLLERS = {
    "jobset-system": "jobset-controller-manager",
    "kubeflow-system": "kubeflow-trainer-controller-manager",
    "kueue-system": "kueue-controller-manager",
}
"""Namespace and Deployment of each."""
GROUPS = ("jobset.x-k8s.io", "kueue.x-k8s.io", "trainer.kubeflow.org")


@dataclass
class Platform:
    """`make platform` as a user types it, with state in a folder of its own."""

    env: Mapping[str, str]
    cluster: Namespace
    stack: str = "dev"

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tools.platform_stack", *arguments, "--stack", self.stack],
            cwd=ROOT,
            env=dict(self.env),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, ok: bool = True) -> str:
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=900)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        assert (process.returncode == 0) == ok, output
        return output

    def kill_in_up(self, kind: str, name: str) -> None:
        """Kill an `up` and all that it started as soon as the cluster has an object."""
        process = self.start("up")
        named = ("--field-selector", f"metadata.name={name}")
        while name not in self.cluster.kubectl("get", kind, "-A", "-o", "name", *named):
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.2)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.run("cancel", "--yes")

    def kinds(self) -> list[str]:
        """The kinds of the platform that the cluster serves."""
        listed = self.cluster.kubectl("get", "customresourcedefinitions", "-o", "name").split()
        return [each for each in listed if each.endswith(GROUPS)]

    def pods(self) -> dict[str, list[str]]:
        """UIDs of the controllers' pods."""
        uids = "jsonpath={.items[*].metadata.uid}"
        return {
            each: self.cluster.kubectl("get", "pods", "-n", each, "-o", uids).split()
            for each in CONTROLLERS
        }


@contextmanager
def bare_cluster(name: str, stack: str, scratch: Path) -> Iterator[Path]:
    """The kubeconfig of a cluster without anything, with the images that a stack of the platform needs.

    Args:
        name: of the cluster.
        stack: a file stacks/platform/Pulumi.STACK.yaml.
        scratch: an empty folder.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(live.NAME, name)
        patch.setenv(live.BARE, "1")
        patch.delenv("KUBECONFIG", raising=False)
        patch.setenv("TRAINER_INFRA_HOME", str(scratch / "home"))
        patch.setenv("PULUMI_HOME", str(pulumi_home(scratch)))
        try:
            made = up.ensure()
            platform_stack.load_images(stack)
            base_image.loaded()
            yield made
        finally:
            down.remove()
