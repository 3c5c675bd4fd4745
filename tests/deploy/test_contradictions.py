"""What contradicts a checkpoint is an error at preview; good jobs raise nothing, and are told what a preemption costs."""

import pytest

from tests.deploy.project import Stack
from tests.deploy.test_target_kubernetes import nowhere

__all__ = ["nowhere"]

HEAD = """
from trainer_infra import Checkpoint, FaultTolerance, TrainJobs, catalog, with_fault_tolerance

def saves():
    from trainer_infra.checkpoint import Checkpointer
    checkpointer = Checkpointer()
    state = checkpointer.restore({"step": 0})
    for step in range(state["step"], 9):
        checkpointer.step(step + 1, {"step": step + 1})

def ends():
    import signal, sys
    from trainer_infra.checkpoint import Checkpointer
    def stop(number, frame):
        sys.exit(0)
    signal.signal(signal.SIGTERM, stop)
    Checkpointer()

def idles():
    print(1)

def runtime(name="torch-distributed", jobset={}, job={}, pod={}, container={}):
    wire = catalog.get(name).to_wire()
    wire["metadata"]["name"] = "own"
    spec = wire["spec"]["template"]["spec"]
    spec.update(jobset)
    (node,) = [each for each in spec["replicatedJobs"] if each["name"] == "node"]
    its_job = node["template"]["spec"]
    its_job.update(job)
    its_pod = its_job["template"]["spec"]
    its_pod.update(pod)
    its_pod["containers"][0].update(container)
    return wire

def patch(pod):
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    return [{"manager": "example.com/team", "trainingRuntimeSpec": spec}]

def job(name="job", function=saves, on="torch-distributed", checkpoint=Checkpoint(every=100), env={}, **rest):
    trainer = rest.pop("trainer", None) or CustomTrainer(function, num_nodes=2, env=env)
    return TrainJob(name, runtime=on, trainer=trainer, checkpoint=checkpoint, **rest)

GRACE, TIMEOUT = "terminationGracePeriodSeconds", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"
DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget"}]}
TOLD = {"onExitCodes": {"operator": "In", "values": [143]}}
"""

VALUES = {
    "every=0": "checkpoint.every: must be steps or a time, got 0",
    "every=-1": "checkpoint.every: must be steps or a time, got -1",
    "every=True": "checkpoint.every: must be steps or a time, got True",
    "every=1.5": "checkpoint.every: must be steps or a time, got 1.5",
    'every="10 min"': "every='10m'",
    'every="0s"': "checkpoint.every: must be steps or a time",
    'every="30s"': "checkpoint.every: is shorter than a step and a save, which take up to 60 s",
    'every="3h", mean_time_between_failures="2h"': "is longer than the mean time between failures, 2h",
    "mean_time_between_failures=3600": "checkpoint.mean_time_between_failures: must be a time",
    'hang_after="10 min"': "checkpoint.hang_after: must be a time",
    "hang_after=600": "checkpoint.hang_after: must be a time",
    'hang_after="60s"': "is not longer than a step and a save, which take up to 60 s (save_seconds)",
    'on_hang="restart"': "checkpoint.on_hang: has no effect without hang_after=",
    'hang_after="10m", on_hang="stop"': 'checkpoint.on_hang: must be "say" or "restart"',
    "keep=1": "checkpoint.keep: leaves nothing to resume from",
    "keep=0": "checkpoint.keep: must be a whole number from 1 on",
    "save_seconds=0": "checkpoint.save_seconds: must be a whole number from 1 on",
    "on_preemption=False": "is False without every=, so that nothing is ever saved",
    'resume="newest"': "checkpoint.resume: names nothing to resume from",
    "resume=True": "checkpoint.resume: names nothing to resume from",
    'resume="output://checkpoints"': "checkpoint.resume: is where the run itself saves",
    'uri="s3://b/x", resume="s3://b/x/"': "checkpoint.resume: is where the run itself saves",
    'resume="s3://user:word@b/x"': "checkpoint.resume: has credentials in it",
    'uri=""': "checkpoint.uri: names no place",
    'uri="https://example.com/x"': "checkpoint.uri: is an address to which no checkpoint can be written",
    'uri="S3://b/x"': "checkpoint.uri: is an address to which no checkpoint can be written",
    'uri="s3://b/../x"': "outputs['checkpoints']: may not have .. in it",
    'uri="s3://b/{job}"': "outputs['checkpoints']: has {job} in it",
    'uri="s3://key:word@b/x"': "outputs['checkpoints']: has credentials in it",
    'uri="checkpoints/x"': "outputs['checkpoints']: is not an absolute path",
}
"""Arguments of Checkpoint, and what the preview says of them."""


@pytest.mark.parametrize(("arguments", "said"), VALUES.items())
def test_values_of_a_checkpoint_that_cannot_be(stack: Stack, arguments: str, said: str) -> None:
    stack.program(f"{HEAD}\njob(checkpoint=Checkpoint({arguments}))")
    shown = stack.preview(ok=False)
    assert said in shown
    assert "word@" not in shown


