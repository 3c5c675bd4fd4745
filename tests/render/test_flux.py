"""Flux: what becomes of the JobSet, beside which objects, and what is refused.

The scripts are run by test_flux_scripts.py.
"""

from typing import Any

import pytest

from tests.render.flux_jobs import load, pod, rendered, runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import flux

ON = runtime()
VIEW = {"env": [{"name": "FLUX_VIEW_IMAGE", "value": "view-of-the-job"}]}
NODES = {"numNodes": 2}


def command(objects: dict[str, Any]) -> list[str]:
    found: list[str] = pod(objects)["containers"][0]["command"]
    return found


def refusal(on: Any, trainer: Any = None, *, behaviour: Behaviour = OURS) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        rendered(on, trainer, behaviour=behaviour)
    return [str(problem) for problem in caught.value.problems]


def test_the_command_runs_under_flux_from_an_image_without_it() -> None:
    objects = rendered(ON, VIEW)
    config_map = objects.pop("ConfigMap")
    assert objects == {
        "Secret": {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "tj-flux-curve", "namespace": "n"},
            "data": {"curve.cert": "<generated>"},
        },
        "JobSet": load("jobset.yaml"),
    }
    assert set(config_map.pop("data")) == {"entrypoint.sh", "init.sh"}
    assert config_map == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "tj-flux-entrypoint", "namespace": "n"},
    }


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ({}, "lmp -v x 2 -in 'in file.txt'"),
        ({"command": ["a b", "$c"]}, "'a b' '$c' -in 'in file.txt'"),
        ({"args": ["x"]}, "lmp -v x 2 x"),
        ({"command": ["a"], "args": []}, "a"),
        ({"command": ["a"], "args": ["it's", ""]}, """a 'it'"'"'s' ''"""),
    ],
)
def test_q18_the_command_is_what_the_container_would_have_run_quoted(
    trainer: dict[str, Any], expected: str
) -> None:
    assert command(rendered(ON, trainer)) == [
        "/bin/bash",
        "/etc/flux-config/entrypoint.sh",
        expected,
    ]


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ({}, "lmp -v x 2"),
        ({"command": ["a b", "$c"]}, "a b $c"),
        ({"args": ["x", "y z "]}, "lmp -v x 2 x y z"),
    ],
)
def test_like_the_reference_the_command_is_joined_with_blanks_and_the_runtimes_arguments_stay(
    trainer: dict[str, Any], expected: str
) -> None:
    objects = rendered(ON, {**NODES, **trainer}, behaviour=REFERENCE)
    assert command(objects)[2] == expected
    assert pod(objects)["containers"][0]["args"] == ["-in", "in file.txt"]


def test_without_arguments_in_the_runtime_none_are_written() -> None:
    on = runtime(container={"args": None})
    assert "args" not in pod(rendered(on, {"args": ["x"]}))["containers"][0]


def test_q18_shared_memory_can_be_written() -> None:
    mounts = [
        pod(rendered(ON, NODES, behaviour=mode))["containers"][0]["volumeMounts"][-1]
        for mode in (OURS, REFERENCE)
    ]
    ours = {"name": "shared-memory", "mountPath": "/dev/shm"}
    assert mounts == [ours, {**ours, "readOnly": True}]


def test_q18_the_runtimes_nodes_count_where_the_job_names_none() -> None:
    assert 'hosts = [{ host = "tj-node-0-[0-3]" }]' in rendered(ON)["ConfigMap"]["data"]["init.sh"]
    message = "spec.trainer.numNodes: is needed by the Flux plugin"
    assert refusal(ON, None, behaviour=REFERENCE) == [message]
    assert refusal(ON, {}, behaviour=REFERENCE) == [message]


@pytest.mark.parametrize(
    ("env", "image"),
    [
        ([], "view-of-the-runtime"),
        ([{"name": "FLUX_VIEW_IMAGE", "value": "view-of-the-job"}], "view-of-the-job"),
        ([{"name": "FLUX_VIEW_IMAGE", "value": ""}], flux.SETTINGS[flux.VIEW_IMAGE]),
    ],
)
def test_settings_are_variables_of_the_runtime_then_of_the_job_else_defaults(
    env: list[dict[str, Any]], image: str
) -> None:
    assert pod(rendered(ON, {"env": env}))["initContainers"][-1]["image"] == image


def test_like_the_reference_an_empty_variable_is_an_empty_setting() -> None:
    empty = {**NODES, "env": [{"name": "FLUX_VIEW_IMAGE", "value": ""}]}
    assert "image" not in pod(rendered(ON, empty, behaviour=REFERENCE))["initContainers"][-1]


def test_q4_flux_runs_in_the_trainers_job_whatever_its_name() -> None:
    on = runtime(job="worker", network={"subdomain": "net"})
    objects = rendered(on, NODES)
    init = objects["ConfigMap"]["data"]["init.sh"]
    assert 'hosts = [{ host = "tj-worker-0-[0-1]" }]' in init
    assert 'default_connect = "tcp://%h.net.n.svc.cluster.local:%p"' in init
    assert pod(objects)["initContainers"][-1]["name"] == "flux-installer"
    reference = rendered(on, NODES, behaviour=REFERENCE)
    assert 'tcp://%h.tj.n.svc.cluster.local:%p"' in reference["ConfigMap"]["data"]["init.sh"]
    assert len(pod(reference)["initContainers"]) == 1


def test_a_job_without_a_namespace_is_found_by_its_search_domain() -> None:
    init = rendered(ON, namespace=None)["ConfigMap"]["data"]["init.sh"]
    assert 'default_connect = "tcp://%h.tj:%p"' in init


def test_the_installers_name_is_reserved_and_a_node_has_a_process() -> None:
    wire = ON.to_wire()
    template = wire["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]
    template["spec"]["template"]["spec"]["initContainers"][0]["name"] = "flux-installer"
    assert refusal(type(ON).from_wire(wire), {"numProcPerNode": 0}) == [
        (
            "TrainJob tj: spec.trainer.numProcPerNode: must be greater than or equal to 1 for Flux "
            "TrainJob, got 0"
        ),
        (
            "TrainJob tj: spec.trainer.initContainers: InitContainer 'flux-installer' is reserved, "
            "got 'flux-installer'; rename it in the runtime"
        ),
    ]


def test_scripts_and_certificate_are_written_again_each_time() -> None:
    job = TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": "tj"},
            "spec": {"runtimeRef": {"name": "flux"}},
        }
    )
    objects = pipeline.render(job, ON)
    observed = ObservedObjects(jobset=None, objects=objects)
    assert pipeline.due_objects(job, ON, observed) == objects


def test_scripts_and_certificates_of_trainjobs_wake_them() -> None:
    assert [(each.api_version, each.kind, each.wakes) for each in flux.PLUGIN.watches] == [
        ("v1", "ConfigMap", None),
        ("v1", "Secret", None),
    ]
