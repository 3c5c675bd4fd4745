"""What a checkpoint arranges in a rendered job: place, time to end in, policies for failures."""

import json
from typing import Any

import pytest

from tests.trainers.conftest import Write
from trainer_infra import Checkpoint, CustomTrainer, catalog, names
from trainer_infra.api import checkpoint
from trainer_infra.api.fault_tolerance import FaultTolerance, with_fault_tolerance
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.cluster.controller.engine_controller import controller_behaviour
from trainer_infra.deploy.train_job_arguments import Arguments, to_inputs
from trainer_infra.in_pod.checkpoints import arrangement
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.runs.run import Owner
from trainer_infra.trainers import checkpoints, compose, kept_outputs
from trainer_infra.trainers.code import Code

FREE = "RestartJobSetAndIgnoreMaxRestarts"


def train() -> None:
    from trainer_infra.checkpoint import Checkpointer  # noqa: PLC0415  as a user writes it

    Checkpointer()


def inputs(runtime: str | None = "torch-distributed", **given: Any) -> dict[str, Any]:
    own = Arguments(
        runtime=runtime, trainer=CustomTrainer(train, num_nodes=2), checkpoint=Checkpoint(**given)
    )
    return to_inputs(own.with_values(own.as_mapping()))


def jobset(runtime: ClusterTrainingRuntime, **given: Any) -> Any:
    """The spec of the rendered JobSet."""
    return composed(runtime, OURS, {}, **given)[1]


def composed(
    runtime: ClusterTrainingRuntime, behaviour: Behaviour, labels: dict[str, str], **given: Any
) -> Any:
    """The patches of the TrainJob, and the spec of the rendered JobSet."""
    made = inputs(runtime.metadata.name, **given)
    metadata = {"name": "digits", "namespace": "vision", "labels": labels}
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": metadata,
        "spec": made["spec"],
    }
    job = kept_outputs.attach_outputs(job, runtime, {"checkpoints": "pvc://models/ck"})
    job = checkpoints.attach_checkpoint(job, runtime, behaviour.plugins)
    found = compose.compose(job, runtime, Code.from_wire(made["code"]), (), behaviour)
    spec = next(each for each in found.objects if each["kind"] == names.JOBSET)["spec"]
    return json.dumps(job["spec"]["runtimePatches"]), spec


def pod(spec: Any) -> Any:
    return spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]


def variables(spec: Any) -> dict[str, str]:
    (container,) = pod(spec)["containers"]
    return {each["name"]: each.get("value", "") for each in container["env"]}


