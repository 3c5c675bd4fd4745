"""TrainJobs and runtimes before they are stored. Rules and messages: reference behaviour 1.6 and 5."""

from typing import Any

import pytest

from tests.lifecycle.worlds import (
    COUNTS,
    NOW,
    RUNTIME,
    condition,
    job,
    jobset,
    patch,
    pods_of,
    seen,
)
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.lifecycle import admission
from trainer_infra.lifecycle.admission import Before, Verdict
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects

POLICY = (
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
)
IMMUTABLE = "field is immutable"
POOL_A = [patch(name="node", template=pods_of(nodeSelector={"pool": "a"}))]
POOL_B = [patch(name="node", template=pods_of(nodeSelector={"pool": "b"}))]


def edited(**change: Any) -> ClusterTrainingRuntime:
    wire = RUNTIME.to_wire()
    wire["metadata"].update(change.pop("metadata", {}))
    wire["spec"].update(change)
    return ClusterTrainingRuntime.from_wire(wire)


def said(verdict: Verdict) -> list[tuple[str, str]]:
    return [(each.path, each.what) for each in verdict.problems]


def test_a_sound_job_is_admitted_without_a_word() -> None:
    assert admission.judge_train_job(job(), RUNTIME) == Verdict()


@pytest.mark.parametrize(
    ("reference", "named"),
    [
        ({"kind": "Recipe"}, "Recipe.trainer.kubeflow.org"),
        ({"apiGroup": "acme.io"}, "ClusterTrainingRuntime.acme.io"),
        ({"apiGroup": "", "kind": "TrainingRuntime"}, "TrainingRuntime"),
    ],
)
def test_a_runtime_of_an_unknown_kind_is_refused(reference: dict[str, str], named: str) -> None:
    wrong = job(runtimeRef={"name": "mine", **reference})
    assert admission.judge_train_job(wrong, None).problems == (
        Problem(
            "spec.runtimeRef",
            f"unsupported runtime: {named}",
            fix="use TrainingRuntime or ClusterTrainingRuntime of trainer.kubeflow.org",
            where="TrainJob tj",
        ),
    )


@pytest.mark.parametrize(
    ("kind", "path", "what"),
    [
        (
            "TrainingRuntime",
            "spec.runtimeRef",
            (
                'trainingruntimes.trainer.kubeflow.org "mine" not found: specified trainingRuntime '
                "must be created before the TrainJob is created"
            ),
        ),
        (
            "ClusterTrainingRuntime",
            "spec.RuntimeRef",
            (
                'clustertrainingruntimes.trainer.kubeflow.org "mine" not found: specified '
                "clusterTrainingRuntime must be created before the TrainJob is created"
            ),
        ),
    ],
)
def test_the_runtime_comes_before_the_job(kind: str, path: str, what: str) -> None:
    early = job(runtimeRef={"name": "mine", "kind": kind})
    assert said(admission.judge_train_job(early, None)) == [(path, what)]
    assert said(admission.judge_train_job(early, None, behaviour=REFERENCE)) == [(path, what)]


def test_a_deprecated_cluster_runtime_is_a_warning() -> None:
    old = edited(metadata={"labels": {"trainer.kubeflow.org/support": "deprecated"}})
    sentence = (
        'ClusterTrainingRuntime "jax-distributed" is deprecated and will be removed in a future '
        f"release of Kubeflow Trainer. See runtime deprecation policy: {POLICY}"
    )
    assert admission.judge_train_job(job(), old) == Verdict((f"Referenced {sentence}",))
    assert admission.judge_runtime(old) == Verdict((sentence,))
    assert admission.judge_runtime(old, old) == Verdict()
    own = TrainingRuntime.from_wire({**old.to_wire(), "kind": "TrainingRuntime"})
    assert admission.judge_runtime(own) == Verdict()


