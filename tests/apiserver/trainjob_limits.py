"""The limits and rules of a TrainJob: reference behaviour 1.0 to 1.3, v2.3.0."""

from collections.abc import Iterator
from typing import Any, Final

from tests.apiserver import boundaries
from tests.apiserver.boundaries import IMMUTABLE, TIME, Limits, Row

JOBS: Final = "spec.runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs"
POD: Final = f"{JOBS}[].template.spec.template.spec"
COUNTS: Final = ("ready", "succeeded", "failed", "active", "suspended")
CONDITION: Final = {
    "type": "Complete",
    "status": "True",
    "reason": "Done",
    "message": "",
    "lastTransitionTime": TIME,
}
URI_RULE: Final = "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')"
URI_SAYS: Final = "storageUri may be empty, or it must be a valid URI (scheme://...)"
NAME_SAYS: Final = "metadata.name must match RFC 1035 DNS label format"
MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
MANAGERS: Final = f"self in ['trainer.kubeflow.org/trainjob-controller', '{MULTIKUEUE}']"
CONDITION_TYPE: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)

SEEDS: Final[dict[str, Any]] = {
    "spec": {"runtimeRef": {"name": "torch-distributed"}},
    "spec.runtimePatches[]": {"manager": "example.com/team"},
    f"{JOBS}[]": {"name": "node"},
    f"{POD}.containers[]": {"name": "node"},
    f"{POD}.initContainers[]": {"name": "node"},
    "status.conditions[]": CONDITION,
    "status.jobsStatus[]": {"name": "node"} | dict.fromkeys(COUNTS, 0),
    "status.trainerStatus": {"lastUpdatedTime": TIME},
    "status.trainerStatus.metrics[]": {"name": "loss", "value": "1"},
}


def _name() -> Iterator[Row]:
    rule = "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
    for accepted, refused in (("a", "1a"), ("a-1", "a-"), ("ab", "a.b")):
        yield Row("", rule, accepted, refused, NAME_SAYS, "metadata.name")
    says = "metadata.name must be no more than 63 characters"
    yield Row("", "size(self.metadata.name) <= 63", "a" * 63, "a" * 64, says, "metadata.name")


def _runtime_ref() -> Iterator[Row]:
    ref = "spec.runtimeRef"
    yield boundaries.required(ref, {"name": "torch-distributed"})
    yield boundaries.required(f"{ref}.name", "torch-distributed")
    yield from boundaries.text(f"{ref}.name", 253, 1)
    yield from boundaries.text(f"{ref}.apiGroup", 253)
    yield from boundaries.text(f"{ref}.kind", 253)
    yield boundaries.fixed(ref, {"name": "torch-distributed"}, {"name": "jax-distributed"})


def _initializer() -> Iterator[Row]:
    for part in ("dataset", "model"):
        path = f"spec.initializer.{part}"
        yield from boundaries.items(f"{path}.env", 128, {}, "name")
        uri = f"{path}.storageUri"
        too_long = f"{boundaries.shown(uri)}: Too long: may not be more than 2048"
        fits = f"s3://{'x' * 2043}"
        yield Row(uri, "maxLength", fits, f"{fits}x", too_long)
        for accepted, refused in (("", "x"), ("hf://a", "hf://"), ("a+.-1://b", "1a://b")):
            yield Row(uri, URI_RULE, accepted, refused, URI_SAYS)
    before = {"dataset": {"storageUri": "hf://a"}}
    yield boundaries.fixed("spec.initializer", before, {"dataset": {"storageUri": "hf://b"}})
    yield boundaries.fixed("spec.initializer", before, before | {"model": {}})


def _trainer() -> Iterator[Row]:
    yield from boundaries.text("spec.trainer.image", 500)
    for part in ("command", "args"):
        yield from boundaries.items(f"spec.trainer.{part}", 128, "x")
        yield from boundaries.text(f"spec.trainer.{part}[]", 1048576)
    yield from boundaries.items("spec.trainer.env", 128, {}, "name")
    yield boundaries.fixed("spec.trainer", {"numNodes": 1}, {"numNodes": 2})
    yield boundaries.fixed("spec.trainer", {"numNodes": 1}, {"numNodes": 1, "image": "x"})


def _other_fields() -> Iterator[Row]:
    yield from boundaries.number("spec.activeDeadlineSeconds", 1)
    yield boundaries.fixed("spec.activeDeadlineSeconds", 60, 61)
    path = "spec.managedBy"
    # No name of 253 characters is one of the two: the accepted side of the length is the rule's.
    too_long = f"{path}: Too long: may not be more than 253"
    yield Row(path, "maxLength", MULTIKUEUE, "x" * 254, too_long)
    says = f"ManagedBy must be trainer.kubeflow.org/trainjob-controller or {MULTIKUEUE} if set"
    yield Row(path, MANAGERS, MULTIKUEUE, f"{MULTIKUEUE}x", says)
    yield Row(path, MANAGERS, "trainer.kubeflow.org/trainjob-controller", "", says)
    yield boundaries.fixed(path, MULTIKUEUE, "trainer.kubeflow.org/trainjob-controller")


def _patches() -> Iterator[Row]:
    yield from boundaries.items("spec.runtimePatches", 16, {}, "manager")
    yield boundaries.required("spec.runtimePatches[].manager", "x")
    yield from boundaries.text("spec.runtimePatches[].manager", 253, 1)
    yield boundaries.time("spec.runtimePatches[].time")
    yield from boundaries.items(JOBS, 100, {}, "name")
    yield boundaries.required(f"{JOBS}[].name", "node")
    yield from boundaries.text(f"{JOBS}[].name", 253, 1)


