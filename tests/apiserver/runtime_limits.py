"""The limits and rules of a runtime: reference behaviour 1.4, and JobSet v0.12's."""

from collections.abc import Iterator
from typing import Any, Final

from tests.apiserver import boundaries
from tests.apiserver.boundaries import Limits, Row

JOBSET: Final = "spec.template.spec"
JOBS: Final = f"{JOBSET}.replicatedJobs"
CLAIMS: Final = f"{JOBSET}.volumeClaimPolicies"
TARGETS: Final = "spec.mlPolicy.torch.envInjection.targets"
TARGET: Final = {"jobName": "node", "containerNames": ["sidecar"]}
POLICIES: Final = ("torch", "mpi", "jax", "xgboost", "flux")
ONE_POLICY: Final = (
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)]"
    ".filter(x, x).size() <= 1"
)
ONE_ORDER: Final = (
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && "
    "self.replicatedJobs.exists(x, has(x.dependsOn)))"
)
NO_NAMESPACE: Final = (
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)"
)
DEPENDS: Final = {"name": "data", "status": "Ready"}
NODE: Final = {"name": "node", "template": {}}
FIXED: Final = "Value is immutable"

SEEDS: Final[dict[str, Any]] = {
    # JobSet's rule on the order of its jobs cannot be evaluated without any.
    JOBSET: {"replicatedJobs": []},
    f"{TARGETS}[]": TARGET,
    f"{JOBSET}.coordinator": {"replicatedJob": "node"},
    f"{JOBSET}.failurePolicy.rules[]": {"name": "rule", "action": "FailJobSet"},
    f"{JOBS}[]": NODE,
    f"{JOBS}[].dependsOn[]": DEPENDS,
    f"{JOBSET}.startupPolicy": {"startupPolicyOrder": "AnyOrder"},
    f"{JOBSET}.successPolicy": {"operator": "All"},
    f"{CLAIMS}[]": {"templates": []},
}


def _policy() -> Iterator[Row]:
    yield Row("spec", "minProperties", {"mlPolicy": {}}, {}, "should have at least 1 properties")
    says = "Only one of the policy can be configured"
    for first, second in zip(POLICIES, (*POLICIES[1:], POLICIES[0]), strict=True):
        yield Row("spec.mlPolicy", ONE_POLICY, {first: {}}, {first: {}, second: {}}, says)
    path = "spec.mlPolicy.flux.numProcPerNode"
    yield Row(path, "self >= 1", 1, 0, "NumProcPerNode in fluxPolicy must be >= 1")
    for accepted, refused in (("", "Intel"), ("OpenMPI", "MPICH")):
        yield boundaries.one_of("spec.mlPolicy.mpi.mpiImplementation", accepted, refused)
    yield from boundaries.text("spec.mlPolicy.mpi.sshAuthMountPath", 4096)


def _env_injection() -> Iterator[Row]:
    yield from boundaries.items(TARGETS, 16, TARGET, "jobName")
    yield boundaries.required(f"{TARGETS}[].jobName", "node")
    yield from boundaries.text(f"{TARGETS}[].jobName", 253, 1)
    path = f"{TARGETS}[].containerNames"
    yield boundaries.required(path, ["sidecar"])
    names = [f"x{at}" for at in range(9)]
    too_many = f"{boundaries.shown(path)}: Too many: 9: must have at most 8 items"
    yield Row(path, "maxItems", names[:8], names, too_many)
    too_few = f"{boundaries.below(path)} in body should have at least 1 items"
    yield Row(path, "minItems", names[:1], [], too_few)
    yield boundaries.once(path, ["a", "b"], ["a", "a"])
    says = "containerNames must not include the main node container"
    yield Row(path, "!self.exists(c, c == 'node')", ["nodes"], ["x", "node"], says)
    yield from boundaries.text(f"{path}[]", 63)


def _gang() -> Iterator[Row]:
    path = "spec.podGroupPolicy"
    mode = f"{path}.volcano.networkTopology.mode"
    yield boundaries.one_of(mode, "hard", "Hard")
    yield boundaries.one_of(mode, "soft", "")


