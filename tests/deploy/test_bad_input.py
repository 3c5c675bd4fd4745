"""Bad input is one clear error at preview: where, what, got, what to do; nothing is left."""

import socket

import pytest

from tests.deploy.project import Stack
from tests.soak_sample import sampled

TRAINER = 'trainer={"command": ["python", "-c", "pass"]}'

CASES = {
    "a_job_of_another_jobs_name": (
        f"""
for each in ("east", "west"):
    TrainJob(each, name="digits", runtime="jax-distributed", {TRAINER})
""",
        "TrainJob west: declares TrainJob/default/digits, which TrainJob east declares too",
        "name one differently, or declare it once",
    ),
    "a_member_of_a_jobs_name": (
        f"""
from trainer_infra import TrainJobs
TrainJob("digits", name="digits", runtime="jax-distributed", {TRAINER})
TrainJobs("sweep", {{"a": {{"runtime": "jax-distributed", "name": "digits"}}}})
""",
        "TrainJobs sweep: declares TrainJob/default/digits, which TrainJob digits declares too",
        "name one differently, or declare it once",
    ),
    "a_runtime_of_another_runtimes_name": (
        """
from trainer_infra import ClusterTrainingRuntime, catalog
for each in ("east", "west"):
    ClusterTrainingRuntime(each, catalog.get("jax-distributed"), name="mine")
""",
        "ClusterTrainingRuntime west: declares ClusterTrainingRuntime/mine, which",
        "ClusterTrainingRuntime east declares too",
    ),
    "an_unknown_field": (
        'TrainJob("job", runtime="jax-distributed", trainer={"imagee": "x"})',
        "spec.trainer.imagee",
        "image",
    ),
    "a_key_that_is_a_number": (
        f'TrainJob("job", runtime="jax-distributed", {TRAINER}, labels={{1: "a"}})',
        "TrainJob job: labels",
        'must have texts as keys, got 1; write "1"',
    ),
    "a_member_that_is_a_number": (
        """
from trainer_infra import TrainJobs
TrainJobs("sweep", {0.1: {"runtime": "jax-distributed"}})
""",
        "TrainJobs sweep: 0.1",
        'the name of a member must be text; write "0.1"',
    ),
    "a_date_that_yaml_made": (
        """
import yaml
from trainer_infra import ClusterTrainingRuntime, catalog
runtime = catalog.get("jax-distributed").to_wire()
runtime["metadata"]["annotations"] = yaml.safe_load("since: 2026-01-31")
ClusterTrainingRuntime("mine", runtime)
""",
        "ClusterTrainingRuntime mine: annotations.since",
        'not date, got datetime.date(2026, 1, 31); quote it: "2026-01-31"',
    ),
    "a_runtime_resource_of_a_name": (
        """
from trainer_infra import ClusterTrainingRuntime
ClusterTrainingRuntime("mine", "torch-distributed")
""",
        "ClusterTrainingRuntime mine: spec",
        "got 'torch-distributed'; write catalog.get('torch-distributed')",
    ),
    "an_adopt_of_a_runtime_that_is_text": (
        """
from trainer_infra import ClusterTrainingRuntime, catalog
ClusterTrainingRuntime("mine", catalog.get("torch-distributed"), adopt="yes")
""",
        "adopt",
        "must be true or false, got 'yes'",
    ),
    "failures_that_nobody_waits_for": (
        """
from trainer_infra import TrainJobs
TrainJobs("sweep", {"a": {"runtime": "jax-distributed"}}, tolerate_failures=1)
""",
        "TrainJobs sweep: tolerate_failures",
        'add wait_for="complete"',
    ),
    "a_set": (
        'TrainJob("job", runtime="jax-distributed", trainer={"command": {"true"}})',
        "TrainJob job: spec.trainer.command",
        "must be text, a number, true or false, a list or a mapping, not set, got {'true'}",
    ),
    "a_time_that_is_text": (
        f'TrainJob("job", runtime="jax-distributed", {TRAINER}, delete_timeout="soon")',
        "delete_timeout",
        "must be a number of seconds from 0, got 'soon'",
    ),
    "an_adopt_that_is_text": (
        f'TrainJob("job", runtime="jax-distributed", {TRAINER}, adopt="yes")',
        "adopt",
        "must be true or false, got 'yes'",
    ),
    "a_wrong_type": (
        'TrainJob("job", runtime="jax-distributed", trainer={"numNodes": "two"})',
        "spec.trainer.numNodes",
        "'two'",
    ),
    "a_negative_number_of_nodes": (
        'TrainJob("job", runtime="torch-distributed", trainer={"numNodes": -4})',
        "spec.trainer.numNodes",
        "must not be negative: it is the number of pods that train, got -4",
    ),
    "an_unknown_field_in_a_pod_template": (
        """
runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime",
  "metadata": {"name": "mine"}, "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node",
  "template": {"spec": {"template": {"spec": {"containerz": []}}}}}]}}}}
TrainJob("job", runtime=runtime, trainer={})
""",
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containerz",
        "containers",
    ),
    "a_missing_runtime": (
        f'TrainJob("job", runtime="jax-distribted", {TRAINER})',
        "spec.runtimeRef.name",
        "jax-distributed",
    ),
    "a_name_over_jobsets_limit": (
        f'TrainJob("job", name="{"a" * 60}", runtime="jax-distributed", {TRAINER})',
        "metadata.name",
        "JobSet allows 48 characters",
    ),
    "an_argument_that_does_not_serialise": (
        (
            'TrainJob("job", runtime="jax-distributed", '
            'trainer=CustomTrainer(train, func_args={"text": {1, 2}}))'
        ),
        "func_args.text",
        "set",
    ),
    "a_name_that_the_function_does_not_define": (
        """
import math
def broken():
    return math.pi
TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(broken))
""",
        "broken",
        "math",
    ),
    "a_volume_that_this_machine_cannot_give": (
        """
from trainer_infra import catalog
runtime = catalog.get("jax-distributed").to_wire()
pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
pods["spec"]["volumes"] = [{"name": "data", "nfs": {"server": "s", "path": "/"}}]
runtime["metadata"] = {"name": "mine"}
TrainJob("job", runtime=runtime, trainer=CustomTrainer(train))
""",
        "volumes[1].nfs",
        "persistentVolumeClaim",
    ),
    "an_unknown_event_to_wait_for": (
        f'TrainJob("job", runtime="jax-distributed", wait_for="done", {TRAINER})',
        "wait_for: must be 'running' or 'complete'",
        "got 'done'",
    ),
    "a_gate_on_a_suspended_job": (
        f'TrainJob("job", runtime="jax-distributed", suspend=True, wait_for="complete", {TRAINER})',
        "wait_for='complete'",
        "suspended",
    ),
    "an_output_that_is_misspelt": (
        f'TrainJob("job", runtime="jax-distributed", outputs=["model"], wait_for="complete", {TRAINER}).outputs["modle"]',
        "TrainJob job: has no output 'modle'",
        "did you mean 'model'? it has model",
    ),
    "an_output_of_a_mapping_that_is_misspelt": (
        f'TrainJob("job", runtime="jax-distributed", outputs={{"model": None, "logs": None}}, wait_for="complete", {TRAINER}).outputs["mdel"]',
        "TrainJob job: has no output 'mdel'",
        "did you mean 'model'? it has logs, model",
    ),
    "an_output_of_a_job_without_outputs": (
        f'TrainJob("job", runtime="jax-distributed", outputs=None, wait_for="complete", {TRAINER}).outputs["model"]',
        "TrainJob job: has no output 'model'",
        "it has none: outputs= of the TrainJob names them",
    ),
    "an_output_as_an_attribute": (
        f'TrainJob("job", runtime="jax-distributed", outputs=["model"], wait_for="complete", {TRAINER}).outputs.model',
        "TrainJob job: outputs are by name, got outputs.model",
        'write outputs["model"]',
    ),
    "an_output_of_the_gate_as_an_attribute": (
        f'TrainJob("job", runtime="jax-distributed", outputs=["model"], wait_for="complete", {TRAINER}).result.outputs.model',
        "TrainJob job: outputs are by name, got outputs.model",
        'write outputs["model"]',
    ),
    "an_output_of_the_gate_that_is_misspelt": (
        f'TrainJob("job", runtime="jax-distributed", outputs=["model"], wait_for="complete", {TRAINER}).result.outputs["modle"]',
        "TrainJob job: has no output 'modle'",
        "did you mean 'model'?",
    ),
    "a_metric_as_an_attribute": (
        f'TrainJob("job", runtime="jax-distributed", outputs=None, wait_for="complete", {TRAINER}).metrics.auc',
        "TrainJob job: metrics are by name, got metrics.auc",
        'write metrics["auc"]',
    ),
    "a_metric_of_the_gate_as_an_attribute": (
        f'TrainJob("job", runtime="jax-distributed", outputs=None, wait_for="complete", {TRAINER}).result.metrics.auc',
        "TrainJob job: metrics are by name, got metrics.auc",
        'write metrics["auc"]',
    ),
    "a_metric_that_is_compared": (
        f'TrainJob("job", runtime="jax-distributed", wait_for="complete", {TRAINER}).metrics["auc"] > 0.9',
        'TrainJob job: metrics["auc"] is known when the run has ended',
        "do it in .apply(lambda value: ...)",
    ),
    "a_metric_of_the_gate_that_becomes_a_float": (
        f'float(TrainJob("job", runtime="jax-distributed", wait_for="complete", {TRAINER}).result.metrics["auc"])',
        'TrainJob job: metrics["auc"] is known when the run has ended',
        "do it in .apply(lambda value: ...)",
    ),
    "a_folder_below_an_output": (
        f'TrainJob("job", runtime="jax-distributed", outputs=["model"], {TRAINER}).outputs["model"] + "/adapter"',
        'TrainJob job: outputs["model"] is known when the run has ended',
        "do it in .apply(lambda value: ...)",
    ),
    "metrics_that_nobody_waits_for": (
        f'TrainJob("job", runtime="jax-distributed", {TRAINER}).metrics',
        "wait_for",
        "complete",
    ),
}


