"""Every place of every resource of ours in which a secret must not stand.

`tests/deploy/test_secret_places.py` constructs each; `tests/e2e/test_planted_secrets.py` has Pulumi
and a cluster do what they do with them.
"""

from collections.abc import Callable
from typing import Any

import pulumi
from kubeflow.trainer import options

from trainer_infra import (
    Checkpoint,
    CustomTrainer,
    Secret,
    TrainingRuntime,
    TrainJob,
    TrainJobs,
    catalog,
)
from trainer_infra.deploy.runtime_resources import ClusterTrainingRuntime
from trainer_infra.deploy.train_job_resource import TrainJobResult
from trainer_infra.deploy.train_jobs_resource import TrainJobsResult

JSON = dict[str, Any]
Place = tuple[Callable[[str, Any], object], str]
"""Constructs a resource of that name with that secret; the path in the error."""

RUNTIME = "torch-distributed"
CONTAINER = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].{field}"


def train() -> None:
    """A training function."""


def runtime(**fields: Any) -> JSON:
    """The shipped runtime, inline, with these fields of its container."""
    wire = catalog.get(RUNTIME).to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    container.update(fields)
    return wire


def spec(**fields: Any) -> JSON:
    """Its spec."""
    return dict(runtime(**fields)["spec"])


def with_metadata(**fields: Any) -> JSON:
    """The shipped runtime, inline, with these metadata."""
    wire = runtime()
    return {**wire, "metadata": {**wire["metadata"], **fields}}


def of_job(path: str, **given: Callable[[Any], Any]) -> Place:
    """A place among the arguments of a TrainJob."""

    def make(name: str, secret: Any) -> object:
        arguments = {key: value(secret) for key, value in given.items()}
        return TrainJob(name, **{"runtime": RUNTIME, **arguments})

    return make, path


def of_member(path: str, **given: Callable[[Any], Any]) -> Place:
    """The same among those of a member of TrainJobs."""

    def make(name: str, secret: Any) -> object:
        arguments = {key: value(secret) for key, value in given.items()}
        return TrainJobs(name, {"m": {"runtime": RUNTIME, **arguments}})  # type: ignore[typeddict-item]  # wrong on purpose

    return make, path