def test_problems_of_all_plugins_come_at_once() -> None:
    wrong = job(
        initializer={"model": {"storageUri": "hf://a/b"}},
        runtimePatches=[patch("nodomain", name="worker")],
        metadata={"annotations": {"trainer-infra.dev/ttl-seconds-after-finished": "soon"}},
    )
    assert [path for path, _ in said(admission.judge_train_job(wrong, RUNTIME))] == [
        "metadata.annotations[trainer-infra.dev/ttl-seconds-after-finished]",
        "spec.runtimeRef",
        "spec.runtimePatches.manager",
        "spec.runtimePatches",
    ]


def test_patches_on_one_field_are_a_warning() -> None:
    both = [POOL_A[0], {**POOL_B[0], "manager": "b.io/x"}]
    (warning,) = admission.judge_train_job(job(runtimePatches=both), RUNTIME).warnings
    assert "spec.runtimePatches[1] (manager b.io/x) sets" in warning
    assert (
        admission.judge_train_job(job(runtimePatches=both), RUNTIME, behaviour=REFERENCE)
        == Verdict()
    )


@pytest.mark.parametrize("behaviour", [OURS, REFERENCE])
def test_a_changed_immutable_field_is_refused(behaviour: Behaviour) -> None:
    old, new = job(trainer={"numNodes": 1}), job(trainer={"numNodes": 2})
    verdict = admission.judge_train_job(new, RUNTIME, Before(old), behaviour=behaviour)
    assert said(verdict) == [("spec.trainer", IMMUTABLE)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("trainer", {"numNodes": 1}),
        ("initializer", {}),
        ("activeDeadlineSeconds", 10),
    ],
)
def test_q12_an_immutable_field_is_neither_added_nor_removed(field: str, value: Any) -> None:
    without, with_it = job(), job(**{field: value})
    for old, new in ((without, with_it), (with_it, without)):
        assert said(admission.judge_train_job(new, RUNTIME, Before(old))) == [
            (f"spec.{field}", IMMUTABLE)
        ]
        assert (
            admission.judge_train_job(new, RUNTIME, Before(old), behaviour=REFERENCE) == Verdict()
        )


def test_what_the_schema_fills_in_is_no_change() -> None:
    old = job(
        runtimeRef={
            "name": "jax-distributed",
            "kind": "ClusterTrainingRuntime",
            "apiGroup": "trainer.kubeflow.org",
        },
        managedBy="trainer.kubeflow.org/trainjob-controller",
        suspend=False,
    )
    assert admission.judge_train_job(job(), RUNTIME, Before(old)) == Verdict()


@pytest.mark.parametrize("behaviour", [OURS, REFERENCE])
@pytest.mark.parametrize(
    ("held_before", "held_after", "live", "what"),
    [
        (
            False,
            False,
            True,
            (
                "RuntimePatches can only be modified when the TrainJob is suspended before or "
                "after the update"
            ),
        ),
        (True, True, False, None),
        (True, False, False, None),
        (False, True, False, None),
        (
            True,
            True,
            True,
            "RuntimePatches cannot be modified when the JobSet's ReplicatedJob node is still active",
        ),
    ],
)
def test_patches_change_only_while_no_pod_runs(
    held_before: bool, held_after: bool, live: bool, what: str | None, behaviour: Behaviour
) -> None:
    old = job(suspend=held_before, runtimePatches=POOL_A)
    new = job(suspend=held_after, runtimePatches=POOL_B)
    counts = {**COUNTS, "active": 1 if live else 0}
    observed = seen(old, jobset(old, replicatedJobsStatus=[counts]))
    verdict = admission.judge_train_job(new, RUNTIME, Before(old, observed), behaviour=behaviour)
    assert said(verdict) == ([] if what is None else [("spec.runtimePatches", what)])


