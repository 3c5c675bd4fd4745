"""What the SDK says of a cluster's runtimes."""

import re
from collections.abc import Callable

from tests.e2e.sdk.user import User
from trainer_infra import catalog

ELSEWHERE = """
    import os
    os.environ["KUBEFLOW_SYSTEM_NAMESPACE"] = "elsewhere"
    try:
        client.backend.verify_backend()
    finally:
        del os.environ["KUBEFLOW_SYSTEM_NAMESPACE"]
"""


def test_a_client_finds_the_control_planes_version(user: User) -> None:
    answer = user.answer("return client.backend.namespace")
    assert (answer.value, answer.warnings) == (user.namespace.name, [])

    (warning,) = user.answer(ELSEWHERE).warnings
    assert "in namespace 'elsewhere'" in warning


def test_list_runtimes_has_the_clusters_and_prefers_the_namespaces(user: User) -> None:
    answer = user.answer("return client.list_runtimes()")

    kinds = {each["name"]: each["kind"] for each in answer.value}
    shipped = {each.name: "ClusterTrainingRuntime" for each in catalog.RUNTIMES}
    ours = dict.fromkeys(("torch-distributed", "plain", "mpi", "fetching"), "TrainingRuntime")
    assert kinds == {**shipped, **ours}
    assert len(kinds) == len(answer.value)
    assert answer.warnings == ["Runtime unlabelled missing trainer.kubeflow.org/framework label"]


def test_get_runtime_says_what_a_runtime_trains_with(user: User, image: str) -> None:
    ours = user.run("return client.get_runtime('torch-distributed')")
    assert ours["kind"] == "TrainingRuntime"
    trainer = ours["trainer"]
    assert (trainer["trainer_type"], trainer["framework"]) == ("CustomTrainer", "torch")
    assert (trainer["image"], trainer["num_nodes"], trainer["device"]) == (image, 1, "Unknown")

    theirs = user.run("return client.get_runtime('torchtune-llama3.3-70b')")
    assert theirs["kind"] == "ClusterTrainingRuntime"
    trainer = theirs["trainer"]
    assert (trainer["trainer_type"], trainer["framework"]) == ("BuiltinTrainer", "torchtune")
    assert (trainer["num_nodes"], trainer["device"]) == (2, "gpu")


def test_get_runtime_knows_the_entrypoint_of_each_framework(user: User) -> None:
    code = "return [client.get_runtime(each).trainer.command for each in names]"
    names = ["plain", "torch-distributed", "torchtune-llama3.2-1b", "mpi", "jax-distributed"]

    commands = user.run(code, names=names)

    first = [command[0] for command in commands]
    assert first == ["bash", "bash", "tune", "mpirun", "bash"]
    programs = [re.findall(r"^(\w+) \"", command[-1], re.MULTILINE)[-1:] for command in commands]
    assert programs == [["python"], ["torchrun"], [], ["python"], ["python"]]


def test_get_runtime_refuses_one_without_a_framework_and_one_that_is_not_there(user: User) -> None:
    unlabelled = user.refused("return client.get_runtime('unlabelled')")
    assert unlabelled["type"] == "RuntimeError"
    assert "must have trainer.kubeflow.org/framework label" in unlabelled["cause"]

    absent = user.refused("return client.get_runtime('absent')")
    assert (absent["type"], absent["status"]) == ("RuntimeError", 404)


def test_one_runtime_with_a_limit_of_memory_alone_ends_every_list(
    new_user: Callable[[], User],
) -> None:
    """sdk#516, a defect of the SDK that no control plane can mend."""
    user = new_user()
    runtime = user.stored("plain", "trainingruntimes")
    (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {"memory": "1Gi"}}
    runtime["metadata"] = {"name": "limited", "labels": runtime["metadata"]["labels"]}
    user.apply(runtime)

    error = user.refused("return client.list_runtimes()")

    assert "Unknown device type in the container resources" in error["message"]
    alone = user.refused("return client.get_runtime('limited')")
    assert "Unknown device type in the container resources" in alone["cause"]


def test_get_runtime_packages_runs_a_trainjob_and_deletes_it(user: User) -> None:
    before = set(user.namespace.names("trainjobs"))

    answer = user.answer("client.get_runtime_packages(client.get_runtime('plain'))")

    assert (answer.error, answer.warnings) == (None, [])
    assert answer.printed.startswith("Python: 3.11")
    assert set(user.namespace.names("trainjobs")) == before
    tuned = "client.get_runtime_packages(client.get_runtime('torchtune-llama3.2-1b'))"
    assert user.refused(tuned)["type"] == "ValueError"
