"""A framework of a package outside ours: listed, it takes part in every phase, and runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.command import Command, command_in
from tests.deploy.project import Stack
from tests.plugins.conftest import ACME
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.lifecycle.plan import plan
from trainer_infra.render import pipeline, plugin_registry
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.plugins import PLUGINS

NAME = "acme_managers:PLUGIN"
NOW = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)


def runtime(steps: str = "600") -> dict[str, Any]:
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    containers = [{"name": "node", "image": "python:3.11"}]
    template = {
        "metadata": {"labels": labels},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {
            "name": "acme",
            "annotations": {"acme.example/managers": "enabled", "acme.example/steps": steps},
        },
        "spec": {
            "mlPolicy": {"numNodes": 2},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}},
        },
    }


def job(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "default", **metadata},
        "spec": {
            "runtimeRef": {"name": "acme"},
            "trainer": {"command": ["python", str(ACME / "train.py")]},
        },
    }


def typed(steps: str = "600", **metadata: Any) -> tuple[TrainJob, ClusterTrainingRuntime]:
    return (
        TrainJob.from_wire(job(**metadata)),
        ClusterTrainingRuntime.from_wire(runtime(steps)),
    )


def test_listed_it_renders_in_every_phase() -> None:
    config_map, jobset = pipeline.render(
        *typed(), behaviour=Behaviour(plugin_registry.plugins_with([NAME]))
    )

    pods = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    (container,) = pods["spec"]["containers"]
    assert config_map["data"] == {"steps": "600"}
    assert pods["metadata"]["labels"] == {"acme.example/gang": "tj"}
    assert pods["spec"]["volumes"] == [{"name": "acme", "configMap": {"name": "tj-acme"}}]
    assert [(each["name"], each.get("value")) for each in container["env"]] == [
        ("ACME_ADDRESS", "tj-node-0-0.tj:29500"),
        ("ACME_NODES", "2"),
        ("ACME_RANK", None),
        ("ACME_STEPS", "/etc/acme/steps"),
    ]


def test_not_listed_it_changes_nothing() -> None:
    (jobset,) = pipeline.render(*typed())
    pods = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert pods == {
        "spec": {
            "containers": [
                {
                    "name": "node",
                    "image": "python:3.11",
                    "command": ["python", str(ACME / "train.py")],
                }
            ]
        }
    }


def test_it_refuses_its_own_bad_settings() -> None:
    with pytest.raises(InvalidInput) as error:
        pipeline.render(*typed("many"), behaviour=Behaviour(plugin_registry.plugins_with([NAME])))
    assert str(error.value) == (
        "TrainJob tj: metadata.annotations[acme.example/steps]: must be a whole number from 1, "
        "got 'many'"
    )


def test_it_says_when_its_objects_are_written_and_reports_a_status() -> None:
    behaviour = Behaviour(plugin_registry.plugins_with([NAME]))
    trainjob, on = typed(uid="u", creationTimestamp="2026-01-01T00:00:00Z")
    report = {
        "metrics": [{"name": "loss", "value": "1"}],
        "lastUpdatedTime": "2026-01-01T00:00:09Z",
    }
    with_report = TrainJob.from_wire({**trainjob.to_wire(), "status": {"trainerStatus": report}})
    jobs = [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]
    running = {
        "metadata": {"ownerReferences": [{"uid": "u", "controller": True}]},
        "spec": {"suspend": False},
        "status": {"replicatedJobsStatus": jobs},
    }

    first = plan(trainjob, on, ObservedObjects(None), NOW, behaviour)
    later = plan(with_report, on, ObservedObjects(running), NOW, behaviour)

    assert [each["kind"] for each in (*first.create, *first.apply)] == [
        "ConfigMap",
        "ConfigMap",
        "JobSet",
    ]
    assert [each["metadata"]["name"] for each in later.create] == ["tj-runtime-snapshot"]
    assert later.apply == ()
    assert later.status is not None
    assert later.status["trainerStatus"]["metrics"] == [
        {"name": "loss", "value": "1"},
        {"name": "acme_ready_jobs", "value": "1"},
    ]


def test_its_watches_say_which_trainjobs_an_event_wakes() -> None:
    (plugin,) = [
        each for each in plugin_registry.plugins_with([NAME]) if each.name == "AcmeManagers"
    ]
    (watch,) = plugin.watches
    assert watch.wakes is not None
    assert (watch.api_version, watch.kind) == ("acme.example/v1", "Fabric")
    assert watch.wakes({"metadata": {"namespace": "default"}}, *typed())
    assert not watch.wakes({"metadata": {"namespace": "other"}}, *typed())


def test_it_runs_after_ours_and_before_jobset() -> None:
    order = [each.name for each in plugin_registry.plugins_with([NAME])]
    assert order == [*[each.name for each in PLUGINS[:-1]], "AcmeManagers", "JobSet"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("acme_managers", "is not of the form PACKAGE.MODULE:NAME"),
        ("acme_manager:PLUGIN", "No module named 'acme_manager'"),
        ("acme_managers:PORT", "is not a trainer_infra Plugin but int"),
    ],
)
def test_what_is_no_plugin_is_refused(name: str, said: str) -> None:
    with pytest.raises(InvalidInput) as error:
        plugin_registry.plugins_with([name])
    assert str(error.value) == f"plugins[0]: {said}, got {name!r}"


def test_a_plugin_listed_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"plugins\[1\]: is named AcmeManagers, as a plugin"):
        plugin_registry.plugins_with([NAME, NAME])


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Command]:
    """The command in a folder with the job's file."""
    command = command_in(tmp_path)
    documents = yaml.safe_dump_all([runtime(), job()])
    command.write("job.yaml", documents)
    yield command
    command("delete", "tj", "--ignore-not-found")


def test_on_the_command_line_it_trains_on_two_nodes(cli: Command) -> None:
    done = cli("run", "job.yaml", "--plugin", NAME)
    said = cli("logs", "tj").out
    assert done.code == 0, done.err
    for rank in (0, 1):
        assert f"rank {rank} of 2: slope 3.000 offset 2.000" in said


def test_the_command_line_renders_with_it(cli: Command) -> None:
    done = cli("render", "-f", "job.yaml", "--plugin", NAME)
    names = [each["metadata"]["name"] for each in yaml.safe_load_all(done.out)]
    assert (done.code, names) == (0, ["tj-runtime-snapshot", "tj-acme", "tj"])


def configure(stack: Stack, plugin: str) -> None:
    """What `pulumi config set --path 'trainer:plugins[0]'` leaves in the stack's file."""
    config = {"trainer:target": "local", "trainer:plugins": [plugin]}
    (stack.folder / "Pulumi.test.yaml").write_text(yaml.safe_dump({"config": config}))


def test_in_the_stacks_configuration_it_trains_with_pulumi_up(stack: Stack) -> None:
    configure(stack, NAME)
    stack.program(
        f"""
runtime = {runtime()!r}
job = TrainJob("job", runtime=runtime, trainer={job()["spec"]["trainer"]!r}, wait_for="complete")
pulumi.export("status", job.status)
"""
    )
    assert "ACME_ADDRESS" in stack.preview()
    stack.up()
    stack.unchanged()
    assert stack.outputs()["status"] == "Complete"


def test_a_plugin_that_cannot_be_loaded_is_refused_at_preview(stack: Stack) -> None:
    configure(stack, "acme_nowhere:PLUGIN")
    stack.program('TrainJob("job", runtime="jax-distributed", trainer={"command": ["true"]})')
    said = stack.preview(ok=False)
    assert "plugins[0]: No module named 'acme_nowhere', got 'acme_nowhere:PLUGIN'" in said
