"""A program may have several clusters: what it declares for one is judged beside what that one has."""

from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.deploy.project import Stack

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ("--policy-pack", str(ROOT / "policies" / "training"))
PROGRAM = """
import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_kubernetes.apiextensions import CustomResource

KUEUE = "kueue.x-k8s.io/v1beta2"


def queue(title, name, quota, provider=None):
    resources = [{{"name": "nvidia.com/gpu", "nominalQuota": quota}}]
    group = {{
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{{"name": "h100", "resources": resources}}],
    }}
    CustomResource(
        title,
        api_version=KUEUE,
        kind="ClusterQueue",
        metadata={{"name": name}},
        spec={{"namespaceSelector": {{}}, "resourceGroups": [group]}},
        opts=pulumi.ResourceOptions(provider=provider),
    )


eu = kubernetes.Provider("default-eu", kubeconfig={kubeconfig!r})
us = kubernetes.Provider("default-us", kubeconfig={kubeconfig!r})
queue("eu", "gpu", 8, eu)
queue("us", "gpu", 64, us)
queue("here", "gpu", 8)
{more}
"""


@pytest.mark.usefixtures("kubectl_on_path")
def test_objects_of_one_name_on_two_clusters_are_two_and_on_one_are_one_too_many(
    queue_cluster: Stack, queue_server: RunningServer
) -> None:
    program = queue_cluster.folder / "__main__.py"
    program.write_text(PROGRAM.format(kubeconfig=str(queue_server.kubeconfig), more=""))
    assert "unique-name" not in queue_cluster.run("preview", *TRAINING)

    again = 'queue("us-again", "gpu", 8, us)'
    program.write_text(PROGRAM.format(kubeconfig=str(queue_server.kubeconfig), more=again))
    said = queue_cluster.run("preview", *TRAINING, ok=False)
    assert said.count("is the name of another object of this kind") == 2
    assert "unique-name" in said
