"""Every shipped runtime on every fabric renders to objects that a real API server takes, pods included."""

import pytest

from from_source.cluster.client import Client
from tests.apiserver.test_rendered_objects import Paths, jobs, objects, paths, refusal
from trainer_infra import catalog, names
from trainer_infra.catalog.fabrics import FABRICS, fabric_of
from trainer_infra.catalog.fabrics.fabric import FabricName

__all__ = ["paths"]
INTERFACES = {"efa": 32}
"""Of presets that have no usual number."""
RUNTIMES = [each.name for each in catalog.RUNTIMES]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("fabric", FABRICS)
def test_the_server_takes_a_train_job_of_a_wired_runtime(
    server: Client, paths: Paths, fabric: FabricName, runtime: str
) -> None:
    mixin = fabric_of(fabric, interfaces=INTERFACES.get(fabric))
    wired = mixin.wired_runtime(catalog.get(runtime).to_wire())
    job = {
        "apiVersion": names.API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "job", "namespace": "ns"},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": 2}},
    }
    (jobset,) = (each for each in objects(job, wired) if each["kind"] == "JobSet")

    for each in objects(job, wired):
        assert refusal(server, paths, each) == ""
    pods = [each["spec"]["template"] for each in jobs(jobset)]
    assert [refusal(server, paths, each) for each in jobs(jobset)] == [""] * len(pods)
    variables = {
        name
        for pod in pods
        for container in pod["spec"]["containers"]
        for name in (each["name"] for each in container.get("env", ()))
    }
    assert mixin.pod_patch().env.keys() <= variables


def test_a_preset_says_where_it_is_from_and_how_far_it_was_tried() -> None:
    for each in FABRICS.values():
        assert (each.source != "", each.date, each.proven) == (True, "2026-10", "api")