def test_pods_have_the_time_for_a_save_and_torchrun_leaves_it_to_them() -> None:
    spec = jobset(catalog.get("torch-distributed"), save_seconds=120)
    assert pod(spec)["terminationGracePeriodSeconds"] == 135
    assert variables(spec)["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] == "120"
    assert "TORCH_ELASTIC_SHUTDOWN_TIMEOUT" not in variables(jobset(catalog.get("jax-distributed")))


@pytest.mark.parametrize("labels", [{}, {names.KUEUE_QUEUE_LABEL: "team"}])
@pytest.mark.parametrize("controller", [names.BUILTIN, names.UPSTREAM])
def test_kueue_finds_no_time_in_a_patch_that_it_would_take_out(
    controller: str, labels: dict[str, str]
) -> None:
    behaviour = controller_behaviour(OURS.plugins, Owner(), controller)
    patches, spec = composed(catalog.get("torch-distributed"), behaviour, labels)
    is_patched = controller == names.UPSTREAM and not labels
    assert (checkpoint.GRACE in patches) == is_patched
    has_time = is_patched or controller == names.BUILTIN
    assert pod(spec).get(checkpoint.GRACE) == (75 if has_time else None)


def test_the_program_reads_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINER_INFRA_OUTPUT_CHECKPOINTS", "s3://models/ck")
    spec = jobset(catalog.get("plain-distributed"), every="1.5h", keep=2, resume=7, save_seconds=5)
    found = arrangement.read_arrangement(
        {arrangement.VARIABLE: variables(spec)[checkpoint.VARIABLE]}
    )
    assert found == arrangement.Arrangement(
        place="s3://models/ck",
        run="vision/digits",
        every_seconds=5400.0,
        keep=2,
        resume=7,
        save_seconds=5,
    )


def test_who_ends_a_pod_uses_up_no_restart() -> None:
    spec = jobset(catalog.get("torch-distributed"))
    assert [each["action"] for each in spec["failurePolicy"]["rules"]] == [FREE, FREE]
    job = spec["replicatedJobs"][0]["template"]["spec"]
    disrupted, told = job["podFailurePolicy"]["rules"]
    assert disrupted["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert told["onExitCodes"]["values"] == [143]
    assert pod(spec)["restartPolicy"] == "Never"


def test_policies_and_times_of_the_runtime_stay() -> None:
    own = with_fault_tolerance(catalog.get("torch-distributed"), FaultTolerance(max_restarts=1))
    wire = own.to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 600
    spec = jobset(ClusterTrainingRuntime.from_wire(wire))
    assert spec["failurePolicy"]["maxRestarts"] == 1
    assert pod(spec)["terminationGracePeriodSeconds"] == 600


@pytest.mark.parametrize(
    "runtime", ["deepspeed-distributed", "jax-distributed", "xgboost-distributed"]
)
def test_every_framework_has_it(runtime: str) -> None:
    spec = jobset(catalog.get(runtime), save_seconds=20)
    graces = [
        each["template"]["spec"]["template"]["spec"].get("terminationGracePeriodSeconds")
        for each in spec["replicatedJobs"]
    ]
    assert graces == [35] * len(graces)


def test_without_one_nothing_is_arranged() -> None:
    own = Arguments(runtime="torch-distributed", trainer=CustomTrainer(train))
    assert to_inputs(own)["spec"].get("trainer", {}).get("env") is None


def test_a_name_or_an_address_is_an_output() -> None:
    own = "output://checkpoints"
    assert checkpoints.outputs_of(own, "latest") == {"checkpoints": ""}
    assert checkpoints.outputs_of("output://model", False) == {}
    assert checkpoints.outputs_of("s3://bucket/x", "s3://bucket/y") == {
        "checkpoints": "s3://bucket/x"
    }
    (env,) = inputs(uri="output://model")["spec"]["trainer"]["env"]
    assert json.loads(env["value"])["place"] == "output://model"


@pytest.mark.parametrize("resume", ["pvc://models/old", "/srv/old"])
def test_a_volume_to_resume_from_is_mounted_as_an_output(resume: str) -> None:
    added = checkpoints.outputs_of("s3://bucket/x", resume)
    assert added == {"checkpoints": "s3://bucket/x", "resumed-from": resume}
    (env,) = inputs(uri="s3://bucket/x", resume=resume)["spec"]["trainer"]["env"]
    assert json.loads(env["value"])["resume"] == "output://resumed-from"


@pytest.mark.parametrize("text", ["ten", "[]", '{"save_seconds": "60"}', ""])
def test_a_variable_written_by_hand_that_is_damaged_is_left_to_the_rules(text: str) -> None:
    runtime = catalog.get("torch-distributed")
    env = [{"name": checkpoint.VARIABLE, "value": text}]
    job = {"metadata": {"name": "digits"}, "spec": {"trainer": {"env": env}}}
    assert checkpoints.attach_checkpoint(job, runtime, OURS.plugins) == job


def test_callbacks_that_save_travel_with_the_checkpoints_whatever_stands_between(
    write: Write,
) -> None:
    head = "from trainer_infra.callbacks import (  # of transformers\n    "
    for name, saves in (("HuggingFaceCallback", False), ("HuggingFaceCheckpointCallback", True)):
        write("train.py", f"{head}{name},\n)\n")
        files = CustomTrainer("train.py").pack().code.files
        assert "lib/trainer_infra/callbacks.py" in files
        assert ("lib/trainer_infra/checkpoint.py" in files) == saves
