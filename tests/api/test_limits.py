"""Each limit of reference behaviour 1.1 to 1.4 at its boundary: the last value that fits, and the first that does not."""

from typing import Any

import pytest

from trainer_infra.api import manifests
from trainer_infra.errors import InvalidInput

JSON = dict[str, Any]


def put(tree: JSON, path: str, value: object) -> JSON:
    """The tree with a value set at a dotted path; objects on the way are made."""
    at = tree
    *parents, last = path.split(".")
    for part in parents:
        at = at.setdefault(part, {})
    at[last] = value
    return tree


def messages(value: JSON) -> list[str]:
    try:
        manifests.parse_object(value)
    except InvalidInput as error:
        return [str(problem) for problem in error.problems]
    return []


def env(count: int) -> list[JSON]:
    return [{"name": f"A{number}"} for number in range(count)]


def patches(count: int) -> list[JSON]:
    return [{"manager": f"team/{number}"} for number in range(count)]


NAME_RULE = "metadata.name: must be lower-case letters, digits and -, with a letter first and no - at its end"
URI_RULE = "storageUri may be empty, or it must be a valid URI (scheme://...)"
MANAGER_RULE = (
    "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set"
)

JOB_LIMITS = [
    ("metadata.name", "a", "1a", f"{NAME_RULE}, got '1a'; for example 'a'"),
    ("metadata.name", "a-1", "a-", f"{NAME_RULE}, got 'a-'; for example 'a'"),
    ("metadata.name", "abc", "Abc", f"{NAME_RULE}, got 'Abc'; for example 'abc'"),
    ("metadata.name", "abc", "a.b", f"{NAME_RULE}, got 'a.b'; for example 'a-b'"),
    ("metadata.name", "abc", "abc\n", f"{NAME_RULE}, got 'abc\\n'; for example 'abc'"),
    (
        "metadata.name",
        "a" * 63,
        "a" * 64,
        (
            f"metadata.name: must be no more than 63 characters, got '{'a' * 64}'; "
            "choose a shorter one, this has 64"
        ),
    ),
    ("metadata.name", "a", "", "metadata.name: a name is required, got ''"),
    (
        "spec.runtimeRef.name",
        "r",
        "",
        "spec.runtimeRef.name: must be at least 1 character long, got ''",
    ),
    (
        "spec.runtimeRef.name",
        "r" * 253,
        "r" * 254,
        f"spec.runtimeRef.name: must be at most 253 characters long, has 254, got '{'r' * 119}…",
    ),
    (
        "spec.runtimeRef.kind",
        "k" * 253,
        "k" * 254,
        f"spec.runtimeRef.kind: must be at most 253 characters long, has 254, got '{'k' * 119}…",
    ),
    (
        "spec.runtimeRef.apiGroup",
        "",
        "g" * 254,
        (
            "spec.runtimeRef.apiGroup: must be at most 253 characters long, has 254, "
            f"got '{'g' * 119}…"
        ),
    ),
    (
        "spec.initializer.dataset.storageUri",
        "",
        "digits",
        f"spec.initializer.dataset.storageUri: {URI_RULE}, got 'digits'",
    ),
    (
        "spec.initializer.model.storageUri",
        "hf://a/b",
        "1f://a",
        f"spec.initializer.model.storageUri: {URI_RULE}, got '1f://a'",
    ),
    (
        "spec.initializer.model.storageUri",
        f"s3://{'b' * 2043}",
        f"s3://{'b' * 2044}",
        (
            "spec.initializer.model.storageUri: must be at most 2048 characters long, has 2049, "
            f"got 's3://{'b' * 114}…"
        ),
    ),
    (
        "spec.initializer.dataset.env",
        env(128),
        env(129),
        "spec.initializer.dataset.env: must have at most 128 items, has 129",
    ),
    (
        "spec.trainer.image",
        "i" * 500,
        "i" * 501,
        f"spec.trainer.image: must be at most 500 characters long, has 501, got '{'i' * 119}…",
    ),
    (
        "spec.trainer.command",
        ["c"] * 128,
        ["c"] * 129,
        "spec.trainer.command: must have at most 128 items, has 129",
    ),
    (
        "spec.trainer.args",
        ["a" * 1048576],
        ["a" * 1048577],
        (
            "spec.trainer.args[0]: must be at most 1048576 characters long, has 1048577, "
            f"got '{'a' * 119}…"
        ),
    ),
    (
        "spec.trainer.env",
        env(128),
        env(129),
        "spec.trainer.env: must have at most 128 items, has 129",
    ),
    (
        "spec.trainer.numNodes",
        2**31 - 1,
        2**31,
        "spec.trainer.numNodes: must be at most 2147483647, got 2147483648",
    ),
    (
        "spec.trainer.numProcPerNode",
        -(2**31),
        -(2**31) - 1,
        "spec.trainer.numProcPerNode: must be at least -2147483648, got -2147483649",
    ),
    (
        "spec.runtimePatches",
        patches(16),
        patches(17),
        "spec.runtimePatches: must have at most 16 items, has 17",
    ),
    (
        "spec.activeDeadlineSeconds",
        1,
        0,
        "spec.activeDeadlineSeconds: must be at least 1, got 0",
    ),
    (
        "spec.activeDeadlineSeconds",
        2**63 - 1,
        2**63,
        "spec.activeDeadlineSeconds: must be at most 9223372036854775807, got 9223372036854775808",
    ),
    (
        "spec.managedBy",
        "kueue.x-k8s.io/multikueue",
        "me",
        f"spec.managedBy: {MANAGER_RULE}, got 'me'",
    ),
    (
        "metadata.labels",
        {"example.com/stage": "v" * 63},
        {"example.com/stage": "v" * 64},
        (
            "metadata.labels[example.com/stage]: must be at most 63 characters long, has 64, "
            f"got '{'v' * 64}'"
        ),
    ),
    (
        "metadata.labels",
        {"stage": ""},
        {"my stage": ""},
        (
            "metadata.labels[my stage]: must be a key such as stage or example.com/stage, "
            "got 'my stage'"
        ),
    ),
    (
        "status.trainerStatus",
        {"lastUpdatedTime": "2026-01-31T12:00:00Z", "progressPercentage": 100},
        {"lastUpdatedTime": "2026-01-31T12:00:00Z", "progressPercentage": 101},
        "status.trainerStatus.progressPercentage: must be at most 100, got 101",
    ),
    (
        "status.trainerStatus",
        {"lastUpdatedTime": "2026-01-31T12:00:00.5+01:00"},
        {"lastUpdatedTime": "2026-01-31"},
        (
            "status.trainerStatus.lastUpdatedTime: must be a time such as 2026-01-31T12:00:00Z, "
            "got '2026-01-31'"
        ),
    ),
    (
        "status.trainerStatus",
        {"lastUpdatedTime": "2026-01-31T12:00:00Z"},
        {"progressPercentage": 1},
        (
            "status.trainerStatus: lastUpdatedTime is required when trainerStatus is present, "
            "got {'progressPercentage': 1}"
        ),
    ),
]