def wire(**fields: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A trainer in wire form."""
    return lambda secret: {key: value(secret) for key, value in fields.items()}


def custom(**fields: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A CustomTrainer."""
    return lambda secret: CustomTrainer(
        train, **{key: value(secret) for key, value in fields.items()}
    )


def itself(secret: Any) -> Any:
    """The secret alone."""
    return secret


def listed(secret: Any) -> Any:
    """The secret after a plain text."""
    return ["plain", secret]


def keyed(secret: Any) -> Any:
    """The secret under a key."""
    return {"key": secret}


def patched(secret: Any) -> Any:
    """A runtime patch whose pod has the secret as a variable."""
    pod = {"containers": [{"name": "node", "env": [{"name": "A", "value": secret}]}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return [
        {"manager": "a/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
    ]


def option_patch(secret: Any) -> Any:
    """The same as an option of the SDK."""
    container = options.ContainerPatch("node", env=[{"name": "A", "value": secret}])
    pod = options.PodTemplatePatch(spec=options.PodSpecPatch(containers=[container]))
    job = options.JobTemplatePatch(spec=options.JobSpecPatch(template=pod))
    jobs = options.JobSetSpecPatch([options.ReplicatedJobPatch("node", template=job)])
    spec = options.TrainingRuntimeSpecPatch(options.JobSetTemplatePatch(spec=jobs))
    return [options.RuntimePatch(spec)]


PATCHED = (
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec."
    "template.spec.containers[0].env[0].value"
)
VARIABLE = "runtime." + CONTAINER.format(field="env[0].value")


def variable(secret: Any) -> Any:
    """An inline runtime with the secret as a variable of its container."""
    return runtime(env=[{"name": "WANDB", "value": secret}])


OF_A_JOB: dict[str, tuple[str, dict[str, Callable[[Any], Any]]]] = {
    "runtime": ("runtime", {"runtime": itself}),
    "runtime-env": (VARIABLE, {"runtime": variable}),
    "runtime-image": (
        "runtime." + CONTAINER.format(field="image"),
        {"runtime": lambda secret: runtime(image=secret)},
    ),
    "runtime-command": (
        "runtime." + CONTAINER.format(field="command[1]"),
        {"runtime": lambda secret: runtime(command=listed(secret))},
    ),
    "runtime-label": (
        "runtime.metadata.labels.key",
        {"runtime": lambda secret: with_metadata(labels=keyed(secret))},
    ),
    "runtime-annotation": (
        "runtime.metadata.annotations.key",
        {"runtime": lambda secret: with_metadata(annotations=keyed(secret))},
    ),
    "trainer-image": ("spec.trainer.image", {"trainer": wire(image=itself)}),
    "trainer-command": ("spec.trainer.command[1]", {"trainer": wire(command=listed)}),
    "trainer-args": ("spec.trainer.args[1]", {"trainer": wire(args=listed)}),
    "trainer-nodes": ("spec.trainer.numNodes", {"trainer": wire(numNodes=itself)}),
    "trainer-resources": (
        "spec.trainer.resourcesPerNode.limits.key",
        {"trainer": wire(resourcesPerNode=lambda secret: {"limits": keyed(secret)})},
    ),
    "trainer-env-name": (
        "spec.trainer.env[0].name",
        {"trainer": wire(env=lambda secret: [{"name": secret, "value": "a"}])},
    ),
    "trainer-env-reference": (
        "spec.trainer.env[0].valueFrom.secretKeyRef.name",
        {
            "trainer": wire(
                env=lambda secret: [
                    {"name": "A", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}
                ]
            )
        },
    ),
    "custom-image": ("trainer.image", {"trainer": custom(image=itself)}),
    "custom-packages": ("trainer.packages[1]", {"trainer": custom(packages=listed)}),
    "custom-args": ("trainer.args[1]", {"trainer": custom(args=listed)}),
    "custom-nodes": ("trainer.num_nodes", {"trainer": custom(num_nodes=itself)}),
    "custom-processes": (
        "trainer.num_proc_per_node",
        {"trainer": custom(num_proc_per_node=itself)},
    ),
    "custom-resources": (
        "trainer.resources_per_node.key",
        {"trainer": custom(resources_per_node=keyed)},
    ),
    "initializer-uri": (
        "spec.initializer.dataset.storageUri",
        {"initializer": lambda secret: {"dataset": {"storageUri": secret}}},
    ),
    "initializer-reference": (
        "spec.initializer.model.secretRef.name",
        {"initializer": lambda secret: {"model": {"secretRef": {"name": secret}}}},
    ),
    "patch": (PATCHED, {"runtime_patches": patched}),
    "label": ("labels.key", {"labels": keyed}),
    "annotation": ("annotations.key", {"annotations": keyed}),
    "option": ("labels.key", {"options": lambda secret: [options.Labels(keyed(secret))]}),
    "option-patch": (PATCHED, {"options": option_patch}),
    "name": ("name", {"name": itself}),
    "namespace": ("namespace", {"namespace": itself}),
    "outputs": ("outputs.key", {"outputs": keyed}),
    "checkpoint": ("checkpoint.every", {"checkpoint": lambda secret: Checkpoint(every=secret)}),
    "checkpoint-uri": (
        "outputs.checkpoints",
        {"checkpoint": lambda secret: Checkpoint(uri=secret)},
    ),
    "attempt": ("attempt", {"attempt": itself}),
    "adopt": ("adopt", {"adopt": itself}),
    "suspend": ("spec.suspend", {"suspend": itself}),
    "deadline": ("spec.activeDeadlineSeconds", {"active_deadline_seconds": itself}),
    "delete-timeout": ("deleteTimeout", {"delete_timeout": itself}),
}


def of_runtime(kind: type[Any], path: str, *, inline: Any = spec, **given: Any) -> Place:
    """A place among the arguments of a runtime resource."""

    def make(name: str, secret: Any) -> object:
        arguments = {key: value(secret) for key, value in given.items()}
        shown = arguments.pop("spec", inline())
        return kind(name, shown, **arguments)

    return make, path


def _of_gate(name: str, secret: Any) -> object:
    return TrainJobResult(name, TrainJob(f"{name}-job", runtime=RUNTIME), until=secret)


def _of_gates(name: str, secret: Any) -> object:
    batch = TrainJobs(f"{name}-jobs", {"m": {"runtime": RUNTIME}})
    return TrainJobsResult(name, batch, until=secret)


PLACES: dict[str, Place] = {
    **{f"job-{key}": of_job(path, **given) for key, (path, given) in OF_A_JOB.items()},
    **{
        f"member-{key}": of_member(OF_A_JOB[key][0], **OF_A_JOB[key][1])
        for key in (
            "runtime-env",
            "trainer-args",
            "custom-image",
            "initializer-uri",
            "patch",
            "label",
            "annotation",
            "name",
            "namespace",
            "outputs",
            "attempt",
            "delete-timeout",
        )
    },
    **{
        f"{kind.__name__}-{key}": of_runtime(kind, path, **given)
        for kind in (TrainingRuntime, ClusterTrainingRuntime)
        for key, path, given in (
            (
                "env",
                CONTAINER.format(field="env[0].value"),
                {"spec": lambda secret: spec(env=[{"name": "A", "value": secret}])},
            ),
            ("label", "labels.key", {"labels": keyed}),
            ("annotation", "annotations.key", {"annotations": keyed}),
            ("name", "name", {"name": itself}),
            ("adopt", "adopt", {"adopt": itself}),
        )
    },
    "TrainingRuntime-namespace": of_runtime(TrainingRuntime, "namespace", namespace=itself),
    "gate": (_of_gate, "until"),
    "gate-of-many": (_of_gates, "until"),
}


def secret(value: str, kind: str) -> Any:
    """A planted value, as `Secret` or as an Output."""
    return Secret(value) if kind == "Secret" else pulumi.Output.secret(value)
