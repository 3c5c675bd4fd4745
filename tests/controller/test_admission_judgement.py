"""The four webhooks without a server. Paths, codes and words: reference behaviour 5."""

import asyncio
import copy
import json
import socket
from collections.abc import Collection
from typing import Any

import pytest
from typing_extensions import override

from tests.controller.reviews import (
    TORCH,
    World,
    answered,
    patch_of,
    patched,
    review,
    trainjob,
)
from tests.fake_api_server.memory import Memory
from tests.kube.scripted import config
from tests.lifecycle import worlds
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.admission_judgement import (
    MUTATE_TRAIN_JOB,
    PATHS,
    VALIDATE_CLUSTER_TRAINING_RUNTIME,
    VALIDATE_TRAIN_JOB,
    VALIDATE_TRAINING_RUNTIME,
    AdmissionJudge,
)
from trainer_infra.controller.runtime_lookup import ClusterLookups
from trainer_infra.kube import http
from trainer_infra.kube.request_retry import Patience
from trainer_infra.render import child_metadata, pipeline, snapshot
from trainer_infra.render.behaviour import REFERENCE

JSON = dict[str, Any]
NOW = worlds.NOW
STAMP = "2026-11-21T12:00:30Z"
DENIED = {"allowed": False, "code": 403, "reason": "Forbidden"}
LIKE_REFERENCE = World(behaviour=REFERENCE)


def said(response: JSON) -> JSON:
    """Whether it is allowed, code and reason."""
    status = response["status"]
    return {
        "allowed": response["allowed"],
        "code": status["code"],
        "reason": status.get("reason", ""),
    }


def message(response: JSON) -> str:
    return str(response["status"].get("message", ""))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_a_deletion_is_never_blocked(path: str, operation: str) -> None:
    response = World(()).answer(path, None, None, operation=operation)
    assert said(response) == {"allowed": True, "code": 200, "reason": ""}


@pytest.mark.parametrize("path", PATHS)
def test_an_object_that_is_being_deleted_is_never_blocked(path: str) -> None:
    """Its finalizers go, whatever became of its runtime and of our schema."""
    leaving: JSON = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    old = trainjob({"noSuchField": 1}, **leaving)
    response = World(()).answer(path, {**old, "spec": {"changed": True}}, old)
    assert response["allowed"]
    # A new object cannot say so of itself.
    created = World(()).answer(VALIDATE_TRAIN_JOB, trainjob(**leaving))
    assert said(created) == DENIED


def test_a_sound_job_gets_no_patch_and_no_warning() -> None:
    for path in (MUTATE_TRAIN_JOB, VALIDATE_TRAIN_JOB):
        assert set(World().answer(path, trainjob())) == {"uid", "allowed", "status"}


def test_only_times_of_patches_are_patched() -> None:
    given = [patched("a.io/new"), patched("a.io/set", "2025-01-01T00:00:00Z")]
    judge = AdmissionJudge(ClusterLookups(Memory()), now=lambda: NOW)
    create = review(trainjob({"runtimePatches": given}))
    answer = asyncio.run(answered(judge, MUTATE_TRAIN_JOB, create))["response"]
    assert patch_of(answer) == [
        {"op": "add", "path": "/spec/runtimePatches/0/time", "value": STAMP}
    ]


def test_an_update_keeps_the_time_of_a_patch_that_did_not_change() -> None:
    old = trainjob(
        {
            "runtimePatches": [
                patched("a.io/same", "2025-01-01T00:00:00Z"),
                patched("a.io/other", "2025-01-01T00:00:00Z"),
                patched("a.io/untimed"),
            ]
        }
    )
    new = trainjob(
        {
            "runtimePatches": [
                patched("a.io/same", "2030-01-01T00:00:00Z"),
                patched("a.io/other", "2030-01-01T00:00:00Z", nodeSelector={"a": "b"}),
                patched("a.io/untimed", "2030-01-01T00:00:00Z"),
            ]
        }
    )
    judge = AdmissionJudge(ClusterLookups(Memory()), now=lambda: NOW)
    answer = asyncio.run(answered(judge, MUTATE_TRAIN_JOB, review(new, old)))["response"]
    assert patch_of(answer) == [
        {"op": "add", "path": "/spec/runtimePatches/0/time", "value": "2025-01-01T00:00:00Z"},
        {"op": "add", "path": "/spec/runtimePatches/1/time", "value": STAMP},
        {"op": "remove", "path": "/spec/runtimePatches/2/time"},
    ]


