"""Jobs that differ from a valid one in one field or several, right and wrong ones of each kind.

A variation is a path below the Job's spec and what stands there; REMOVED takes a field away. Which of
them are wrong is not said here: the API server is asked.
"""

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.apiserver.pod_fields import OF_CONTAINERS, OF_PODS, OF_VOLUMES
from tests.apiserver.pod_security_pods import REMOVED, Path, Variation, with_variations

JSON = dict[str, Any]

_POD: Final[Path] = ("template", "spec")
_FIRST: Final[Path] = (*_POD, "containers", 0)
_INIT: Final[Path] = (*_POD, "initContainers", 0)


def valid_job() -> JSON:
    """A spec of a Job that has something of nearly everything, and in which nothing is wrong."""
    made: JSON = copy.deepcopy(_VALID)
    return made


def _container(name: str) -> JSON:
    return {
        "name": name,
        "image": "registry.example.com/vision/train:v7",
        "ports": [{"name": "http", "containerPort": 8080}, {"containerPort": 9090}],
        "env": [
            {"name": "SEED", "value": "7"},
            {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
        "volumeMounts": [
            {"name": "data", "mountPath": "/data"},
            {"name": "settings", "mountPath": "/settings", "readOnly": True},
        ],
        "resources": {
            "requests": {"cpu": "1", "memory": "1Gi"},
            "limits": {"cpu": "2", "memory": "2Gi", "nvidia.com/gpu": "1"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsUser": 1000,
        },
    }


_VALID: Final[JSON] = {
    "completionMode": "Indexed",
    "completions": 4,
    "parallelism": 2,
    "backoffLimit": 3,
    "podFailurePolicy": {
        "rules": [
            {
                "action": "FailJob",
                "onExitCodes": {"containerName": "first", "operator": "In", "values": [3, 42]},
            }
        ]
    },
    "successPolicy": {"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]},
    "template": {
        "metadata": {"labels": {"app": "digits"}, "annotations": {"example.com/Note": "any text"}},
        "spec": {
            "restartPolicy": "Never",
            "securityContext": {
                "runAsNonRoot": True,
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [_container("init")],
            "containers": [
                {
                    **_container("first"),
                    "livenessProbe": {"httpGet": {"port": "http", "path": "/"}},
                    "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
                },
                _container("second"),
            ],
            "volumes": [
                {"name": "data", "emptyDir": {}},
                {"name": "settings", "configMap": {"name": "settings"}},
                {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}},
            ],
            "nodeSelector": {"example.com/pool": "gpu"},
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            ],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": "zone", "operator": "In", "values": ["a"]}
                                ]
                            }
                        ]
                    }
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "digits"}},
                }
            ],
        },
    },
}
_FAILURE: Final[Path] = ("podFailurePolicy", "rules", 0)
_SUCCESS: Final[Path] = ("successPolicy", "rules", 0)
_CONDITION: Final = {"type": "DisruptionTarget"}
_OF_JOB: Final[Mapping[Path, Sequence[Any]]] = {
    ("completions",): (0, -1, 5, REMOVED),
    ("parallelism",): (0, -1, 100_000, 100_001, REMOVED),
    ("backoffLimit",): (0, "3", 2**31, 1.5, True, None, -1),
    ("activeDeadlineSeconds",): (0, -1, 60),
    ("ttlSecondsAfterFinished",): (0, -5, 60),
    ("backoffLimitPerIndex",): (0, 1, -1),
    ("maxFailedIndexes",): (1, -1),
    ("completionMode",): ("NonIndexed", "indexed", "", REMOVED),
    ("managedBy",): ("example.com/controller", "controller", "", "Example.com/a", "a.b/" + "c" * 60),
    ("podReplacementPolicy",): ("Failed", "TerminatingOrFailed", "Never", ""),
    ("suspend",): (True, "true", False),
    ("manualSelector",): (True,),
    ("selector",): ({"matchLabels": {"app": "digits"}},),
    ("podFailurePolicy",): (
        REMOVED,
        {"rules": []},
        {"rules": [{"action": "Ignore", "onPodConditions": [_CONDITION]}] * 20},
        {"rules": [{"action": "Ignore", "onPodConditions": [_CONDITION]}] * 21},
    ),
    (*_FAILURE, "action"): ("Ignore", "Count", "FailIndex", "Retry", "", REMOVED),
    (*_FAILURE, "onExitCodes"): (REMOVED,),
    (*_FAILURE, "onPodConditions"): ([_CONDITION], []),
    (*_FAILURE, "onExitCodes", "containerName"): ("init", "third", "", REMOVED),
    (*_FAILURE, "onExitCodes", "operator"): ("NotIn", "Exists", "", REMOVED),
    (*_FAILURE, "onExitCodes", "values"): ([], [0], [1], [2, 1], [1, 1], [*range(1, 256)], [*range(1, 257)], REMOVED),
    ("podFailurePolicy", "rules"): (
        *(
            [{"action": "Ignore", "onPodConditions": [{**_CONDITION, **each}]}]
            for each in ({"status": "True"}, {"status": "true"}, {"status": ""}, {"type": ""}, {"type": "a b"})
        ),
        [{"action": "Ignore", "onPodConditions": [_CONDITION] * 21}],
        [{"action": "Ignore"}],
    ),
    ("successPolicy",): (REMOVED, {"rules": []}, {"rules": [{}]}, {"rules": [{"succeededCount": 1}] * 21}),
    (*_SUCCESS, "succeededIndexes"): ("", "0", "0-3", "0-4", "4", "1,0", "1,1", "3-2", "a", "0-1-2", "0, 1", REMOVED),
    (*_SUCCESS, "succeededCount"): (0, -1, 3, 4, 5, REMOVED),
    ("template", "metadata", "labels"): (
        {"app": 1},
        {"app": True},
        ["app"],
        *({"app": each} for each in ("", "a.b_c-d", "-a", "a-", "a b", "a" * 63, "a" * 64, "a/b")),
        *({"app": "digits", each: "a"} for each in ("example.com/a", "-a", "a/b/c", "/a", "Example.com/a", "a" * 64)),
        {"app": "digits", "job-name": "other"},
        {"app": "digits", "batch.kubernetes.io/controller-uid": "1"},
    ),
    ("template", "metadata", "annotations"): (
        *({each: "a"} for each in ("a", "Example.com/a", "a b", "a/b/c", "a" * 64)),
        {"a": "b" * 300_000},
        *({"controller.kubernetes.io/pod-deletion-cost": each} for each in ("1", "-1", "01", "a", "4294967296", "")),
        *(
            {f"container.apparmor.security.beta.kubernetes.io/{name}": "runtime/default"}
            for name in ("first", "third")
        ),
        {"container.apparmor.security.beta.kubernetes.io/first": "strict"},
        {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"},
        {"seccomp.security.alpha.kubernetes.io/pod": "strict"},
    ),
}  # fmt: skip
_TABLES: Final[Sequence[tuple[Path, Mapping[str, Sequence[Any]]]]] = (
    (_POD, OF_PODS),
    (_FIRST, OF_CONTAINERS),
    (_INIT, OF_CONTAINERS),
)


def variations() -> Iterator[Variation]:
    """Each alone."""
    for path, values in _OF_JOB.items():
        yield from ((path, value) for value in values)
    for start, table in _TABLES:
        for keys, values in table.items():
            below: Path = tuple(int(key) if key.isdigit() else key for key in keys.split())
            yield from (((*start, *below), value) for value in (*values, REMOVED))
    for volume in OF_VOLUMES:
        yield (*_POD, "volumes", 2), {"name": "claim", **volume}


def compounds() -> Iterator[tuple[Variation, ...]]:
    """Variations that are something only together."""
    yield from _of_indexes()
    yield from _of_restarts()
    yield from _of_devices()
    yield from _of_ports()
    yield from _of_resources()
    sysctls = [{"name": "net.ipv4.tcp_syncookies", "value": "1"}]
    host_network: Variation = ((*_POD, "hostNetwork"), True)
    yield ((*_POD, "securityContext", "sysctls"), sysctls), host_network
    yield ((*_POD, "shareProcessNamespace"), True), ((*_POD, "hostPID"), True)
    own_users: Variation = ((*_POD, "hostUsers"), False)
    yield from (
        (own_users, ((*_POD, each), True)) for each in ("hostNetwork", "hostPID", "hostIPC")
    )
    yield from _of_systems()


def _of_systems() -> Iterator[tuple[Variation, ...]]:
    """A pod of a system with the fields of another."""
    context = "securityContext"
    bare: tuple[Variation, ...] = tuple(
        ((*each, context), REMOVED) for each in (_POD, _FIRST, _INIT)
    )
    for system in ("windows", "linux"):
        named: Variation = ((*_POD, "os"), {"name": system})
        yield *bare, named
        for place, fields in ((_POD, _SYSTEM_OF_POD), (_FIRST, _SYSTEM_OF_CONTAINER)):
            for key, value in fields.items():
                yield *bare, named, ((*place, context), {key: value})


_SYSTEM_OF_BOTH: Final[JSON] = {
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "runAsNonRoot": True,
    "seLinuxOptions": {"level": "s0"},
    "seccompProfile": {"type": "RuntimeDefault"},
    "appArmorProfile": {"type": "RuntimeDefault"},
    "windowsOptions": {"runAsUserName": "ContainerUser"},
}
_SYSTEM_OF_POD: Final[JSON] = {
    **_SYSTEM_OF_BOTH,
    "fsGroup": 1000,
    "fsGroupChangePolicy": "Always",
    "supplementalGroups": [1000],
    "supplementalGroupsPolicy": "Merge",
    "sysctls": [{"name": "net.ipv4.tcp_syncookies", "value": "1"}],
}
_SYSTEM_OF_CONTAINER: Final[JSON] = {
    **_SYSTEM_OF_BOTH,
    "privileged": False,
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
    "procMount": "Default",
}


_EACH_INDEX: Final[Variation] = (("backoffLimitPerIndex",), 1)
_FAILED: Final[Path] = ("maxFailedIndexes",)
_NO_POLICIES: Final[tuple[Variation, ...]] = (
    (("podFailurePolicy",), REMOVED),
    (("successPolicy",), REMOVED),
)


def _of_indexes() -> Iterator[tuple[Variation, ...]]:
    for count in (1, 4, 5, 100_001):
        yield _EACH_INDEX, (_FAILED, count)
    yield _EACH_INDEX, ((*_FAILURE, "action"), "FailIndex")
    many: Variation = (("completions",), 100_001)
    yield many, _EACH_INDEX
    for count in (10_000, 10_001):
        yield many, _EACH_INDEX, (_FAILED, count)
        yield many, _EACH_INDEX, (_FAILED, 1), (("parallelism",), count)
    for mode in ("NonIndexed", REMOVED):
        plain: tuple[Variation, ...] = ((("completionMode",), mode), (("successPolicy",), REMOVED))
        yield plain
        yield *plain, _EACH_INDEX
        yield *plain, (("completions",), REMOVED)


def _of_restarts() -> Iterator[tuple[Variation, ...]]:
    for policy in ("OnFailure", "Never", "Always", "", REMOVED, "never"):
        yield *_NO_POLICIES, ((*_POD, "restartPolicy"), policy)
    yield *_NO_POLICIES, (("completions",), REMOVED), (("parallelism",), REMOVED)
    restart = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
    on_failure: Variation = ((*_POD, "restartPolicy"), "OnFailure")
    yield ((*_FIRST, "resizePolicy"), restart), on_failure, *_NO_POLICIES
    always: Variation = ((*_INIT, "restartPolicy"), "Always")
    for port in (80, 0):
        yield always, ((*_INIT, "startupProbe"), {"tcpSocket": {"port": port}})


def _of_devices() -> Iterator[tuple[Variation, ...]]:
    devices: Sequence[Sequence[JSON]] = (
        *([{"name": name, "devicePath": "/dev/a"}] for name in ("claim", "data", "settings", "a")),
        *([{"name": "claim", "devicePath": path}] for path in ("/data", "/dev/../a", "")),
        [{"name": "claim"}],
        [{"name": "claim", "devicePath": each} for each in ("/a", "/b")],
    )
    yield from ((((*_FIRST, "volumeDevices"), each),) for each in devices)


def _of_ports() -> Iterator[tuple[Variation, ...]]:
    for port in (8080, 8081):
        taken = [{"containerPort": 8080, "hostPort": port}]
        yield ((*_FIRST, "ports"), taken), ((*_POD, "hostNetwork"), True)
    one, other = ([{"containerPort": each, "hostPort": 80}] for each in (80, 81))
    yield ((*_FIRST, "ports"), one), ((*_POD, "containers", 1, "ports"), other)


def _of_resources() -> Iterator[tuple[Variation, ...]]:
    claims = [{"name": "gpu", "resourceClaimName": "gpu"}]
    for name in ("gpu", "other", ""):
        asked = [{"name": name}]
        yield ((*_POD, "resourceClaims"), claims), ((*_FIRST, "resources", "claims"), asked)
    whole: Path = (*_POD, "resources")
    for amount in ("8Gi", "1Gi", "2Gi", "-1"):
        yield ((whole, {"requests": {"memory": amount}, "limits": {"memory": "8Gi"}}),)
        yield ((whole, {"limits": {"memory": amount}}),)
    yield ((whole, {"limits": {"nvidia.com/gpu": "1"}}),)


def varied(*chosen: Variation) -> JSON:
    """The Job with variations."""
    return with_variations(valid_job(), chosen)


def mixed(count: int, known: Sequence[Variation]) -> Iterator[tuple[Variation, ...]]:
    """Some at once, the same each time; those that have no place in what others make are passed over."""
    drawn = random.Random(34)
    while count:
        chosen = tuple(drawn.sample(known, drawn.randint(2, 3)))
        try:
            varied(*chosen)
        except (IndexError, KeyError, TypeError, AttributeError):
            continue
        count -= 1
        yield chosen