ON_A_CLUSTER = {
    'uri="/data/x"': "outputs['checkpoints']: is a folder of whichever machine a pod runs on",
    'uri="file:///data/x"': "outputs['checkpoints']: is a folder of whichever machine a pod runs on",
    "every=100": "outputs['checkpoints']: has no place in a cluster",
}


@pytest.mark.parametrize(("arguments", "said"), ON_A_CLUSTER.items())
def test_places_that_are_none_on_a_cluster(nowhere: Stack, arguments: str, said: str) -> None:
    nowhere.program(f"{HEAD}\njob(checkpoint=Checkpoint({arguments}))")
    assert said in nowhere.preview(ok=False)


CONTRADICTIONS = {
    "pods of a runtime": (
        "job(on=runtime(pod={GRACE: 45}))",
        "leaves the pod 45 s to end in, and 60 s are needed",
    ),
    "pods of a patch": (
        "job(runtime_patches=patch({GRACE: 45}))",
        (
            "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec"
            ".template.spec.terminationGracePeriodSeconds: leaves the pod 45 s to end in"
        ),
    ),
    "no time at all": ("job(on=runtime(pod={GRACE: 0}))", "leaves the pod 0 s to end in"),
    "pods of another framework": (
        'job(on=runtime("plain-distributed", pod={GRACE: 30}))',
        "leaves the pod 30 s to end in, and 60 s are needed",
    ),
    "torchrun's time of a trainer": (
        'job(env={TIMEOUT: "20"})',
        "spec.trainer.env[0].value: gives torchrun's workers 20 s to end in",
    ),
    "torchrun's time of none": ('job(env={TIMEOUT: "0"})', "gives torchrun's workers 0 s"),
    "torchrun's time in words": ('job(env={TIMEOUT: "1m"})', "is not a number of whole seconds"),
    "torchrun's time beyond the pods'": (
        'job(on=runtime(pod={GRACE: 75}), env={TIMEOUT: "600"})',
        "leaves the pod 75 s to end in, and 600 s are needed",
    ),
    "torchrun without a time on another runtime": (
        'job(on="plain-distributed", trainer={"command": ["torchrun", "train.py"]})',
        "checkpoint: gives torchrun's workers 30 s to end in, and a step and a save take 60 s",
    ),
    "torchrun's option": (
        'job(trainer={"command": ["torchrun", "--shutdown-timeout=20", "train.py"]})',
        "spec.trainer.command[1]: gives torchrun's workers 20 s to end in",
    ),
    "a hook that sleeps": (
        'job(on=runtime(container={"lifecycle": {"preStop": {"exec": {"command": ["sleep", "50"]}}}}))',
        "leaves the pod 25 s to end in, and 60 s are needed",
    ),
    "an old image": (
        'job(trainer={"image": "pytorch/pytorch:2.9.1", "command": ["torchrun", "train.py"]})',
        "spec.trainer.image: has PyTorch 2.9, whose torchrun kills its workers after 30 s",
    ),
    "a deadline": (
        'job(checkpoint=Checkpoint(every="1h"), active_deadline_seconds=600)',
        "spec.activeDeadlineSeconds: ends the run before the first checkpoint",
    ),
    "a limit of failed pods": (
        'job(on=runtime(job={"backoffLimit": 2}))',
        "counts a pod that is preempted or evicted",
    ),
    "a limit of restarts": (
        'job(on=runtime(jobset={"failurePolicy": {"maxRestarts": 3}}))',
        "counts a pod that is preempted or evicted",
    ),
    "a policy without deleted pods": (
        'job(on=with_fault_tolerance(catalog.get("torch-distributed"), FaultTolerance()))',
        "counts a pod that is deleted",
    ),
    "a policy without preempted pods": (
        (
            'job(on=runtime(job={"podFailurePolicy": {"rules": [{"action": "FailJob", **DISRUPTED}]}}, '
            'pod={"restartPolicy": "Never"}))'
        ),
        "counts a pod that is preempted or evicted",
    ),
    "an exit code that ends the Job": (
        (
            'job(on=runtime(job={"podFailurePolicy": {"rules": [{"action": "Ignore", **DISRUPTED}, '
            '{"action": "FailJob", **TOLD}]}}, pod={"restartPolicy": "Never"}))'
        ),
        "counts a pod that is deleted",
    ),
    "pods that restart in place": (
        'job(on=runtime(job={"backoffLimit": 2}, pod={"restartPolicy": "OnFailure"}))',
        "counts a pod that is preempted or evicted",
    ),
    "a handler beside Checkpointer": (
        "job(function=ends)",
        "takes SIGTERM, as Checkpointer does, and only the one that is set last hears of it",
    ),
    "a trap": (
        (
            'job(on="plain-distributed", checkpoint=None, '
            """trainer={"command": ["bash", "-c", "trap 'exit 0' TERM; python t.py & wait"]})"""
        ),
        "ends with 0 on SIGTERM",
    ),
    "an option of transformers": (
        'job(checkpoint=None, trainer={"command": ["torchrun", "t.py", "--enable_jit_checkpoint"]})',
        "ends with 0 on SIGTERM",
    ),
    "a long time without torchrun's": (
        "job(checkpoint=None, on=runtime(pod={GRACE: 600}), function=idles)",
        "does nothing for the training: torchrun kills its workers after 30 s",
    ),
    "members that share a place": (
        (
            'member = dict(runtime="plain-distributed", trainer=CustomTrainer(saves),'
            ' checkpoint=Checkpoint(uri="s3://b/x"))\n'
            'TrainJobs("jobs", {"a": member, "b": member | {"attempt": 2}})'
        ),
        "checkpoint.uri: is where jobs-a saves, too",
    ),
    "jobs that share a place": (
        (
            'job(checkpoint=Checkpoint(uri="s3://b/x"))\n'
            'job("other", checkpoint=Checkpoint(uri="s3://b/x"), function=idles)'
        ),
        "saves, too: each would remove the other one's checkpoints, got 's3://b/x'",
    ),
}