def test_the_first_webhook_leaves_what_breaks_the_schema_to_the_api_server() -> None:
    """Its answer names every field and is 422, which clients tell from a webhook's 403."""
    wrong = trainjob({"runtimePatches": [patched()], "trainer": {"numNodes": "two"}})
    assert set(World().answer(MUTATE_TRAIN_JOB, wrong)) == {"uid", "allowed", "status"}
    response = World().answer(VALIDATE_TRAIN_JOB, wrong)
    assert said(response) == DENIED
    assert message(response).startswith('spec.trainer.numNodes: Invalid value: "two": ')


def test_advice_ends_a_sentence_and_fields_are_causes() -> None:
    environment = {"trainer": {"env": [{"name": "PET_NNODES", "value": "2"}]}}
    response = World().answer(VALIDATE_TRAIN_JOB, trainjob(environment))
    reference = LIKE_REFERENCE.answer(VALIDATE_TRAIN_JOB, trainjob(environment))
    words = (
        'Invalid value: [{"name":"PET_NNODES","value":"2"}]: must not have reserved envs, '
        "invalid envs configured: [PET_NNODES]"
    )
    assert said(response) == said(reference) == DENIED
    assert message(reference) == f"spec.trainer.env: {words}"
    assert message(response).startswith(f"{message(reference)}; remove them")
    assert response["status"]["details"]["causes"] == [
        {"reason": "FieldValueInvalid", "field": "spec.trainer.env", "message": words}
    ]
    assert "details" not in reference["status"]


def test_several_problems_are_one_sentence_in_brackets() -> None:
    spec = {
        "trainer": {"env": [{"name": "PET_NNODES", "value": "2"}]},
        "initializer": {"model": {}},
    }
    text = message(LIKE_REFERENCE.answer(VALIDATE_TRAIN_JOB, trainjob(spec)))
    assert text.startswith("[spec.")
    assert text.endswith("]")
    assert ", spec.runtimeRef: Invalid value: " in text


def test_an_unsupported_runtime_is_refused_in_the_words_of_the_reference() -> None:
    strange = trainjob({"runtimeRef": {"name": "x", "kind": "Recipe"}})
    words = "unsupported runtime: Recipe.trainer.kubeflow.org"
    assert message(LIKE_REFERENCE.answer(VALIDATE_TRAIN_JOB, strange)) == words
    response = World().answer(VALIDATE_TRAIN_JOB, strange)
    assert words in message(response)
    assert response["status"]["details"]["causes"][0]["field"] == "spec.runtimeRef"


def test_a_deprecated_runtime_is_a_warning() -> None:
    old = {**TORCH, "metadata": {**TORCH["metadata"], "labels": {}}}
    old["metadata"]["labels"]["trainer.kubeflow.org/support"] = "deprecated"
    response = World((old,)).answer(VALIDATE_TRAIN_JOB, trainjob())
    assert response["allowed"]
    assert response["warnings"][0].startswith('Referenced ClusterTrainingRuntime "torch-')
    created = World(()).answer(VALIDATE_CLUSTER_TRAINING_RUNTIME, old)
    assert created["allowed"]
    assert created["warnings"][0].startswith('ClusterTrainingRuntime "torch-distributed" is dep')