def test_patches_that_did_not_change_pass_whatever_their_time() -> None:
    old = job(runtimePatches=[{**POOL_A[0], "time": "2026-11-21T12:00:00Z"}])
    new = job(runtimePatches=POOL_A, suspend=True)
    assert admission.judge_train_job(new, RUNTIME, Before(old)) == Verdict()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"affinity": {"nodeAffinity": {}}}, "affinity"),
        ({"serviceAccountName": "me"}, "serviceAccountName"),
        ({"volumes": [{"name": "v", "emptyDir": {}}]}, "volumes"),
        (
            {"containers": [{"name": "node", "securityContext": {"runAsUser": 1}}]},
            "containers[node].securityContext",
        ),
    ],
)
def test_q8_a_patch_that_jobset_would_refuse_for_ever_is_refused(
    spec: dict[str, Any], field: str
) -> None:
    old = job(suspend=True)
    new = job(suspend=True, runtimePatches=[patch(name="node", template=pods_of(**spec))])
    before = Before(old, seen(old, jobset(old)))
    assert admission.judge_train_job(new, RUNTIME, before).problems == (
        Problem(
            "spec.runtimePatches",
            f"changes replicatedJobs[node].template.spec.template.spec.{field} of a JobSet that "
            "exists, which JobSet refuses: field is immutable",
            fix="change only labels, annotations, nodeSelector, tolerations and schedulingGates "
            "of pods, or make another TrainJob",
            where="TrainJob tj",
        ),
    )
    assert admission.judge_train_job(new, RUNTIME, before, behaviour=REFERENCE) == Verdict()
    assert admission.judge_train_job(new, RUNTIME, Before(old)) == Verdict()


def test_q8_what_jobset_lets_a_suspended_jobset_change_passes() -> None:
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    spec = {
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "gpu"}],
        "schedulingGates": [{"name": "g"}],
    }
    template = {"spec": {"template": {"metadata": metadata, "spec": spec}}}
    old = job(suspend=True)
    new = job(suspend=False, runtimePatches=[patch(name="node", template=template)])
    before = Before(old, seen(old, jobset(old)))
    assert admission.judge_train_job(new, RUNTIME, before) == Verdict()


def test_q8_job_metadata_is_not_what_jobset_lets_change() -> None:
    old = job(suspend=True)
    template = {"metadata": {"labels": {"a": "b"}}}
    new = job(suspend=True, runtimePatches=[patch(name="node", template=template)])
    before = Before(old, seen(old, jobset(old)))
    ((_, what),) = said(admission.judge_train_job(new, RUNTIME, before))
    assert what.startswith("changes replicatedJobs[node].template.metadata.labels.a of a JobSet")


def test_q9_an_update_is_judged_with_the_runtime_that_the_job_was_born_with() -> None:
    old = job(suspend=True)
    before = Before(old, seen(old, jobset(old)))
    for live in (None, edited(template={"spec": {"replicatedJobs": []}})):
        assert admission.judge_train_job(job(suspend=False), live, before) == Verdict()
    ((path, _),) = said(
        admission.judge_train_job(job(suspend=False), None, before, behaviour=REFERENCE)
    )
    assert path == "spec.RuntimeRef"


def test_q9_labels_and_finalizers_change_without_any_runtime() -> None:
    old = job(metadata={"finalizers": ["acme.io/x"]})
    assert admission.judge_train_job(job(), None, Before(old)) == Verdict()
    leaving = job(metadata={"deletionTimestamp": "2026-11-21T12:00:20Z", "labels": {"a": "b"}})
    assert admission.judge_train_job(leaving, None, Before(old)) == Verdict()
    labelled = job(metadata={"labels": {"a": "b"}})
    ((path, _),) = said(admission.judge_train_job(labelled, None, Before(old)))
    assert path == "spec.RuntimeRef"