def _pod_patch() -> Iterator[Row]:
    for part, most in (("volumes", 128), ("imagePullSecrets", 64), ("schedulingGates", 16)):
        yield from boundaries.items(f"{POD}.{part}", most, {}, "name")
    yield boundaries.required(f"{POD}.schedulingGates[].name", "x")
    yield from boundaries.items(f"{POD}.tolerations", 128, {"operator": "Exists"})
    yield from boundaries.text(f"{POD}.serviceAccountName", 253)
    yield from boundaries.number(f"{POD}.terminationGracePeriodSeconds", 0)
    changes: tuple[tuple[str, Any, Any], ...] = (
        ("serviceAccountName", "a", "b"),
        ("volumes", [{"name": "a"}], [{"name": "a"}, {"name": "b"}]),
        ("containers", [{"name": "a"}], [{"name": "b"}]),
        ("initContainers", [{"name": "a"}], []),
        ("imagePullSecrets", [{"name": "a"}], [{"name": "b"}]),
        ("securityContext", {"runAsUser": 1}, {"runAsUser": 2}),
        ("terminationGracePeriodSeconds", 0, 1),
    )
    for part, before, after in changes:
        yield boundaries.fixed(f"{POD}.{part}", before, after)


def _container_patch() -> Iterator[Row]:
    for part in ("containers", "initContainers"):
        path = f"{POD}.{part}"
        yield from boundaries.items(path, 64, {}, "name")
        yield boundaries.required(f"{path}[].name", "x")
        yield from boundaries.text(f"{path}[].name", 253, 1)
        yield from boundaries.items(f"{path}[].env", 128, {}, "name")
        yield from boundaries.items(f"{path}[].volumeMounts", 128, {"mountPath": "/x"}, "name")


def _conditions() -> Iterator[Row]:
    path = "status.conditions"
    yield from boundaries.items(path, 8, CONDITION, "type")
    for field, value in CONDITION.items():
        yield boundaries.required(f"{path}[].{field}", value)
    yield boundaries.time(f"{path}[].lastTransitionTime")
    yield from boundaries.number(f"{path}[].observedGeneration", 0)
    yield from boundaries.text(f"{path}[].message", 32768)
    yield from boundaries.text(f"{path}[].reason", 1024, 1)
    says = "conditions[0].reason in body should match"
    for accepted, refused in (("a,:_B1", "a,"), ("A", "1"), ("a_", "_")):
        yield Row(f"{path}[].reason", "pattern", accepted, refused, says)
    yield boundaries.one_of(f"{path}[].status", "Unknown", "true")
    yield from boundaries.text(f"{path}[].type", 316)
    says = "conditions[0].type in body should match"
    for accepted, refused in (("a.io/B_c.d-e", "a_.io/B"), ("B", "-B"), ("a", "a/")):
        yield Row(f"{path}[].type", "pattern", accepted, refused, says)


def _status() -> Iterator[Row]:
    yield Row(
        "status", "minProperties", {"conditions": []}, {}, "should have at least 1 properties"
    )
    path = "status.jobsStatus"
    yield from boundaries.items(path, 100, dict.fromkeys(COUNTS, 0), "name")
    yield boundaries.required(f"{path}[].name", "node")
    yield from boundaries.text(f"{path}[].name", 253, 1)
    for count in COUNTS:
        yield boundaries.required(f"{path}[].{count}", 0)
        yield from boundaries.number(f"{path}[].{count}", 0)


def _trainer_status() -> Iterator[Row]:
    path = "status.trainerStatus"
    rule = "has(self.lastUpdatedTime)"
    says = "lastUpdatedTime is required when trainerStatus is present"
    yield Row(path, rule, {"lastUpdatedTime": TIME}, {"progressPercentage": 1}, says)
    yield boundaries.time(f"{path}.lastUpdatedTime")
    yield from boundaries.number(f"{path}.progressPercentage", 0, 100)
    yield from boundaries.number(f"{path}.estimatedRemainingSeconds", 0)
    yield from boundaries.items(f"{path}.metrics", 256, {"name": "loss", "value": "1"})
    for part in ("name", "value"):
        yield boundaries.required(f"{path}.metrics[].{part}", "x")
        yield from boundaries.text(f"{path}.metrics[].{part}", 64, 1)


TRAIN_JOB: Final = Limits(
    "TrainJob",
    SEEDS,
    (
        *_name(),
        *_runtime_ref(),
        *_initializer(),
        *_trainer(),
        *_other_fields(),
        *_patches(),
        *_pod_patch(),
        *_container_patch(),
        *_conditions(),
        *_status(),
        *_trainer_status(),
    ),
)

UNREACHABLE: Final = {f"spec.runtimePatches[].manager {IMMUTABLE}"}
"""Rules that no object breaks: another manager is another item of the list map."""

CORE: Final = (
    "spec.initializer.dataset.env[]",
    "spec.initializer.model.env[]",
    "spec.trainer.env[]",
    "spec.trainer.resourcesPerNode",
    f"{POD}.affinity",
    f"{POD}.securityContext.",
    f"{POD}.tolerations[]",
    f"{POD}.volumes[]",
    f"{POD}.containers[].env[]",
    f"{POD}.containers[].volumeMounts[]",
    f"{POD}.containers[].securityContext",
    f"{POD}.initContainers[].env[]",
    f"{POD}.initContainers[].volumeMounts[]",
    f"{POD}.initContainers[].securityContext",
)
"""Where the types of core/v1 begin, whose limits are Kubernetes' own."""