def wide() -> JSON:
    """A runtime with two replicas of its trainer, and without the trainer's container."""
    found = copy.deepcopy(TORCH)
    (job,) = found["spec"]["template"]["spec"]["replicatedJobs"]
    job["replicas"] = 2
    job["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    return found


def test_a_runtime_is_refused_with_all_of_its_problems() -> None:
    text = message(LIKE_REFERENCE.answer(VALIDATE_CLUSTER_TRAINING_RUNTIME, wide()))
    path = "spec.template.spec.replicatedJobs[0]"
    assert text.startswith(f"[{path}.replicas: Invalid value: 2: always must be 1, {path}.template")
    assert text.endswith(": must contain the required container for the ancestor: trainer]")


def test_q10_an_update_of_a_training_runtime_is_judged() -> None:
    own = {**wide(), "kind": "TrainingRuntime"}
    own["metadata"] = {**own["metadata"], "namespace": "default"}
    assert said(World().answer(VALIDATE_TRAINING_RUNTIME, own, own)) == DENIED
    assert LIKE_REFERENCE.answer(VALIDATE_TRAINING_RUNTIME, own, own)["allowed"]
    assert said(LIKE_REFERENCE.answer(VALIDATE_TRAINING_RUNTIME, own)) == DENIED


def born(spec: JSON | None = None, **metadata: Any) -> tuple[JSON, JSON]:
    """A TrainJob and the snapshot of its runtime."""
    wire = trainjob(spec, **metadata)
    job = TrainJob.from_wire(wire)
    config = snapshot.config_map(job, ClusterTrainingRuntime.from_wire(TORCH))
    return wire, dict(child_metadata.with_owner(config, job))


def test_q9_a_job_whose_runtime_is_gone_stays_editable() -> None:
    old, kept = born({"suspend": True})
    new = trainjob({"suspend": False}, labels={"a": "b"})
    assert World((kept,)).answer(VALIDATE_TRAIN_JOB, new, old)["allowed"]
    assert said(World(()).answer(VALIDATE_TRAIN_JOB, new, old)) == DENIED
    # Neither is needed for what was judged already.
    finalized = trainjob({"suspend": True}, finalizers=["a.io/b"])
    assert World(()).answer(VALIDATE_TRAIN_JOB, finalized, old)["allowed"]
    refused = World((kept,), REFERENCE).answer(VALIDATE_TRAIN_JOB, finalized, old)
    assert "must be created before the TrainJob is created" in message(refused)


def test_q9_a_damaged_snapshot_is_not_used() -> None:
    old, kept = born({"suspend": True})
    kept["data"] = {"runtime": "not: [a runtime"}
    new = trainjob({"suspend": False})
    assert said(World((kept,)).answer(VALIDATE_TRAIN_JOB, new, old)) == DENIED
    assert World((kept, TORCH)).answer(VALIDATE_TRAIN_JOB, new, old)["allowed"]


def live_jobset(job: JSON, active: int = 0) -> JSON:
    rendered = pipeline.render(TrainJob.from_wire(job), ClusterTrainingRuntime.from_wire(TORCH))
    counts = {"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "suspended": 0}
    found = json.loads(json.dumps(rendered[-1]))
    return {**found, "status": {"replicatedJobsStatus": [{**counts, "active": active}]}}


def test_patches_change_while_a_job_is_suspended_and_no_pod_is_left() -> None:
    old = trainjob({"suspend": True})
    new = trainjob({"suspend": True, "runtimePatches": [patched(nodeSelector={"a": "b"})]})
    assert World().answer(VALIDATE_TRAIN_JOB, new, old)["allowed"]
    busy = World((TORCH, live_jobset(old, active=1)), REFERENCE)
    assert message(busy.answer(VALIDATE_TRAIN_JOB, new, old)) == (
        "spec.runtimePatches: Forbidden: RuntimePatches cannot be modified when the JobSet's "
        "ReplicatedJob node is still active"
    )
    running, patching = trainjob(), trainjob({"runtimePatches": [patched()]})
    assert message(LIKE_REFERENCE.answer(VALIDATE_TRAIN_JOB, patching, running)) == (
        "spec.runtimePatches: Forbidden: RuntimePatches can only be modified when the TrainJob is "
        "suspended before or after the update"
    )


def test_q8_a_patch_that_jobset_refuses_is_refused() -> None:
    old = trainjob({"suspend": True})
    volumes = [{"name": "v", "emptyDir": {}}]
    new = trainjob({"suspend": True, "runtimePatches": [patched(volumes=volumes)]})
    there = (TORCH, live_jobset(old))
    assert "which JobSet refuses" in message(World(there).answer(VALIDATE_TRAIN_JOB, new, old))
    assert World(there, REFERENCE).answer(VALIDATE_TRAIN_JOB, new, old)["allowed"]


def test_q12_an_immutable_field_can_be_neither_added_nor_removed() -> None:
    bare, whole = trainjob(), trainjob({"trainer": {"image": "a:1"}})
    for new, old in ((whole, bare), (bare, whole)):
        response = World().answer(VALIDATE_TRAIN_JOB, new, old)
        assert said(response) == DENIED
        assert message(response).startswith("spec.trainer: Invalid value: ")
        assert ": field is immutable; it was " in message(response)
        assert LIKE_REFERENCE.answer(VALIDATE_TRAIN_JOB, new, old)["allowed"]


def volcano(name: str) -> JSON:
    """A runtime whose pods have a PriorityClass and go to Volcano."""
    found = copy.deepcopy(TORCH)
    found["spec"]["podGroupPolicy"] = {"volcano": {}}
    (job,) = found["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["priorityClassName"] = name
    return found


class Given(ClusterLookups):
    """A cluster with this runtime and these PriorityClasses; tests/apiserver asks a real one."""

    def __init__(self, runtime: JSON, names: Collection[str] | None = None) -> None:
        super().__init__(Memory())
        self.given = runtime
        self.names = names

    @override
    async def runtime(self, job: TrainJob) -> Runtime | None:
        assert job.spec.runtime_ref.name == "torch-distributed"
        return ClusterTrainingRuntime.from_wire(self.given)

    @override
    async def priority_classes(self, wanted: Collection[str]) -> Collection[str] | None:
        assert [*wanted] == ["high"]
        return self.names

    def answer(self) -> JSON:
        """The response to a create."""
        answer = answered(AdmissionJudge(self), VALIDATE_TRAIN_JOB, review(trainjob()))
        response: JSON = asyncio.run(answer)["response"]
        return response


def test_q16_a_priority_class_is_judged_where_the_server_can_say() -> None:
    built_in = World((volcano("system-node-critical"),))
    assert built_in.answer(VALIDATE_TRAIN_JOB, trainjob())["allowed"]
    for names in (["high"], None):
        assert Given(volcano("high"), names).answer()["allowed"]
    assert message(Given(volcano("high"), []).answer()).partition(";")[0] == (
        'spec.templateSpec.priorityClassName: Invalid value: "high": PriorityClass "high" doesn\'t '
        'exist: priorityclasses.scheduling.k8s.io "high" not found'
    )


def test_a_stored_object_of_an_older_schema_can_change_its_labels() -> None:
    old = trainjob({"podSpecOverrides": []})
    labelled = trainjob({"podSpecOverrides": []}, labels={"a": "b"})
    assert World().answer(VALIDATE_TRAIN_JOB, labelled, old)["allowed"]
    suspended = trainjob({"podSpecOverrides": [], "suspend": True})
    assert said(World().answer(VALIDATE_TRAIN_JOB, suspended, old)) == DENIED
    # What is repaired is judged like a create.
    assert World().answer(VALIDATE_TRAIN_JOB, trainjob(), old)["allowed"]
    assert said(World(()).answer(VALIDATE_TRAIN_JOB, trainjob(), old)) == DENIED


def test_an_unreadable_runtime_is_a_problem_of_the_job_that_names_it() -> None:
    broken = {**TORCH, "spec": {**TORCH["spec"], "noSuchField": 1}}
    response = Given(broken).answer()
    assert said(response) == DENIED
    words = 'ClusterTrainingRuntime "torch-distributed" cannot be read: spec.noSuchField'
    assert words in message(response)


def test_what_needs_the_cluster_is_no_acceptance_while_the_cluster_cannot_be_asked() -> None:
    suspended = trainjob({"suspend": True})
    patching = trainjob({"suspend": True, "runtimePatches": [patched()]})
    for body, field in (
        (review(trainjob()), "spec.runtimeRef"),
        (review(patching, suspended), "spec.runtimePatches"),
    ):
        response = asyncio.run(unreachable(body))["response"]
        assert said(response) == {"allowed": False, "code": 500, "reason": "InternalError"}
        assert message(response).startswith(f"{field}: Internal error: ")
    # What needs nothing is answered all the same.
    labelled = review(trainjob({"suspend": True}, finalizers=["a.io/b"]), suspended)
    assert asyncio.run(unreachable(labelled))["response"]["allowed"]


async def unreachable(body: bytes) -> JSON:
    """The answer of a judge whose API server has gone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        text = json.dumps(config(f"https://127.0.0.1:{free.getsockname()[1]}"))
    client = await http.connect_client(text, None, Patience(first_contact=0.2))
    try:
        judge = AdmissionJudge(ClusterLookups(client, patience=5.0))
        return await answered(judge, VALIDATE_TRAIN_JOB, body)
    finally:
        await client.close()
