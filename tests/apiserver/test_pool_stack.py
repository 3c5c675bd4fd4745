"""Pools through the real Pulumi engine on a real API server: made, found unchanged, changed in place, gone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from from_source.cluster.client import Client
from tests.deploy.project import Stack

NODE_POOL = "/apis/karpenter.sh/v1/nodepools/h100"
DEPLOYMENT = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/metal"
PROGRAM = """
from trainer_infra import platform

platform.GpuNodePool(
    "h100", backend="karpenter", machine_type="p5.48xlarge", nodes={{"max": {most}}}, fabric="efa",
    topology=[], karpenter={{"node_class": "gpu"}},
)
template = {{"apiGroup": "example.com", "kind": "Template", "name": "gpu"}}
platform.GpuNodePool(
    "metal", backend="cluster_api", accelerator="nvidia-h100-80gb", gpus_per_node=8,
    nodes={{"min": 1, "max": {most}}}, topology=["example.com/rack", "kubernetes.io/hostname"],
    cluster_api={{
        "cluster": "prod", "version": "v1.34.4", "infrastructure": template, "bootstrap": template,
    }},
)
"""


@pytest.fixture
def server(queue_server: RunningServer) -> Iterator[tuple[Client, Path]]:
    with Client(queue_server.address) as client:
        yield client, queue_server.kubeconfig


@pytest.mark.usefixtures("kubectl_on_path")
def test_pools_live_through_the_engine(stack: Stack, server: tuple[Client, Path]) -> None:
    client, kubeconfig = server
    cluster = Stack(stack.folder, {**stack.env, "KUBECONFIG": str(kubeconfig)})
    program = cluster.folder / "__main__.py"
    program.write_text(PROGRAM.format(most=4))
    cluster.up()
    cluster.unchanged()
    before = client.get(NODE_POOL).body
    assert before["spec"]["limits"] == {"nvidia.com/gpu": "32"}
    assert client.get(DEPLOYMENT).body["spec"]["rollout"] == {"strategy": {"type": "OnDelete"}}

    program.write_text(PROGRAM.format(most=8))
    cluster.up()
    after = client.get(NODE_POOL).body
    assert after["spec"]["limits"] == {"nvidia.com/gpu": "64"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]

    cluster.run("destroy", "--yes", "--skip-preview")
    assert client.get(NODE_POOL).message
    assert client.get(DEPLOYMENT).message