HALF = r"\ud83d"
SURROGATES = {
    "an annotation": (
        f'TrainJob("job", runtime=R, {TRAINER}, annotations={{"a": "{HALF}"}})',
        "annotations.a",
    ),
    "the key of a label": (
        f'TrainJob("job", runtime=R, {TRAINER}, labels={{"{HALF}": "a"}})',
        r"labels[\ud83d]",
    ),
    "env": (
        f'TrainJob("job", runtime=R, trainer={{"env": [{{"name": "A", "value": "{HALF}"}}]}})',
        "spec.trainer.env[0].value",
    ),
    "an Output": (
        f'TrainJob("job", runtime=R, {TRAINER}, annotations={{"a": pulumi.Output.from_input("{HALF}")}})',
        "annotations.a",
    ),
    "a name": (f'TrainJob("job", runtime=R, {TRAINER}, name="{HALF}")', "name"),
    "a namespace": (f'TrainJob("job", runtime=R, {TRAINER}, namespace="{HALF}")', "namespace"),
    "code": (
        f'TrainJob("job", runtime=R, trainer=CustomTrainer(train, env={{"A": "{HALF}"}}))',
        "spec.trainer.env[0].value",
    ),
    "a runtime": (
        f"""
from trainer_infra import catalog
runtime = catalog.get("jax-distributed").to_wire()
runtime["metadata"]["annotations"] = {{"a": "{HALF}"}}
TrainJob("job", runtime=runtime, {TRAINER})
""",
        "runtime.metadata.annotations.a",
    ),
    "a runtime resource": (
        f"""
from trainer_infra import TrainingRuntime, catalog
spec = catalog.get("torch-distributed").to_wire()["spec"]
TrainingRuntime("mine", spec, labels={{"a": "{HALF}"}})
""",
        "TrainingRuntime mine: labels.a",
    ),
    "a member of a batch": (
        f"""
from trainer_infra import TrainJobs
TrainJobs("sweep", {{"m": {{"runtime": R, "namespace": "{HALF}", {TRAINER.replace("trainer=", '"trainer": ')}}}}})
""",
        "TrainJobs sweep: m: namespace",
    ),
}


