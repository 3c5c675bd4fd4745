"""Reference behaviour 4.6 and 4.9: suspended TrainJobs, and those that are resumed."""

from typing import Any

from tests.conformance import objects
from tests.conformance.places import Place
from tests.conformance.rules import rule
from trainer_infra.render.deviation import Deviation

JSON = dict[str, Any]

QUEUE = "scheduling.volcano.sh/queue-name"


def suspended(place: Place, **runtime: Any) -> None:
    """A TrainJob that is suspended, with its JobSet."""
    place.add(objects.runtime("runtime", **runtime), objects.train_job(suspend=True))
    place.until_condition("Suspended", "True")


def is_suspended(place: Place) -> bool:
    suspend: bool = place.job_set()["spec"]["suspend"]
    return suspend


@rule("4.6-suspended", "4.5-suspend")
def test_a_suspended_train_job_says_so_and_so_does_its_job_set(place: Place) -> None:
    suspended(place)
    said = place.condition("Suspended")
    assert (said["reason"], said["message"]) == ("Suspended", "TrainJob is suspended")
    assert is_suspended(place)


@rule("4.6-never-suspended", "4.5-suspend")
def test_one_that_never_was_suspended_says_nothing(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    assert not is_suspended(place)
    place.settle()
    assert place.condition("Suspended") == {}


@rule("4.6-resumed", differs=(Deviation.RESUME,))
def test_a_resumed_train_job_says_so(place: Place) -> None:
    suspended(place)
    place.suspend(False)
    if place.deviates(Deviation.RESUME):
        place.until(lambda: not place.condition("Suspended"))
    else:
        said = place.until_condition("Suspended", "False")
        assert (said["reason"], said["message"]) == ("Resumed", "TrainJob is resumed")


@rule("4.9-resume")
def test_resuming_resumes_the_job_set(place: Place) -> None:
    suspended(place)
    place.suspend(False)
    place.until(lambda: not is_suspended(place))


@rule("4.9-suspend", "1.6-suspend")
def test_suspending_suspends_the_job_set(place: Place) -> None:
    place.add(objects.runtime(), objects.train_job())
    assert not is_suspended(place)
    place.suspend(True)
    place.until(lambda: is_suspended(place))
    place.until_condition("Suspended", "True")


@rule("4.9-suspend-whole", "4.6-forced")
def test_suspending_applies_the_whole_job_set(place: Place) -> None:
    place.add(objects.runtime(template={"labels": {"example.com/a": "runtime"}}))
    place.add(objects.train_job())
    place.settled_job_set()
    taken = {"metadata": {"labels": {"example.com/a": "taken", "example.com/b": "own"}}}
    place.change("JobSet", "a", taken)
    place.settle()
    assert place.job_set()["metadata"]["labels"] == taken["metadata"]["labels"]
    place.suspend(True)
    place.until(lambda: is_suspended(place))
    assert place.job_set()["metadata"]["labels"] == {
        "example.com/a": "runtime",
        "example.com/b": "own",
    }


@rule("4.5-running")
def test_a_job_set_that_runs_is_left_as_it_is(place: Place) -> None:
    place.add(objects.runtime(template={"labels": {"example.com/a": "runtime"}}))
    place.add(objects.train_job())
    place.settled_job_set()
    place.change("JobSet", "a", {"metadata": {"labels": {"example.com/a": "taken"}}})
    version = place.job_set()["metadata"]["resourceVersion"]
    place.touch("again")
    place.settle()
    assert place.job_set()["metadata"]["resourceVersion"] == version


@rule("4.9-patches", "1.6-patches", "1.6-patch-scheduling")
def test_patches_that_were_changed_meanwhile_reach_the_job_set(place: Place) -> None:
    suspended(place)
    toleration = {"key": "gpu", "operator": "Exists"}
    gate = {"name": "example.com/gate"}
    first = objects.patch(nodeSelector={"zone": "a"}, schedulingGates=[gate])
    second = objects.patch(
        nodeSelector={"zone": "b"},
        tolerations=[toleration],
        pod_metadata={"labels": {"example.com/pod": "a"}, "annotations": {"example.com/pod": "b"}},
    )
    place.suspend(True, runtimePatches=[first])
    place.until(lambda: "schedulingGates" in objects.pod_spec(place.job_set()))
    place.suspend(True, runtimePatches=[second])
    place.until(lambda: "tolerations" in objects.pod_spec(place.job_set()))
    place.suspend(False)
    place.until(lambda: not is_suspended(place))
    pod = objects.replicated(place.job_set())["template"]["spec"]["template"]
    assert pod["spec"]["nodeSelector"] == {"zone": "b"}
    assert pod["spec"]["tolerations"] == [toleration]
    assert "schedulingGates" not in pod["spec"]
    assert pod["metadata"]["labels"]["example.com/pod"] == "a"
    assert pod["metadata"]["annotations"]["example.com/pod"] == "b"


@rule("4.9-with-patches", "5.1-patches-resuming")
def test_a_patch_in_the_request_that_resumes_reaches_the_job_set(place: Place) -> None:
    suspended(place)
    place.suspend(False, runtimePatches=[objects.patch(nodeSelector={"zone": "a"})])
    place.until(lambda: not is_suspended(place))
    assert objects.pod_spec(place.job_set())["nodeSelector"] == {"zone": "a"}


@rule("4.9-metadata")
def test_labels_and_annotations_of_patches_reach_the_job_set(place: Place) -> None:
    suspended(place)
    patch = objects.patch(labels={"example.com/a": "b"}, annotations={"example.com/c": "d"})
    place.suspend(True, runtimePatches=[patch])
    place.until(lambda: "labels" in place.job_set()["metadata"])
    metadata = place.job_set()["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == (
        {"example.com/a": "b"},
        {"example.com/c": "d"},
    )


@rule("4.9-pod-group")
def test_the_pod_group_is_applied_while_the_train_job_is_suspended(place: Place) -> None:
    suspended(place, gang={"volcano": {}})

    def queue(name: str) -> JSON:
        return objects.patch(annotations={QUEUE: name})

    def group() -> JSON:
        found: JSON = place.until(lambda: place.find("VolcanoPodGroup", "a"))["spec"]
        return found

    assert "queue" not in group()
    place.suspend(True, runtimePatches=[queue("first")])
    place.until(lambda: group().get("queue") == "first")
    place.suspend(False, runtimePatches=[queue("second")])
    place.until(lambda: not is_suspended(place))
    assert place.job_set()["metadata"]["annotations"][QUEUE] == "second"
    place.settle()
    assert group()["queue"] == "first"


@rule("4.9-job-set-refuses", differs=(Deviation.Q8,))
def test_a_patch_that_job_set_refuses_is_accepted(place: Place) -> None:
    suspended(place)
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    patch = objects.patch(affinity={"nodeAffinity": required})
    answer = place.merge("TrainJob", "a", {"spec": {"runtimePatches": [patch]}})
    if place.deviates(Deviation.Q8):
        assert answer.status == 403
        assert "affinity" in answer.message
    else:
        assert answer.message == ""
