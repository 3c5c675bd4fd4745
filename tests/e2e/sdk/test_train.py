"""What `train` starts, and how it ends."""

import json
from typing import Any

from tests.e2e.sdk.user import User
from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline

JSON = dict[str, Any]


def pods_of(user: User, name: str) -> list[JSON]:
    selector = f"jobset.sigs.k8s.io/jobset-name={name}"
    found = user.namespace.kubectl("get", "pods", "-l", selector, "-o", "json")
    pods: list[JSON] = json.loads(found)["items"]
    return pods


def environment(variables: list[JSON]) -> JSON:
    return {each["name"]: each.get("value") for each in variables}


def test_a_function_trains_on_two_nodes(user: User, image: str) -> None:
    assert user.ended("digits") == "Complete"

    lines = user.run("return client.get_job_logs('digits')")
    assert "hello from rank 0 of 2" in lines
    (accuracy,) = (float(line.split()[1]) for line in lines if line.startswith("accuracy"))
    assert accuracy > 0.9
    assert "hello from rank 1 of 2" in user.run("return client.get_job_logs('digits', 'node-1')")
    stored = user.stored("digits")
    assert stored["metadata"]["labels"] == {"team": "vision"}
    assert stored["metadata"]["annotations"]["example.com/why"] == "test"
    assert stored["spec"]["runtimeRef"]["kind"] == "TrainingRuntime"
    trainer = stored["spec"]["trainer"]
    assert (trainer["image"], trainer["numNodes"]) == (image, 2)
    # A quantity that a user gives as a number arrives as a float.
    assert trainer["resourcesPerNode"]["limits"] == {"cpu": "500m", "memory": 2 << 30}
    wanted = {"cpu": "500m", "memory": str(2 << 30)}
    for pod in pods_of(user, "digits"):
        resources = pod["spec"]["containers"][0]["resources"]
        assert resources["limits"] == resources["requests"] == wanted


def test_an_image_runs_the_command_and_arguments_of_the_options(user: User) -> None:
    assert user.ended("container") == "Complete"
    assert user.run("return client.get_job_logs('container')") == ["hello to you all"]


def test_mpirun_starts_the_function_on_the_launcher_and_the_node(user: User) -> None:
    assert user.ended("mpi") == "Complete"
    lines = user.run("return client.get_job_logs('mpi')")
    assert {"sum 3 on rank 0 of 2", "sum 3 on rank 1 of 2"} <= set(lines)
    (step,) = user.run("return client.get_job('mpi')")["steps"]
    assert (step["name"], step["status"]) == ("node-0", "Succeeded")
    assert step["pod_name"].startswith("mpi-launcher-0-0")


def test_initializers_get_where_from_and_every_setting(user: User) -> None:
    asked = user.stored("fetching")["spec"]["initializer"]
    assert asked["dataset"]["storageUri"] == "hf://org/data"
    assert environment(asked["dataset"]["env"]) == {"ACCESS_TOKEN": "given"}
    assert asked["model"]["storageUri"] == "s3://bucket/model"
    assert environment(asked["model"]["env"])["ENDPOINT"] == "https://s3.example.com"
    cached = user.stored("caching")["spec"]["initializer"]["dataset"]
    wanted = {"CLUSTER_SIZE": "3", "METADATA_LOC": "s3://bucket/metadata", "WORKER_MEM": "3Gi"}
    assert environment(cached["env"]) == wanted

    for name, step, variables in (
        ("fetching", "dataset-initializer", {"STORAGE_URI=hf://org/data", "ACCESS_TOKEN=given"}),
        ("fetching", "model-initializer", {"STORAGE_URI=s3://bucket/model"}),
        ("caching", "dataset-initializer", {"STORAGE_URI=cache://schema/table", "CLUSTER_SIZE=3"}),
        ("caching", "model-initializer", {"STORAGE_URI=hf://org/model"}),
    ):
        assert user.ended(name) == "Complete"
        lines = user.run("return client.get_job_logs(name, step)", name=name, step=step)
        assert variables <= set(lines)


def test_a_builtin_trainer_gets_the_command_that_we_render(user: User) -> None:
    stored = TrainJob.from_wire(user.stored("tuned"))
    *_, ours = pipeline.render(stored, catalog.get("torchtune-llama3.2-1b"))

    theirs = user.stored("tuned", "jobsets")

    assert command_of(theirs) == command_of(ours)
    assert "lora_finetune_distributed" in command_of(theirs)
    assert "model.lora_rank=8" in command_of(theirs)


def command_of(jobset: Any) -> list[str]:
    (node,) = (each for each in jobset["spec"]["replicatedJobs"] if each["name"] == "node")
    (container,) = node["template"]["spec"]["template"]["spec"]["containers"]
    return [*container["command"], *container.get("args", ())]


def test_a_runtime_patch_reaches_the_jobset_and_its_pods(user: User) -> None:
    assert user.ended("patched") == "Complete"

    assert user.run("return client.get_job_logs('patched')") == ["/scratch"]
    (patch,) = user.stored("patched")["spec"]["runtimePatches"]
    assert patch["manager"] == "trainer.kubeflow.org/kubeflow-sdk"
    assert user.stored("patched", "jobsets")["metadata"]["labels"]["team"] == "vision"
    (pod,) = pods_of(user, "patched")
    assert pod["metadata"]["labels"]["team"] == "vision"
    assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux"}


def test_a_deadline_ends_a_trainjob(user: User) -> None:
    assert user.stored("late")["spec"]["activeDeadlineSeconds"] == 5
    assert user.ended("late") == "Failed"
    assert user.stored("late")["status"]["conditions"][-1]["reason"] == "DeadlineExceeded"


def test_a_pod_reports_its_progress_by_the_sdks_own_function(user: User) -> None:
    assert user.ended("reporting") == "Complete"
    # The second one comes too soon, which the SDK decides.
    assert user.run("return client.get_job_logs('reporting')") == ["sent True, once more False"]
    status = user.stored("reporting")["status"]["trainerStatus"]
    assert (status["progressPercentage"], status["estimatedRemainingSeconds"]) == (42, 7)
    assert status["metrics"] == [{"name": "loss", "value": "0.25"}, {"name": "step", "value": "3"}]


def test_a_name_that_is_taken_is_refused(user: User) -> None:
    error = user.refused("return client.train('plain', options=[Name('running')])")
    assert (error["type"], error["status"]) == ("RuntimeError", 409)


def test_the_schema_refuses_a_place_without_a_scheme(user: User) -> None:
    code = """
        model = Initializer(model=HuggingFaceModelInitializer("org/model"))
        return client.train("fetching", initializer=model)
    """
    error = user.refused(code)
    assert (error["type"], error["status"]) == ("RuntimeError", 422)
    assert "storageUri may be empty, or it must be a valid URI" in error["cause"]


def test_the_schema_refuses_two_patches_because_both_are_of_one_manager(user: User) -> None:
    code = """
        twice = [RuntimePatch(TrainingRuntimeSpecPatch()), RuntimePatch(TrainingRuntimeSpecPatch())]
        return client.train("plain", options=twice)
    """
    error = user.refused(code)
    assert (error["type"], error["status"]) == ("RuntimeError", 422)
    assert "Duplicate value" in error["cause"]


def test_admission_refuses_a_runtime_that_is_gone(user: User) -> None:
    code = """
        runtime = client.get_runtime("plain")
        runtime.name = "gone"
        return client.train(runtime)
    """
    error = user.refused(code)
    assert (error["type"], error["status"]) == ("RuntimeError", 403)
    assert "must be created before the TrainJob is created" in error["cause"]