@pytest.mark.parametrize("case", sampled(SURROGATES, every=3))
def test_a_text_that_no_encoding_has_is_named_by_its_place(case: str, stack: Stack) -> None:
    program, path = SURROGATES[case]
    stack.program(f'R = "jax-distributed"\n{program}')

    shown = stack.preview(ok=False)

    assert f"{path}: cannot be encoded, it has half of a surrogate pair in it, got '" in shown
    assert "Traceback" not in shown


def test_a_secret_that_no_encoding_has_is_not_shown(stack: Stack) -> None:
    secret = r'{"name": "A", "value": Secret("planted\ud83d")}'
    stack.program(f'TrainJob("job", runtime="jax-distributed", trainer={{"env": [{secret}]}})')

    shown = stack.preview(ok=False)

    assert "give it other text, for example base64 of the bytes" in shown
    assert "planted" not in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("case", sampled(CASES, every=3))
def test_is_refused_at_preview(case: str, stack: Stack) -> None:
    program, path, hint = CASES[case]
    stack.program(program)

    shown = stack.preview(ok=False)

    assert path in shown
    assert hint in shown
    assert "Traceback" not in shown
    assert stack.runs() == []


def test_a_missing_target_names_the_choices(stack: Stack) -> None:
    stack.run("config", "rm", "trainer:target")
    stack.program(f'TrainJob("job", runtime="jax-distributed", {TRAINER})')
    shown = stack.preview(ok=False)
    assert "trainer:target" in shown
    assert "local" in shown


def test_a_users_port_in_use_is_a_warning_at_preview_and_an_error_at_up(stack: Stack) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        stack.program(f"""
from trainer_infra import catalog
runtime = catalog.get("jax-distributed").to_wire()
pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
pods["spec"]["containers"][0]["ports"] = [{{"containerPort": {port}}}]
runtime["metadata"] = {{"name": "mine"}}
TrainJob("job", runtime=runtime, trainer=CustomTrainer(train))
""")
        assert str(port) in stack.preview()
        shown = stack.up(ok=False)
    assert str(port) in shown
    assert "Traceback" not in shown
    assert stack.runs() == []


def test_two_patches_on_one_field_are_said_at_preview(stack: Stack) -> None:
    stack.program(
        """
def patch(manager, team):
    labels = {"metadata": {"labels": {"team": team}}}
    return {"manager": manager, "trainingRuntimeSpec": {"template": labels}}
TrainJob("job", runtime="jax-distributed", trainer={"command": ["true"]},
         runtime_patches=[patch("a.io/x", "a"), patch("b.io/x", "b")])
"""
    )
    said = " ".join(stack.preview().split())
    assert "sets template.metadata.labels.team to 'b', which spec.runtimePatches[0]" in said
    assert "the later one wins" in said