@pytest.mark.parametrize(("text", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_an_error_at_preview(stack: Stack, text: str, said: str) -> None:
    stack.program(f"{HEAD}\n{text}")
    shown = " ".join(stack.preview(ok=False).split())
    assert said in shown
    assert shown.count("error: ") >= 1


GOOD = (
    "job()",
    'job(on="plain-distributed", checkpoint=Checkpoint(uri="s3://b/{run}", every="10m", keep=5))',
    'job(on="jax-distributed", checkpoint=Checkpoint(save_seconds=600), active_deadline_seconds=86400)',
    'job(on=runtime(pod={GRACE: 700}), checkpoint=Checkpoint(save_seconds=600), env={TIMEOUT: "650"})',
    (
        "free = FaultTolerance(uncounted_exit_codes=(143,))\n"
        'job(on=with_fault_tolerance(catalog.get("torch-distributed"), free))'
    ),
    (
        'member = dict(runtime="xgboost-distributed", trainer=CustomTrainer(saves, num_nodes=2))\n'
        'TrainJobs("jobs", {name: dict(member, checkpoint=Checkpoint(uri=f"s3://b/{name}")) for name in "ab"})'
    ),
    'job(checkpoint=Checkpoint(every="1h", hang_after="10m", on_hang="restart"))',
    'job(on="xgboost-distributed", checkpoint=Checkpoint(every=50, resume="s3://b/other"))',
)


@pytest.mark.parametrize("text", GOOD)
def test_a_good_job_raises_nothing(stack: Stack, text: str) -> None:
    stack.program(f"{HEAD}\n{text}")
    shown = stack.preview()
    assert "warning: " not in shown
    assert "a preemption loses" in shown


WARNED = {
    "job(function=idles)": "names no Checkpointer, so that nothing is saved",
    "job(checkpoint=None)": "uses Checkpointer, which does nothing in a run without checkpoint=",
    'job(on="plain-distributed", trainer={"command": ["python", "t.py"]})': (
        "the command is not started by trainer_infra's launcher"
    ),
    (
        'job(on="plain-distributed", trainer={"command": ["python", "t.py"]}, '
        'checkpoint=Checkpoint(hang_after="10m"))'
    ): "checkpoint.hang_after: has no effect",
}


@pytest.mark.parametrize(("text", "said"), WARNED.items())
def test_what_may_be_wrong_is_a_warning(stack: Stack, text: str, said: str) -> None:
    stack.program(f"{HEAD}\n{text}")
    shown = stack.preview()
    assert said in shown
    assert "warning: " in shown


def test_spot_machines_without_a_checkpoint_are_a_warning_on_a_cluster(nowhere: Stack) -> None:
    spot = 'runtime(pod={"nodeSelector": {"karpenter.sh/capacity-type": "spot"}})'
    nowhere.program(f"{HEAD}\njob(function=idles, checkpoint=None, on={spot})")
    said = "so checkpoints are lost when the spot machine that it asks for goes away"
    assert said in nowhere.preview()
    nowhere.program(f'{HEAD}\njob(checkpoint=Checkpoint(uri="pvc://runs/x"), on={spot})')
    assert said not in nowhere.preview()


def test_the_preview_says_what_a_preemption_costs_and_how_often_saving_pays(stack: Stack) -> None:
    stack.program(
        f"{HEAD}\n"
        'job(trainer=CustomTrainer(saves, num_nodes=4, resources_per_node={"gpu": 8}), '
        'checkpoint=Checkpoint(every="10m", mean_time_between_failures="6h"))'
    )
    shown = stack.preview()
    assert (
        "a preemption loses one step where the run has the time to save, else at most 10m on 4 nodes with 8 GPUs "
        "each, 5.333 GPU hours"
    ) in shown
    assert "is 26m by Young's formula, 26m by Daly's" in shown


def test_ranks_that_mpirun_starts_are_not_watched(nowhere: Stack) -> None:
    watched = 'checkpoint=Checkpoint(uri="pvc://runs/x", hang_after="10m")'
    nowhere.program(f'{HEAD}\njob(on="deepspeed-distributed", {watched})')
    assert "checkpoint.hang_after: has no effect" in nowhere.preview()
    nowhere.program(f'{HEAD}\njob(on="torch-distributed", {watched})')
    assert "hang_after" not in nowhere.preview()
