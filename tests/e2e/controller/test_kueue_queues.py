"""TrainJobs in queues of a real Kueue, on each controller: it suspends them, starts them and places their pods.

That they wait, are admitted and complete while the platform changes: disruptive/test_platform.py.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import kueue
from tests.deploy.project import Stack
from tests.e2e.cluster import Namespace
from tests.e2e.disruptive.queues import Queues
from tests.e2e.jobs import eventually
from tests.e2e.plain_train_job import UNTIL_TOLD, conditions, end, post_train_job
from tests.e2e.survivor import Preemption, train_disturbed
from trainer_infra import names
from trainer_infra.platform.kueue import FRAMEWORKS

HOST = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def installed(trainer_controller: str, kubeconfig: Path) -> Iterator[str]:
    """Kueue beside that controller, for JobSets and TrainJobs as the platform has it."""
    kueue.install(kubeconfig, integrations={"frameworks": list(FRAMEWORKS)})
    yield trainer_controller
    kueue.remove(kubeconfig)


@pytest.fixture
def queues(installed: str, namespace: Namespace) -> Queues:
    """A namespace that Kueue manages."""
    assert installed
    namespace.kubectl("label", "namespace", namespace.name, f"{kueue.LABEL}=true")
    return Queues(namespace)


def running_pods(namespace: Namespace) -> list[dict[str, Any]]:
    """The pods that run and are not being deleted."""
    return [
        each
        for each in namespace.all("pods")
        if each["status"]["phase"] == "Running" and "deletionTimestamp" not in each["metadata"]
    ]


def name_of_pod(namespace: Namespace, job: str) -> str:
    """The name of a TrainJob's pod, once it runs."""

    def found() -> str | None:
        listed = [each["metadata"] for each in running_pods(namespace)]
        return next((each["name"] for each in listed if each["name"].startswith(f"{job}-")), None)

    return str(eventually(found))


def events_of(namespace: Namespace, name: str) -> dict[str, str]:
    """The words of a TrainJob's events, by reason."""
    listed = [each for each in namespace.all("events") if each["involvedObject"]["name"] == name]
    return {each["reason"]: each["message"] for each in listed}


def test_a_train_job_makes_room_for_a_more_urgent_one_and_completes_after_it(
    queues: Queues, installed: str
) -> None:
    namespace = queues.namespace
    queues.local(queues.cluster("150m", preemption={"withinClusterQueue": "LowerPriority"}))
    urgent = queues.made("WorkloadPriorityClass", f"{namespace.name}-urgent", {"value": 1_000})
    post_train_job(namespace, "patient", UNTIL_TOLD, "team")
    before = name_of_pod(namespace, "patient")

    labels = {names.KUEUE_PRIORITY_LABEL: urgent}
    post_train_job(namespace, "urgent", UNTIL_TOLD, "team", labels=labels)
    end(namespace, name_of_pod(namespace, "urgent"))
    eventually(lambda: conditions(namespace, "urgent") == {"Complete"})

    again = name_of_pod(namespace, "patient")
    assert again != before
    assert conditions(namespace, "patient") == set()
    end(namespace, again)
    eventually(lambda: conditions(namespace, "patient") == {"Complete"})
    if installed == names.BUILTIN:
        reasons = events_of(namespace, "patient")
        assert {names.EVENT_SUSPENDED, names.EVENT_RESUMED} <= reasons.keys()


@pytest.mark.parametrize("times", [1, pytest.param(8, marks=pytest.mark.soak)])
def test_a_training_that_saves_goes_on_where_it_was_preempted(
    queues: Queues, controller_stack: Callable[..., Stack], times: int
) -> None:
    train_disturbed(controller_stack(), queues.namespace, Preemption(queues), times)


def test_the_place_that_kueue_chose_reaches_the_pods(queues: Queues) -> None:
    namespace = queues.namespace
    levels = [{"nodeLabel": HOST}]
    topology = queues.made("Topology", f"{namespace.name}-hosts", {"levels": levels})
    flavor = queues.flavor(
        "placed", nodeLabels={"kubernetes.io/os": "linux"}, topologyName=topology
    )
    queues.local(queues.cluster(flavors=[flavor]))
    annotations = {names.KUEUE_REQUIRED_TOPOLOGY: HOST}
    post_train_job(namespace, "placed", UNTIL_TOLD, "team", annotations=annotations)
    pod_name = name_of_pod(namespace, "placed")

    pod = namespace.one("pods", pod_name)
    assert pod["spec"]["nodeSelector"] == {
        HOST: pod["spec"]["nodeName"],
        "kubernetes.io/os": "linux",
    }
    workload = queues.workload("placed")
    (assigned,) = workload["status"]["admission"]["podSetAssignments"]
    assert assigned["topologyAssignment"]["levels"] == [HOST]
    assert (
        pod["metadata"]["annotations"][f"{names.KUEUE_GROUP}/workload"]
        == (workload["metadata"]["name"])
    )
    end(namespace, pod_name)
    eventually(lambda: conditions(namespace, "placed") == {"Complete"})


def test_what_kueue_does_not_count_is_an_event(queues: Queues, installed: str) -> None:
    """Kueue reads a TrainJob as Trainer 2.2 did: its resources replace those of the runtime."""
    namespace = queues.namespace
    queues.local(queues.cluster())
    resources = {"requests": {"memory": "32Mi"}}
    post_train_job(namespace, "counted", UNTIL_TOLD, "team", resources=resources)
    pod_name = name_of_pod(namespace, "counted")

    (container,) = namespace.one("pods", pod_name)["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "100m", "memory": "32Mi"}
    (pods,) = queues.workload("counted")["spec"]["podSets"]
    (seen,) = pods["template"]["spec"]["containers"]
    assert seen["resources"]["requests"] == {"cpu": "100m"}
    if installed == names.BUILTIN:
        words = eventually(lambda: events_of(namespace, "counted").get(names.EVENT_UNCOUNTED))
        assert "memory" in str(words)
    end(namespace, pod_name)
    eventually(lambda: conditions(namespace, "counted") == {"Complete"})