def _jobset() -> Iterator[Row]:
    yield Row("spec.template", "minProperties", {"spec": {}}, {}, "at least 1 properties")
    ordered = {"startupPolicy": {"startupPolicyOrder": "InOrder"}, "replicatedJobs": [NODE]}
    both = ordered | {"replicatedJobs": [NODE | {"dependsOn": [DEPENDS]}]}
    says = "StartupPolicy and DependsOn APIs are mutually exclusive"
    yield Row(JOBSET, ONE_ORDER, ordered, both, says)
    yield boundaries.required(f"{JOBSET}.coordinator.replicatedJob", "node")
    yield from boundaries.number(f"{JOBSET}.ttlSecondsAfterFinished", 0)
    yield boundaries.fixed(f"{JOBSET}.network", {"subdomain": "a"}, {"subdomain": "b"}, FIXED)


def _replicated_jobs() -> Iterator[Row]:
    yield boundaries.once(JOBS, [NODE, NODE | {"name": "other"}], [NODE, NODE])
    yield boundaries.required(f"{JOBS}[].name", "node")
    yield boundaries.required(f"{JOBS}[].template", {})
    path = f"{JOBS}[].dependsOn"
    yield from boundaries.items(path, 5, DEPENDS, "name")
    yield boundaries.required(f"{path}[].name", "data")
    yield boundaries.required(f"{path}[].status", "Ready")
    yield boundaries.one_of(f"{path}[].status", "Complete", "Done")
    yield boundaries.fixed(path, [DEPENDS], [DEPENDS | {"status": "Complete"}], FIXED)


def _policies() -> Iterator[Row]:
    failure = f"{JOBSET}.failurePolicy"
    rule = {"name": "rule", "action": "FailJobSet"}
    for accepted in ("Recreate", "BlockingRecreate", "InPlaceRestart"):
        yield boundaries.one_of(f"{failure}.restartStrategy", accepted, f"{accepted}s")
    for part in ("name", "action"):
        yield boundaries.required(f"{failure}.rules[].{part}", rule[part])
    for action in ("RestartJobSet", "RestartJob"):
        for accepted in (action, f"{action}AndIgnoreMaxRestarts"):
            yield boundaries.one_of(f"{failure}.rules[].action", accepted, f"{accepted}s")
    yield boundaries.fixed(failure, {"maxRestarts": 1}, {"maxRestarts": 2}, FIXED)
    start = f"{JOBSET}.startupPolicy"
    yield boundaries.required(f"{start}.startupPolicyOrder", "InOrder")
    yield boundaries.one_of(f"{start}.startupPolicyOrder", "AnyOrder", "NoOrder")
    before = {"startupPolicyOrder": "AnyOrder"}
    yield boundaries.fixed(start, before, {"startupPolicyOrder": "InOrder"}, FIXED)
    success = f"{JOBSET}.successPolicy"
    yield boundaries.required(f"{success}.operator", "Any")
    yield boundaries.one_of(f"{success}.operator", "Any", "None")
    yield boundaries.fixed(success, {"operator": "All"}, {"operator": "Any"}, FIXED)


def _volume_claims() -> Iterator[Row]:
    claim = {"metadata": {"name": "data"}}
    yield from boundaries.items(CLAIMS, 50, {"templates": []})
    yield from boundaries.items(f"{CLAIMS}[].templates", 50, claim)
    kept = f"{CLAIMS}[].retentionPolicy.whenDeleted"
    yield boundaries.one_of(kept, "Delete", "Never")
    yield boundaries.one_of(kept, "Retain", "")
    accepted, refused = (
        {"templates": [{"metadata": {"name": "data", "namespace": namespace}}]}
        for namespace in ("", "other")
    )
    says = "namespace cannot be set for VolumeClaimPolicies templates"
    yield Row(f"{CLAIMS}[]", NO_NAMESPACE, accepted, refused, says)
    yield boundaries.fixed(CLAIMS, [{"templates": [claim]}], [{"templates": []}], FIXED)


TRAINING_RUNTIME: Final = Limits(
    "TrainingRuntime",
    SEEDS,
    (
        *_policy(),
        *_env_injection(),
        *_gang(),
        *_jobset(),
        *_replicated_jobs(),
        *_policies(),
        *_volume_claims(),
    ),
)

CORE: Final = (f"{JOBS}[].template.", f"{CLAIMS}[].templates[]")
"""Where the types of batch/v1 and core/v1 begin, whose limits are Kubernetes' own."""
