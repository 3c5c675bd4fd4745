"""Runtimes as resources on this machine, by the real Pulumi CLI."""

from tests.deploy.project import Stack

RUNTIME = """
from trainer_infra import ClusterTrainingRuntime, TrainingRuntime, catalog
spec = catalog.get("jax-distributed").to_wire()["spec"]
container = spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]
container["env"] = [{{"name": "MARK", "value": "{mark}"}}]
mine = {kind}("mine", spec)
"""
JOB = """
def marked():
    import os
    print("mark is", os.environ["MARK"], flush=True)
job = TrainJob("job", runtime=mine, trainer=CustomTrainer(marked), wait_for="complete")
"""


def test_a_preview_shows_what_a_train_job_on_it_renders_to(stack: Stack) -> None:
    stack.program(RUNTIME.format(kind="TrainingRuntime", mark="first"))
    shown = stack.preview()
    assert "example-node-0-0.example" in shown, "the coordinator's address"
    stack.up()
    stack.unchanged()
    stack.program(RUNTIME.format(kind="TrainingRuntime", mark="second"))
    shown = stack.preview()
    assert shown.count('"first" => "second"') >= 2, "in the spec and in what a job renders to"
    assert "replace" not in shown


def test_a_job_runs_on_it_and_keeps_it_when_it_is_edited(stack: Stack) -> None:
    for kind in ("ClusterTrainingRuntime", "TrainingRuntime"):
        stack.program(RUNTIME.format(kind=kind, mark="first") + JOB)
        assert "MARK" in stack.preview()
        stack.up()
        before = stack.job()
        assert "mark is first" in stack.trainer("logs", before["name"])
        stack.unchanged()

        stack.program(RUNTIME.format(kind=kind, mark="second") + JOB)
        assert "keeps the runtime it was born with, mine has changed since" in stack.up()

        assert stack.job()["uid"] == before["uid"]
        stack.unchanged()


def test_a_batch_runs_on_it(stack: Stack) -> None:
    stack.program(
        RUNTIME.format(kind="TrainingRuntime", mark="first")
        + """
from trainer_infra import TrainJobs
TrainJobs("sweep", {"a": {"runtime": mine, "trainer": CustomTrainer(train)}}, wait_for="complete")
"""
    )
    stack.preview()
    stack.up()
    stack.unchanged()
    (batch,) = stack.resources("trainer:TrainJobs")
    assert '"mine"' in batch["inputs"]["jobs"]["a"]["runtime"]


def test_everything_wrong_with_it_is_said_at_preview(stack: Stack) -> None:
    stack.program("""
from trainer_infra import TrainingRuntime
TrainingRuntime("mine", {"mlPolicy": {"numNodes": "two", "torch": {}, "mpi": {}},
                         "template": {"spec": {"replicatedJobz": []}}})
""")
    shown = stack.preview(ok=False)
    assert "resource 'mine' has a problem: spec.mlPolicy.numNodes" in shown
    assert "spec.template.spec.replicatedJobz" in shown
    assert "Traceback" not in shown


def test_pods_that_no_cluster_takes_are_refused_at_preview(stack: Stack) -> None:
    wrong = 'container["ports"] = [{{"containerPort": 70000}}]\nmine ='
    stack.program(RUNTIME.replace("mine =", wrong).format(kind="TrainingRuntime", mark="first"))
    shown = stack.preview(ok=False)
    assert "containers[0].ports[0].containerPort: must be from 1 to 65535, got 70000" in shown


def test_a_copy_of_the_catalogs_has_its_labels_and_destroy_removes_it(stack: Stack) -> None:
    stack.program("""
from trainer_infra import ClusterTrainingRuntime, catalog
ClusterTrainingRuntime("mine", catalog.get("torch-distributed"), name="team-torch")
""")
    stack.up()
    (resource,) = stack.resources("trainer:ClusterRuntime")
    assert resource["outputs"]["name"] == "team-torch"
    assert resource["outputs"]["labels"] == {"trainer.kubeflow.org/framework": "torch"}
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()
    stack.run("destroy", "--yes")
