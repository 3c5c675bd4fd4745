"""A TrainJob that cannot run is refused with every problem, in the words of the reference."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput
from trainer_infra.render import initializer, pipeline
from trainer_infra.render.behaviour import REFERENCE

TORCH = catalog.get("torch-distributed")


def job(name: str = "tj", runtime: str = "torch-distributed", **spec: Any) -> TrainJob:
    return TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": {"name": name, "namespace": "n"},
            "spec": {"runtimeRef": {"name": runtime}, **spec},
        }
    )


def runtime(**changes: Any) -> ClusterTrainingRuntime:
    wire = TORCH.to_wire()
    wire["spec"].update(changes)
    return ClusterTrainingRuntime.from_wire(wire)


def refusal(train_job: TrainJob, on: ClusterTrainingRuntime = TORCH) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        pipeline.render(train_job, on)
    return [str(problem) for problem in caught.value.problems]


def patch(**job_patch: Any) -> dict[str, Any]:
    spec = {"replicatedJobs": [job_patch]}
    return {"manager": "acme.io/x", "trainingRuntimeSpec": {"template": {"spec": spec}}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


def test_reserved_torch_variables_are_named_sorted() -> None:
    env = [{"name": "PET_NNODES", "value": "1"}, {"name": "PET_MASTER_ADDR", "value": "x"}]
    assert refusal(job(trainer={"env": env})) == [
        (
            "TrainJob tj: spec.trainer.env: must not have reserved envs, invalid envs configured: "
            "[PET_MASTER_ADDR PET_NNODES]; remove them: the runtime sets them for each node"
        )
    ]


def test_an_initializer_needs_its_job_in_the_runtime() -> None:
    uri = {"storageUri": "hf://a/b"}
    assert refusal(job(initializer={"dataset": uri, "model": uri})) == [
        (
            "TrainJob tj: spec.runtimeRef: must have dataset-initializer job when trainJob is "
            f"configured with input datasetConfig; {initializer.FIX}; "
            "runtime 'torch-distributed' does not"
        ),
        (
            "TrainJob tj: spec.runtimeRef: must have model-initializer job when trainJob is "
            f"configured with input modelConfig; {initializer.FIX}; "
            "runtime 'torch-distributed' does not"
        ),
    ]


def test_q11_a_cache_needs_no_initializer_volume() -> None:
    wire = TORCH.to_wire()
    jobs = wire["spec"]["template"]["spec"]["replicatedJobs"]
    container = {"name": "dataset-initializer", "image": "i"}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "dataset-initializer"}
    pods = {"spec": {"containers": [container]}}
    template = {"metadata": {"labels": labels}, "spec": {"template": pods}}
    jobs.insert(0, {"name": "dataset-initializer", "template": template})
    on = ClusterTrainingRuntime.from_wire(wire)
    cached = job(initializer={"dataset": {"storageUri": "cache://schema/table"}})
    assert pipeline.render(cached, on)
    with pytest.raises(InvalidInput, match="must have volumeMount with name - initializer"):
        pipeline.render(cached, on, behaviour=REFERENCE)


def test_q7_a_name_that_jobset_would_refuse_is_refused_with_the_limit() -> None:
    name = "a" * 49
    assert refusal(job(name=name)) == [
        (
            f"TrainJob {name}: metadata.name: is too long for the pods of replicated job 'node': "
            f"JobSet allows 48 characters on this runtime, got '{name}'; "
            "choose one of at most 48 characters, this has 49"
        )
    ]


def test_a_name_at_jobsets_limit_renders() -> None:
    assert pipeline.render(job(name="a" * 48), TORCH)


def test_q10_patches_may_only_name_what_the_runtime_has() -> None:
    patches = [
        patch(name="worker"),
        {**patch(name="node", template=pod(containers=[{"name": "x"}])), "manager": "b.io/x"},
        {
            **patch(name="node", template=pod(initContainers=[{"name": "node"}])),
            "manager": "c.io/x",
        },
        {
            **patch(
                name="node",
                template=pod(containers=[{"name": "node", "env": [{"name": "A", "value": "1"}]}]),
            ),
            "manager": "d.io/x",
        },
    ]
    assert refusal(job(runtimePatches=patches)) == [
        (
            "TrainJob tj: spec.runtimePatches: must not have replicated job that doesn't exist in "
            "the runtime job template, got 'worker'; the runtime has node"
        ),
        (
            "TrainJob tj: spec.runtimePatches: must not have container that doesn't exist in the "
            "runtime job node, got 'x'"
        ),
        (
            "TrainJob tj: spec.runtimePatches: must not have initContainer that doesn't exist in the "
            "runtime job node, got 'node'"
        ),
        (
            "TrainJob tj: spec.runtimePatches: must not have envs for the dataset-initializer, "
            "model-initializer, node containers, got 'node'; set them in spec.trainer.env or "
            "spec.initializer"
        ),
    ]


def test_q10_the_reference_never_refuses_an_unknown_name() -> None:
    unknown = patch(name="node", template=pod(containers=[{"name": "x"}]))
    patches = [patch(name="worker"), {**unknown, "manager": "b.io/x"}]
    found = pipeline.rendering_problems(job(runtimePatches=patches), TORCH, behaviour=REFERENCE)
    assert found == ()


@pytest.mark.parametrize(
    ("manager", "what"),
    [
        ("nodomain", "must be a domain-prefixed path (such as \"acme.io/foo\"), got 'nodomain'"),
        (
            "A.b/x",
            (
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
                "'-' or '.', and must start and end with an alphanumeric character (e.g. "
                "'example.com', regex used for validation is "
                r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'), got 'A.b'"
            ),
        ),
        (
            "a.b/ x",
            (
                r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+'), "
                "got ' x'"
            ),
        ),
    ],
)
def test_a_manager_is_a_path_below_a_domain(manager: str, what: str) -> None:
    patches = [{**patch(name="node"), "manager": manager}]
    assert refusal(job(runtimePatches=patches)) == [
        f"TrainJob tj: spec.runtimePatches.manager: {what}"
    ]


def test_env_injection_targets_must_exist() -> None:
    target = {"jobName": "data", "containerNames": ["init"]}
    policy = {"torch": {"envInjection": {"targets": [target]}}}
    assert refusal(job(), runtime(mlPolicy=policy)) == [
        (
            'TrainJob tj: spec.runtimeRef: envInjection target podSet "data" container "init" '
            "not found in runtime template, got {'jobName': 'data', 'containerNames': ['init']}"
        )
    ]


def test_another_runtime_than_the_named_one_is_refused() -> None:
    assert refusal(job(runtime="mine")) == [
        (
            "TrainJob tj: spec.runtimeRef: names ClusterTrainingRuntime 'mine', but the runtime at "
            "hand is ClusterTrainingRuntime 'torch-distributed'"
        )
    ]


def test_runtime_that_is_not_sound_is_refused_at_its_own_path() -> None:
    wire = TORCH.to_wire()
    replicated = wire["spec"]["template"]["spec"]["replicatedJobs"][0]
    replicated["replicas"] = 2
    replicated["template"]["spec"]["template"]["spec"]["containers"][0]["name"] = "main"
    wrong = ClusterTrainingRuntime.from_wire(wire)
    assert pipeline.rendering_problems(job(), wrong, behaviour=REFERENCE) == ()
    assert refusal(job(), wrong) == [
        (
            "ClusterTrainingRuntime torch-distributed: spec.template.spec.replicatedJobs[0].replicas: "
            "always must be 1, got 2"
        ),
        (
            "ClusterTrainingRuntime torch-distributed: spec.template.spec.replicatedJobs[0].template."
            "spec.template.spec.containers: must contain the required container for the ancestor: "
            "trainer; name one 'node'"
        ),
    ]
