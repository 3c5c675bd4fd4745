"""Which pods train: not those that only start others, and not all that are called node."""

from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.rules import tree
from trainer_infra.rules.placement import nodes

JSON = dict[str, Any]
LABEL = {"labels": {names.ANCESTOR_LABEL: names.TRAINER}}


def trains(*objects: JSON) -> list[str]:
    (subject, *_) = tree.subjects_of(list(objects))
    return [each.name() for each in nodes.training_pods(subject)]


def rendered(runtime: JSON) -> JSON:
    """The JobSet of a TrainJob on a runtime."""
    name = runtime["metadata"]["name"]
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": name}, "trainer": {"numNodes": 4}},
    }
    (subject, _) = tree.subjects_of([job, runtime])
    (jobset,) = subject.rendered_of(names.JOBSET)
    made: JSON = jobset.raw
    return made


def mpi(*, joins: bool, gpus: int = 0) -> JSON:
    """The shipped runtime of DeepSpeed, whose launcher trains or only starts the others."""
    runtime = catalog.get("deepspeed-distributed").to_wire()
    runtime["metadata"]["name"] = "mine"
    runtime["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = joins
    for each in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        if each["name"] == names.LAUNCHER and gpus:
            container = each["template"]["spec"]["template"]["spec"]["containers"][0]
            container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    return runtime


@pytest.mark.parametrize(
    ("joins", "gpus", "expected"),
    [(False, 0, ["node"]), (True, 0, ["node", "launcher"]), (True, 8, ["node", "launcher"])],
)
def test_the_launcher_of_a_runtime_trains_if_the_policy_says_so(
    joins: bool, gpus: int, expected: list[str]
) -> None:
    assert trains(mpi(joins=joins, gpus=gpus)) == expected


@pytest.mark.parametrize(("gpus", "expected"), [(0, ["node"]), (8, ["node", "launcher"])])
def test_the_launcher_of_a_jobset_trains_if_it_asks_for_gpus(
    gpus: int, expected: list[str]
) -> None:
    """Nothing in a JobSet says what the policy was."""
    assert trains(rendered(mpi(joins=True, gpus=gpus))) == expected


def jobset(**labels: JSON) -> JSON:
    jobs = [
        {"name": name, "template": {"metadata": labels.get(name, {}), "spec": {"template": {}}}}
        for name in ("node", "server")
    ]
    return {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "metadata": {"name": "digits"},
        "spec": {"replicatedJobs": jobs},
    }


def test_a_job_that_is_called_node_trains_only_where_no_other_has_the_label() -> None:
    assert trains(jobset()) == ["node"]
    assert trains(jobset(server=LABEL)) == ["server"]
