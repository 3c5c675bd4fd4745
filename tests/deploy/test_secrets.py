"""A secret is in no state, no preview and no log, whatever is done."""

from tests.deploy.project import Stack

PLANTED = ("planted-env-1f9c", "planted-arg-77ab", "planted-output-3d20", "planted-init-90ee")
PROGRAM = """
from trainer_infra import catalog
runtime = catalog.get("jax-distributed").to_wire()
runtime["metadata"] = {{"name": "mine"}}
jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
check = "import os; print('token of', len(os.environ['ACCESS_TOKEN']), flush=True)"
init = {{"name": "dataset-initializer", "image": "i", "command": ["python", "-c", check],
        "volumeMounts": [{{"name": "initializer", "mountPath": "/workspace"}}]}}
jobs.insert(0, {{"name": "dataset-initializer", "template": {{
    "metadata": {{"labels": {{"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}}}},
    "spec": {{"template": {{"spec": {{"containers": [init],
             "volumes": [{{"name": "initializer", "emptyDir": {{}}}}]}}}}}}}}}})
jobs[1]["dependsOn"] = [{{"name": "dataset-initializer", "status": "Complete"}}]

def read(epochs, token, fed):
    import os
    print("lengths", len(os.environ["TOKEN"]), len(token), len(fed), "epochs", epochs, flush=True)

job = TrainJob("job", runtime=runtime, wait_for="complete",
    initializer={{"dataset": {{"storageUri": "hf://a/b",
                 "env": [{{"name": "ACCESS_TOKEN", "value": Secret("{init}")}}]}}}},
    trainer=CustomTrainer(read, env={{"TOKEN": Secret("{env}")}},
        func_args={{"epochs": {epochs}, "token": Secret("{arg}"),
                   "fed": pulumi.Config().require_secret("fed")}}))
"""


def everything(stack: Stack, shown: str) -> str:
    """All that a secret could have got into: what was printed, the state, the run's logs."""
    logs = "".join(stack.trainer("logs", run["name"]) for run in stack.runs())
    return shown + stack.export() + stack.trainer("get", "-A", "-o", "yaml") + logs


def test_secrets_are_nowhere_after_up_update_replace_and_refresh(stack: Stack) -> None:
    env, arg, fed, init = PLANTED
    stack.run("config", "set", "--secret", "fed", fed)
    values = {"env": env, "arg": arg, "init": init}
    seen = []
    stack.program(PROGRAM.format(epochs=1, **values))
    seen.append(everything(stack, stack.preview() + stack.up()))
    assert "lengths 16 16 19 epochs 1" in seen[0]
    assert "token of 17" in seen[0]
    uid = stack.job()["uid"]
    stack.unchanged()

    changed = {**values, "env": env + "-new"}
    stack.program(PROGRAM.format(epochs=1, **changed))
    seen.append(everything(stack, stack.preview() + stack.up()))
    assert stack.job()["uid"] == uid, "a changed secret value starts no run"

    stack.program(PROGRAM.format(epochs=2, **changed))
    seen.append(everything(stack, stack.preview() + stack.up()))
    assert stack.job()["uid"] != uid
    seen.append(everything(stack, stack.run("refresh", "--yes", "--diff")))

    for text in seen:
        assert [secret for secret in PLANTED if secret in text] == []


def test_a_secret_in_args_is_refused_by_its_path(stack: Stack) -> None:
    stack.program("""
    TrainJob("job", runtime="jax-distributed",
             trainer={"command": ["python", "x.py"], "args": [Secret("planted-args")]})
    """)
    shown = stack.preview(ok=False)
    assert "spec.trainer.args[0]: cannot hold a secret" in shown
    assert "planted" not in shown
    assert "Traceback" not in shown


def test_a_secret_in_an_annotation_is_refused_by_its_path(stack: Stack) -> None:
    stack.run("config", "set", "--secret", "fed", "planted-annotation")
    stack.program("""
    TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train),
             annotations={"note": pulumi.Config().require_secret("fed")})
    """)
    shown = stack.preview(ok=False)
    assert "annotations.note: cannot hold a secret" in shown
    assert "planted" not in shown


def test_a_secret_that_also_stands_in_plain_text_is_refused_by_its_path(stack: Stack) -> None:
    stack.program("""
    TrainJob("job", runtime="jax-distributed",
             trainer={"command": ["python", "-c", "print('planted-twice')"],
                      "env": [{"name": "TOKEN", "value": Secret("planted-twice")}]})
    """)
    shown = stack.preview(ok=False)
    assert "spec.trainer.command[2]: holds the value of secret 'trainer.env.TOKEN'" in shown


INPUT_TYPE = """
@pulumi.input_type
class EnvVarArgs:
    def __init__(self, name, value):
        pulumi.set(self, "name", name)
        pulumi.set(self, "given", value)

    @property
    @pulumi.getter
    def name(self):
        return pulumi.get(self, "name")

    @property
    @pulumi.getter(name="value")
    def given(self):
        return pulumi.get(self, "given")

"""


def test_a_secret_in_an_input_type_goes_through_the_door_or_is_refused(stack: Stack) -> None:
    """As those of pulumi_kubernetes, which Pulumi's own resources take in place of a mapping."""
    command = """["python", "-c", "import os; print('length', len(os.environ['KEY']))"]"""
    variables = '[EnvVarArgs("KEY", pulumi.Output.secret("planted-7d1f")), EnvVarArgs("A", "b")]'
    trainer = f'trainer={{"command": {command}, "env": {variables}}}'
    stack.program(
        f'{INPUT_TYPE}TrainJob("job", name="job", runtime="plain-distributed", {trainer}, wait_for="complete")'
    )
    seen = everything(stack, stack.up())
    assert "length 12" in seen
    assert "planted-7d1f" not in seen

    stack.program(
        f'{INPUT_TYPE}TrainJob("job", runtime="plain-distributed", trainer={{"command": ["true"]}}, '
        'labels=EnvVarArgs("a", pulumi.Output.secret("planted-7d1f")))'
    )
    shown = stack.preview(ok=False)
    assert "TrainJob job: labels.value: cannot hold a secret" in shown
    assert "planted-7d1f" not in shown
