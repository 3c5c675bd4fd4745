"""TrainJobs of engine `controller` through their whole life: the real controller, first by the real CLI."""

import json
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually

ONE = """
job = TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on({arguments}),
               wait_for="{until}", {more})
pulumi.export("accuracy", job.metrics.apply(lambda metrics: metrics.get("accuracy")))
"""
SECRETS = """
trainer = CustomTrainer(train, num_nodes=2, image=place["image"],
                        env={"TOKEN": Secret("planted-token-value")},
                        func_args={"text": Secret("planted-argument")},
                        resources_per_node={"cpu": "50m"})
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=trainer, wait_for="complete")
"""
MANY = """
from trainer_infra import TrainJobs
jobs = TrainJobs("sweep", {
    f"lr-{rate}": {"runtime": "jax-distributed", "namespace": NS, "trainer": on(code=code)}
    for rate, code in (("1", 0), ("2", 0), ("3", 3))
}, wait_for="complete")
"""
Make = Callable[..., Stack]


def program(arguments: str = "seconds=0.0", more: str = "", until: str = "complete") -> str:
    return PROGRAM + dedent(ONE.format(arguments=arguments, more=more, until=until))


def container_of(jobset: dict[str, Any]) -> dict[str, Any]:
    """What the controller decides of the container that trains; JobSet and Kubernetes add defaults."""
    template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    (found,) = template["containers"]
    kept = {key: found[key] for key in ("name", "image", "command", "volumeMounts")}
    ports = [each["containerPort"] for each in found["ports"]]
    return {**kept, "ports": ports, "env": sorted(map(variable_of, found["env"]), key=str)}


def variable_of(each: dict[str, Any]) -> tuple[str, str]:
    source = each.get("valueFrom") or {}
    return each["name"], each.get("value") or source["fieldRef"]["fieldPath"]


def test_up_runs_a_trainjob_whose_jobset_is_what_the_preview_showed(
    cli_controller_stack: Make, namespace: Namespace
) -> None:
    stack = cli_controller_stack()
    stack.program(program())
    shown = stack.preview()
    assert "JAX_COORDINATOR_ADDRESS" in shown
    assert "trainer.kubeflow.org/trainer-infra" in shown

    stack.up()

    assert stack.outputs() == {"accuracy": 0.97}
    state = stack.job()
    (stored,) = namespace.all("trainjobs")
    (jobset,) = namespace.all("jobsets")
    assert (stored["metadata"]["name"], stored["metadata"]["uid"]) == (state["name"], state["uid"])
    assert jobset["metadata"]["ownerReferences"][0]["kind"] == "TrainJob"
    (resource,) = stack.resources("trainer:TrainJob")
    assert container_of(jobset) == container_of(resource["inputs"]["rendered"]["JobSet"])
    code = [each for each in namespace.all("configmaps") if each.get("immutable")]
    assert [each["metadata"]["ownerReferences"][0]["uid"] for each in code] == [state["uid"]]

    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()


def test_the_command_knows_a_trainjob_and_destroy_leaves_nothing(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(program())
    stack.up()
    name = stack.job()["name"]
    assert name in stack.trainer("get", "-n", namespace.name)
    assert "rank 0 of 2" in stack.trainer("logs", name, "-n", namespace.name)
    assert "TrainJob" in stack.trainer("describe", name, "-n", namespace.name)

    stack.run("destroy", "--yes")
    assert (namespace.names("trainjobs"), namespace.names("jobsets")) == ([], [])
    eventually(lambda: namespace.names("pods") == [])
    eventually(lambda: namespace.names("configmaps") == ["kube-root-ca.crt"])


def test_a_failure_ends_the_up_with_its_reason_and_retry_runs_the_same_run_again(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(program("code=3"))
    shown = stack.up(ok=False)
    assert "exited with code 3" in shown or "exit code 3" in shown, shown
    assert "the last lines of" in shown
    state = stack.job()
    before = namespace.all("trainjobs")[0]["metadata"]["uid"]
    stack.trainer("retry", state["name"], "-n", namespace.name)
    (again,) = namespace.all("trainjobs")
    assert again["metadata"]["uid"] != before
    assert again["metadata"]["annotations"]["trainer-infra.dev/run-uid"] == state["uid"]
    stack.run("destroy", "--yes")
    assert namespace.names("trainjobs") == []


def test_secrets_are_in_the_pods_and_in_nothing_that_is_shown_or_kept_in_the_open(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(PROGRAM + dedent(SECRETS))
    shown = stack.up()
    name = stack.job()["name"]
    lines = stack.trainer("logs", name, "-n", namespace.name)
    everything = json.dumps(namespace.all("trainjobs,jobsets,configmaps,pods"))
    for text in (shown, lines, everything, stack.export()):
        assert "planted-token-value" not in text
        assert "planted-argument" not in text
    (secret,) = [each for each in namespace.all("secrets") if each["type"] == "Opaque"]
    assert secret["metadata"]["ownerReferences"][0]["kind"] == "TrainJob"
    stack.run("destroy", "--yes")
    eventually(lambda: namespace.names("secrets") == [])


@pytest.mark.soak
def test_a_batch_has_a_trainjob_for_each_member_and_says_which_failed(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(PROGRAM + dedent(MANY))
    shown = stack.up(ok=False)
    assert "lr-3" in shown
    assert len(namespace.names("trainjobs")) == 3
    stack.run("destroy", "--yes")
    assert namespace.names("trainjobs") == []


def test_suspend_drift_and_repair_are_those_of_the_trainjob(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    stack.program(program("seconds=120.0", until="running", more='labels={"team": "vision"},'))
    stack.up()
    name = stack.job()["name"]
    namespace.kubectl("label", "--overwrite", "trainjob", name, "team=audio")
    stack.run("refresh", "--yes")
    preview = stack.preview()
    assert "drift" in preview
    assert "audio" in preview
    stack.up()
    (stored,) = namespace.all("trainjobs")
    assert stored["metadata"]["labels"]["team"] == "vision"
    stack.run("refresh", "--yes")
    stack.unchanged()
    stack.trainer("suspend", name, "-n", namespace.name)
    eventually(lambda: namespace.names("pods") == [])
    stack.trainer("resume", name, "-n", namespace.name)
    eventually(lambda: len(namespace.names("pods")) == 2)
    stack.run("destroy", "--yes")


def test_a_runtime_that_is_not_there_is_said_at_preview_and_refused_at_up(
    controller_stack: Make, namespace: Namespace
) -> None:
    stack = controller_stack()
    text = """
    runtime = tried_once("jax-distributed")
    runtime["metadata"]["name"] = "absent"
    TrainJob("job", runtime=runtime, namespace=NS, trainer=on())
    """
    stack.program(PROGRAM + dedent(text))
    assert "has no ClusterTrainingRuntime absent" in stack.run("preview")
    assert "has no ClusterTrainingRuntime absent" in stack.up(ok=False)
    assert namespace.names("trainjobs") == []
