"""A real API server with strict validation takes what pools declare."""

from collections.abc import Iterator

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.platform.declared_resources import declared_objects
from tests.platform.pools.program import POOLS
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Invalid


@pytest.fixture(scope="module")
def client(queue_server: RunningServer) -> Iterator[KubeClient]:
    made = loop.run_in_loop(http.connect_client(str(queue_server.kubeconfig)))
    yield made
    loop.run_in_loop(made.close())


def try_out(client: KubeClient, value: JSONObject) -> JSONObject:
    """What the server would store, were it not a try."""
    return loop.run_in_loop(client.apply(value, manager="test", dry_run=True, force=True))


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("name", POOLS)
def test_the_server_takes_what_a_pool_declares(client: KubeClient, name: str) -> None:
    objects = declared_objects(lambda: platform.GpuNodePool(name, **POOLS[name])).values()
    assert "ResourceFlavor" in {each["kind"] for each in objects}
    for each in objects:
        stored = try_out(client, each)
        assert stored["spec"].keys() >= each["spec"].keys()


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_server_knows_what_karpenter_refuses(client: KubeClient) -> None:
    (pool,) = (
        dict(each)
        for each in declared_objects(
            lambda: platform.GpuNodePool("static", **POOLS["karpenter-static"])
        ).values()
        if each["kind"] == "NodePool"
    )
    pool["spec"] = {**pool["spec"], "weight": 10}
    with pytest.raises(Invalid, match="not supported on static NodePools"):
        try_out(client, pool)


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_server_takes_the_device_plugin_and_what_gke_wants_beside_it(
    client: KubeClient,
) -> None:
    objects = declared_objects(
        lambda: platform.DeviceDriver(
            "gpu", kind="device_plugin", namespace="gpu", cloud="gcp", runtime_class="nvidia"
        )
    )
    assert objects.keys() == {
        "Namespace/gpu",
        "ResourceQuota/gpu/critical-pods",
        "DaemonSet/gpu/nvidia-device-plugin",
    }
    for each in objects.values():
        # A namespace that is not there refuses what is to be in it, in a dry run too.
        dry_run = each["kind"] != "Namespace"
        loop.run_in_loop(client.apply(each, manager="test", dry_run=dry_run, force=True))
