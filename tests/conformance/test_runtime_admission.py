"""Reference behaviour 5.2: what the webhooks of runtimes refuse and warn of."""

from typing import Any

import pytest

from tests.conformance import admission, objects
from tests.conformance.admission import Refusal
from tests.conformance.objects import DATASET, MODEL
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

KINDS = {
    "TrainingRuntime": admission.RUNTIME,
    "ClusterTrainingRuntime": admission.CLUSTER_RUNTIME,
}
JOBS = "spec.template.spec.replicatedJobs"
CONTAINERS = "template.spec.template.spec.containers"
DEPRECATED = {"trainer.kubeflow.org/support": "deprecated"}
TWICE: JSON = {"outer": {"replicas": 2}}
OTHER: JSON = {"containers": [objects.container("other")]}


def runtime(place: Place, kind: str, *jobs: JSON, **fields: Any) -> JSON:
    return objects.runtime(place.name, *jobs, kind=kind, **fields)


@rule("5.2-replicas")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["trainer", DATASET, MODEL])
def test_a_job_of_a_step_has_one_replica(place: Place, kind: str, step: str) -> None:
    job = objects.job("node" if step == "trainer" else step, step, **TWICE)
    answer = place.submit(runtime(place, kind, objects.job("first", None), job))
    admission.assert_refused(
        place, answer, KINDS[kind], Refusal(f"{JOBS}[1].replicas", "always must be 1")
    )


@rule("5.2-container")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", ["trainer", DATASET, MODEL])
def test_a_job_of_a_step_has_the_container_of_that_step(place: Place, kind: str, step: str) -> None:
    answer = place.submit(runtime(place, kind, objects.job("first", step, **OTHER)))
    missing = f"must contain the required container for the ancestor: {step}"
    admission.assert_refused(
        place, answer, KINDS[kind], Refusal(f"{JOBS}[0].{CONTAINERS}", missing)
    )


@rule("5.2-replicas", "5.2-container")
def test_all_mistakes_are_told_at_once(place: Place) -> None:
    jobs = [objects.job("first", "trainer", **OTHER, **TWICE), objects.job("node", **TWICE)]
    answer = place.submit(runtime(place, "TrainingRuntime", *jobs))
    admission.assert_refused(
        place,
        answer,
        admission.RUNTIME,
        Refusal(f"{JOBS}[0].replicas", "always must be 1"),
        Refusal(
            f"{JOBS}[0].{CONTAINERS}",
            "must contain the required container for the ancestor: trainer",
        ),
        Refusal(f"{JOBS}[1].replicas", "always must be 1"),
    )


@rule("5.2-other-jobs")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("step", [None, "evaluator"])
def test_a_job_without_a_step_is_not_looked_at(place: Place, kind: str, step: str | None) -> None:
    place.add(runtime(place, kind, objects.job("other", step, **OTHER, **TWICE)))


@rule("5.2-cluster-update")
def test_an_update_of_a_cluster_training_runtime_is_judged(place: Place) -> None:
    place.add(runtime(place, "ClusterTrainingRuntime"))
    wrong = {"replicatedJobs": [objects.job(**TWICE)]}
    answer = place.merge(
        "ClusterTrainingRuntime", place.name, {"spec": {"template": {"spec": wrong}}}
    )
    admission.assert_refused(
        place, answer, admission.CLUSTER_RUNTIME, Refusal(f"{JOBS}[0].replicas", "always must be 1")
    )


@rule("5.2-update", differs=(Deviation.Q10,))
def test_an_update_of_a_training_runtime_is_not(place: Place) -> None:
    place.add(runtime(place, "TrainingRuntime"))
    wrong = {"replicatedJobs": [objects.job(**TWICE)]}
    answer = place.merge("TrainingRuntime", place.name, {"spec": {"template": {"spec": wrong}}})
    if place.deviates(Deviation.Q10):
        admission.assert_refused(
            place, answer, admission.RUNTIME, Refusal(f"{JOBS}[0].replicas", "always must be 1")
        )
    else:
        assert answer.message == ""


@rule("5.2-deprecated", "5.2-deprecated-update")
def test_creating_a_deprecated_cluster_training_runtime_is_a_warning(place: Place) -> None:
    answer = place.submit(runtime(place, "ClusterTrainingRuntime", labels=DEPRECATED))
    assert answer.message == ""
    assert answer.warnings == (
        (
            f'ClusterTrainingRuntime "{place.name}" is deprecated and will be removed in a future '
            "release of Kubeflow Trainer. See runtime deprecation policy: "
            "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html"
            "#runtime-deprecation-policy"
        ),
    )
    touched = {"metadata": {"annotations": {"example.com/a": "b"}}}
    answer = place.merge("ClusterTrainingRuntime", place.name, touched)
    assert (answer.message, answer.warnings) == ("", ())


@rule("5.2-deprecated-update")
def test_creating_a_deprecated_training_runtime_is_none(place: Place) -> None:
    answer = place.submit(runtime(place, "TrainingRuntime", labels=DEPRECATED))
    assert (answer.message, answer.warnings) == ("", ())


@rule("5.2-disabled")
@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_with_the_label_is_not_judged(place: Place, kind: str) -> None:
    wrong = objects.job(**OTHER, **TWICE)
    place.add(runtime(place, kind, wrong, labels=objects.UNCHECKED))