def test_a_runtime_with_a_job_of_two_replicas_or_without_its_container_is_refused() -> None:
    wire = RUNTIME.to_wire()
    replicated = wire["spec"]["template"]["spec"]["replicatedJobs"][0]
    replicated["replicas"] = 2
    replicated["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    wrong = ClusterTrainingRuntime.from_wire(wire)
    path = "spec.template.spec.replicatedJobs[0]"
    expected = [
        (f"{path}.replicas", "always must be 1"),
        (
            f"{path}.template.spec.template.spec.containers",
            "must contain the required container for the ancestor: trainer",
        ),
    ]
    assert said(admission.judge_runtime(wrong)) == expected
    assert said(admission.judge_runtime(wrong, RUNTIME, behaviour=REFERENCE)) == expected


def test_q10_updates_of_a_namespaced_runtime_are_judged_too() -> None:
    wire = RUNTIME.to_wire()
    old = TrainingRuntime.from_wire({**wire, "kind": "TrainingRuntime"})
    wire["spec"]["template"]["spec"]["replicatedJobs"][0]["replicas"] = 2
    new = TrainingRuntime.from_wire({**wire, "kind": "TrainingRuntime"})
    what = [("spec.template.spec.replicatedJobs[0].replicas", "always must be 1")]
    assert said(admission.judge_runtime(new, old)) == what
    assert said(admission.judge_runtime(new, behaviour=REFERENCE)) == what
    assert admission.judge_runtime(new, old, behaviour=REFERENCE) == Verdict()


def test_q10_both_gang_policies_at_once_are_refused() -> None:
    both = edited(podGroupPolicy={"coscheduling": {}, "volcano": {}})
    assert [path for path, _ in said(admission.judge_runtime(both))] == ["spec.podGroupPolicy"]
    assert admission.judge_runtime(both, behaviour=REFERENCE) == Verdict()


def test_jobsets_immutable_fields_of_a_runtime_stay() -> None:
    def with_restarts(number: int) -> ClusterTrainingRuntime:
        wire = RUNTIME.to_wire()
        wire["spec"]["template"]["spec"]["failurePolicy"] = {"maxRestarts": number}
        return ClusterTrainingRuntime.from_wire(wire)

    verdict = admission.judge_runtime(with_restarts(2), with_restarts(1))
    assert said(verdict) == [("spec.template.spec.failurePolicy", "Value is immutable")]


def times(value: TrainJob) -> list[str | None]:
    return [each.time for each in value.spec.runtime_patches or ()]


def test_new_patches_get_the_time_unless_they_have_one() -> None:
    given = {**POOL_B[0], "manager": "b.io/x", "time": "2026-01-01T00:00:00Z"}
    new = job(runtimePatches=[POOL_A[0], given])
    expected = ["2026-11-21T12:00:30Z", "2026-01-01T00:00:00Z"]
    assert times(admission.with_defaults(new, None, NOW)) == expected
    assert times(admission.with_defaults(new, job(), NOW)) == expected
    assert times(new) == [None, "2026-01-01T00:00:00Z"]


def test_on_an_update_only_changed_patches_get_another_time() -> None:
    stored = "2026-11-21T12:00:00Z"
    old = job(runtimePatches=[{**POOL_A[0], "time": stored}])
    same = job(runtimePatches=[{**POOL_A[0], "time": "2026-01-01T00:00:00Z"}])
    assert times(admission.with_defaults(same, old, NOW)) == [stored]
    other = job(runtimePatches=[{**POOL_B[0], "time": stored}])
    assert times(admission.with_defaults(other, old, NOW)) == ["2026-11-21T12:00:30Z"]


def test_a_job_without_patches_is_given_back_as_it_is() -> None:
    plain = job()
    assert admission.with_defaults(plain, None, NOW) is plain


def test_a_finished_job_may_still_be_labelled_when_all_is_gone() -> None:
    done = job(status={"conditions": [condition("Complete", "True", "AllJobsCompleted")]})
    gone = Before(done, ObservedObjects(jobset=None))
    assert (
        admission.judge_train_job(job(metadata={"finalizers": ["a.io/b"]}), None, gone) == Verdict()
    )
