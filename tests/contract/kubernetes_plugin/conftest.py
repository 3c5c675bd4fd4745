"""A Pulumi stack of Kubernetes objects on a real API server, with each plugin that this machine has.

The stand-in of from_source/kubernetes_plugin is always there; Pulumi's own where it is on PATH or in the
cache of plugins. The server has no controllers: a test plays those that it needs.
"""

import os
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.kubernetes_plugin.real_plugin import PLUGIN, real_plugin
from tests.deploy.project import Stack, new_cli_stack
from tests.kube.real_client import client
from trainer_infra.kube import loop
from trainer_infra.kube.client import KubeClient

__all__ = ["client"]
ROOT = Path(__file__).resolve().parents[3]
REAL = real_plugin(os.environ)
HEAD = """
import pulumi
import pulumi_kubernetes as k8s

NAMESPACE = {namespace!r}
meta = lambda name, **more: k8s.meta.v1.ObjectMetaArgs(name=name, namespace=NAMESPACE, **more)
provider = k8s.Provider("cluster", kubeconfig={kubeconfig!r}, namespace=NAMESPACE)
there = pulumi.ResourceOptions(provider=provider)
"""


@pytest.fixture
def namespace(client: KubeClient) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    value = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    loop.run_in_loop(client.apply(value, manager="test"))
    return name


@pytest.fixture(params=["stand-in", "real"])
def plugin(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of one of the two plugins."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    if request.param == "real":
        if REAL is None:
            pytest.skip(f"{PLUGIN} is not on this machine")
        (folder / PLUGIN).symlink_to(REAL)
        return folder
    launcher = folder / PLUGIN
    launcher.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -u -m from_source.kubernetes_plugin "$@"\n'
    )
    launcher.chmod(0o755)
    return folder


@dataclass
class Objects:
    """A stack whose program makes Kubernetes objects in a namespace of its own."""

    stack: Stack
    head: str

    def program(self, text: str) -> None:
        (self.stack.folder / "__main__.py").write_text(self.head + dedent(text))

    def up(self, text: str, *, ok: bool = True) -> str:
        """Run `pulumi up` of a program; what it printed."""
        self.program(text)
        return self.stack.up(ok=ok)


@pytest.fixture
def objects(
    tmp_path: Path,
    pulumi_env: dict[str, str],
    plugin: Path,
    api_server: RunningServer,
    namespace: str,
) -> Objects:
    search = os.pathsep.join([str(plugin), pulumi_env["PATH"]])
    made = new_cli_stack(tmp_path / "objects", {**pulumi_env, "PATH": search})
    return Objects(made, HEAD.format(namespace=namespace, kubeconfig=str(api_server.kubeconfig)))