@pytest.mark.parametrize(("path", "good", "bad", "message"), JOB_LIMITS)
def test_a_limit_of_a_trainjob(
    job: JSON, path: str, good: object, bad: object, message: str
) -> None:
    assert messages(put(job, path, good)) == []
    assert messages(put(job, path, bad)) == [message]


TARGET = {"jobName": "node", "containerNames": ["sidecar"]}
TARGETS = "spec.mlPolicy.torch.envInjection.targets"

RUNTIME_LIMITS = [
    (
        "spec.mlPolicy",
        {"torch": {}, "numNodes": 2},
        {"torch": {}, "jax": {}},
        "spec.mlPolicy: Only one of the policy can be configured, got {'torch': {}, 'jax': {}}",
    ),
    (
        TARGETS,
        [TARGET],
        [TARGET | {"containerNames": ["sidecar", "node"]}],
        (
            f"{TARGETS}[0].containerNames: containerNames must not include the main node container "
            "because PET_* envs are always injected into it, got ['sidecar', 'node']"
        ),
    ),
    (
        TARGETS,
        [TARGET | {"containerNames": [f"c{number}" for number in range(8)]}],
        [TARGET | {"containerNames": [f"c{number}" for number in range(9)]}],
        f"{TARGETS}[0].containerNames: must have at most 8 items, has 9",
    ),
    (
        TARGETS,
        [TARGET],
        [TARGET | {"containerNames": []}],
        f"{TARGETS}[0].containerNames: must have at least 1 item, has 0",
    ),
    (
        TARGETS,
        [TARGET],
        [TARGET | {"containerNames": ["sidecar", "sidecar"]}],
        f"{TARGETS}[0].containerNames[1]: has the same value as item 0, got 'sidecar'",
    ),
    (
        TARGETS,
        [TARGET, TARGET | {"jobName": "launcher"}],
        [TARGET, TARGET],
        f"{TARGETS}[1]: has the same jobName as item 0, got {{'jobName': 'node'}}",
    ),
    (
        "spec.mlPolicy.flux.numProcPerNode",
        1,
        0,
        "spec.mlPolicy.flux.numProcPerNode: NumProcPerNode in fluxPolicy must be >= 1, got 0",
    ),
    (
        "spec.mlPolicy.mpi.mpiImplementation",
        "",
        "MPICH",
        "spec.mlPolicy.mpi.mpiImplementation: must be 'OpenMPI' or '', got 'MPICH'",
    ),
    (
        "spec.mlPolicy.mpi.sshAuthMountPath",
        "p" * 4096,
        "p" * 4097,
        (
            "spec.mlPolicy.mpi.sshAuthMountPath: must be at most 4096 characters long, has 4097, "
            f"got '{'p' * 119}…"
        ),
    ),
    (
        "spec.podGroupPolicy.volcano.networkTopology.mode",
        "soft",
        "medium",
        "spec.podGroupPolicy.volcano.networkTopology.mode: must be 'hard' or 'soft', got 'medium'",
    ),
    (
        "spec",
        {"mlPolicy": {}},
        {},
        "spec: must not be empty; set mlPolicy, podGroupPolicy or template",
    ),
    (
        "metadata.name",
        "torch-2.5",
        "Torch",
        (
            "metadata.name: must be lower-case letters, digits, - and ., and begin and end with "
            "a letter or digit, got 'Torch'"
        ),
    ),
]


@pytest.mark.parametrize(("path", "good", "bad", "message"), RUNTIME_LIMITS)
def test_a_limit_of_a_runtime(
    runtime: JSON, path: str, good: object, bad: object, message: str
) -> None:
    runtime["spec"] = {"podGroupPolicy": {}}
    assert messages(put(runtime, path, good)) == []
    assert messages(put(runtime, path, bad)) == [message]
