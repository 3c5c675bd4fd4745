"""Objects of Kueue: valid ones, changes that Kueue or its CRDs refuse, and changes that both take."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.apiserver import variations
from tests.apiserver.variations import Change, Variation

JSON = dict[str, Any]

NEW, OLD = "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"
LONG: Final = "a" * 254


def kueue(kind: str, spec: Mapping[str, Any], version: str = NEW, **fields: Any) -> JSON:
    """An object of that kind; `fields` stand beside its spec."""
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "it"}}
    return {**head, "spec": dict(spec), **fields}


def flavor(name: str, **quotas: Any) -> JSON:
    """A flavor with a quota of each resource; `memory=` and so on."""
    return {
        "name": name,
        "resources": [{"name": each, "nominalQuota": quota} for each, quota in quotas.items()],
    }


GPU: Final = "nvidia.com/gpu"
GROUPS: Final = [
    {
        "coveredResources": ["cpu", "memory"],
        "flavors": [
            {
                "name": "reserved",
                "resources": [
                    {"name": "cpu", "nominalQuota": 8, "borrowingLimit": 4, "lendingLimit": 4},
                    {"name": "memory", "nominalQuota": "32Gi"},
                ],
            },
            flavor("spot", cpu=16, memory="64Gi"),
        ],
    },
    {"coveredResources": [GPU], "flavors": [flavor("h100", **{GPU: 8})]},
]
ALONE: Final = [{"coveredResources": ["cpu"], "flavors": [flavor("reserved", cpu=8)]}]
QUEUE: Final = kueue(
    "ClusterQueue",
    {
        "cohortName": "research",
        "namespaceSelector": {"matchLabels": {"team": "vision"}},
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "resourceGroups": GROUPS,
        "preemption": {
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
            "withinClusterQueue": "LowerPriority",
        },
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        "fairSharing": {"weight": 2},
        "admissionChecksStrategy": {"admissionChecks": [{"name": "check", "onFlavors": ["h100"]}]},
    },
)
LONELY_QUEUE: Final = kueue("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": ALONE})
OLD_QUEUE: Final = kueue(
    "ClusterQueue",
    {
        "cohort": "research",
        "namespaceSelector": {},
        "resourceGroups": GROUPS,
        "admissionChecks": ["check"],
    },
    OLD,
)
COHORT: Final = kueue("Cohort", {"parentName": "root", "resourceGroups": GROUPS})
LONELY_COHORT: Final = kueue("Cohort", {"resourceGroups": ALONE})
LOCAL_QUEUE: Final = kueue("LocalQueue", {"clusterQueue": "vision"})
TAINT: Final = {"key": GPU, "value": "present", "effect": "NoSchedule"}
RESOURCE_FLAVOR: Final = kueue(
    "ResourceFlavor",
    {
        "nodeLabels": {"example.com/pool": "h100"},
        "nodeTaints": [TAINT],
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "topologyName": "racks",
    },
)
TOPOLOGY: Final = kueue(
    "Topology",
    {
        "levels": [
            {"nodeLabel": "example.com/block"},
            {"nodeLabel": "example.com/rack"},
            {"nodeLabel": "kubernetes.io/hostname"},
        ]
    },
)
ADMISSION_CHECK: Final = kueue(
    "AdmissionCheck",
    {
        "controllerName": "kueue.x-k8s.io/provisioning-request",
        "parameters": {
            "apiGroup": "kueue.x-k8s.io",
            "kind": "ProvisioningRequestConfig",
            "name": "it",
        },
    },
)
PROVISIONING: Final = kueue(
    "ProvisioningRequestConfig",
    {
        "provisioningClassName": "check-capacity.autoscaling.x-k8s.io",
        "managedResources": [GPU],
        "parameters": {"a": "b"},
        "retryStrategy": {"backoffLimitCount": 2, "backoffBaseSeconds": 60},
    },
)
WORKERS: Final = kueue("MultiKueueConfig", {"clusters": ["east", "west"]})
WORKER: Final = kueue(
    "MultiKueueCluster",
    {"clusterSource": {"kubeConfig": {"location": "east", "locationType": "Secret"}}},
)
PRIORITY: Final = {
    "apiVersion": NEW,
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "it"},
    "value": 1000,
    "description": "before others",
}
POD: Final = {
    "metadata": {},
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "a", "image": "a", "resources": {"requests": {"cpu": "1"}}}],
    },
}
WORKLOAD: Final = kueue(
    "Workload",
    {
        "queueName": "team",
        "podSets": [{"name": "main", "count": 3, "minCount": 2, "template": POD}],
    },
)

_GROUP, _OTHER = "spec resourceGroups 0", "spec resourceGroups 1"
_CPU = f"{_GROUP} flavors 0 resources 0"
_EXPRESSIONS = "spec namespaceSelector matchExpressions"


def _many(groups: int, flavors: int, resources: int) -> list[JSON]:
    """Groups of so many flavors, each with a quota of so many resources."""
    return [
        {
            "coveredResources": [f"example.com/r{group}-{each}" for each in range(resources)],
            "flavors": [
                flavor(
                    f"f{group}-{at}", **{f"example.com/r{group}-{x}": 1 for x in range(resources)}
                )
                for at in range(flavors)
            ],
        }
        for group in range(groups)
    ]


_QUOTAS: Final[Sequence[Change]] = (
    ("spec cohorts", ["research"]),
    (f"{_GROUP} coveredResources", []),
    (f"{_GROUP} coveredResources", None),
    (f"{_GROUP} coveredResources", ["cpu"]),
    (f"{_GROUP} coveredResources", ["memory", "cpu"]),
    (f"{_GROUP} coveredResources", ["cpu", "cpu"]),
    (f"{_GROUP} coveredResources", ["cpu", "memory", "pods"]),
    (f"{_GROUP} coveredResources 1", "example.com/a/b"),
    (f"{_GROUP} flavors", []),
    (f"{_GROUP} flavors 0 name", "spot"),
    (f"{_GROUP} flavors 0 name", "h100"),
    (f"{_GROUP} flavors 0 name", "On Demand"),
    (f"{_GROUP} flavors 0 name", None),
    (f"{_GROUP} flavors 0 labels", {"a": "b"}),
    (f"{_GROUP} flavors 0 resources", []),
    (f"{_GROUP} flavors 0 resources 1", None),
    (f"{_CPU} name", "pods"),
    (f"{_CPU} name", "memory"),
    (f"{_CPU} nominalQuota", "-1"),
    (f"{_CPU} nominalQuota", -1),
    (f"{_CPU} nominalQuota", "eight"),
    (f"{_CPU} nominalQuota", None),
    (f"{_CPU} nominalQuota", 1.5),
    (f"{_CPU} nominalQuotas", 1),
    (f"{_CPU} borrowingLimit", -1),
    (f"{_CPU} lendingLimit", "-500m"),
    (
        _OTHER,
        {"coveredResources": ["cpu"], "flavors": [flavor("h100", cpu=8)]},
    ),
    ("spec resourceGroups", _many(17, 1, 1)),
    ("spec resourceGroups", _many(1, 65, 1)),
    ("spec fairSharing weight", "-1"),
    ("spec fairSharing weight", "1n"),
    ("spec fairSharing wait", "1"),
)
_CLUSTER_QUEUE: Final[Sequence[Change]] = (
    *_QUOTAS,
    ("spec cohort", "research"),
    ("spec cohortName", None),
    ("spec cohortName", ""),
    ("spec cohortName", "Research"),
    ("spec cohortName", LONG),
    ("spec queueingStrategy", "FIFO"),
    ("spec stopPolicy", "Stop"),
    ("spec preemption reclaimWithinCohort", "Never"),
    ("spec preemption reclaimWithinCohort", None),
    ("spec preemption reclaimWithinCohort", "Sometimes"),
    ("spec preemption withinClusterQueue", "Any"),
    ("spec preemption withinCohort", "Any"),
    ("spec preemption borrowWithinCohort policy", "Any"),
    ("spec preemption borrowWithinCohort maxPriorityThreshold", "high"),
    ("spec flavorFungibility whenCanBorrow", "MayStopSearch"),
    ("spec flavorFungibility whenCanBorrow", None),
    ("spec flavorFungibility whenCanPreempt", "MayStopSearch"),
    ("spec flavorFungibility whenCanBorrow", "Always"),
    ("spec flavorFungibility preference", "Speed"),
    (f"{_CPU} lendingLimit", 9),
    ("spec namespaceSelector", {"matchLabels": {"a b": "c"}}),
    ("spec namespaceSelector", {"matchLabels": {"team": "a b"}}),
    ("spec namespaceSelector", {"labels": {"team": "vision"}}),
    (_EXPRESSIONS, [{"key": "team", "operator": "In"}]),
    (_EXPRESSIONS, [{"key": "team", "operator": "In", "values": ["-"]}]),
    (_EXPRESSIONS, [{"key": "team", "operator": "Exists", "values": ["a"]}]),
    (_EXPRESSIONS, [{"key": "team", "operator": "Is", "values": ["a"]}]),
    (_EXPRESSIONS, [{"key": "", "operator": "Exists"}]),
    (_EXPRESSIONS, [{"operator": "Exists"}]),
    ("spec admissionChecksStrategy admissionChecks 0 onFlavors", ["tpu"]),
    ("spec admissionChecksStrategy admissionChecks 0 onFlavors", ["h100", "h100"]),
    ("spec admissionChecksStrategy admissionChecks 0 name", None),
    ("spec admissionChecksStrategy admissionChecks", []),
    ("spec admissionChecks", ["check"]),
    ("spec admissionScope", {"admissionMode": "Fair"}),
    ("spec resourceGroups", _many(16, 17, 1)),
    ("spec resourceGroups", _many(9, 1, 30)),
    ("spec resourceGroups", _many(1, 20, 30)),
    ("spec resources", []),
    ("spec", "none"),
    ("metadata name", "It_is"),
    ("metadata labels", {"a": "b c"}),
    ("specs", {}),
)
_RESOURCE_FLAVOR: Final[Sequence[Change]] = (
    ("spec nodeLabels", None),
    ("spec nodeLabels", {"a b": "c"}),
    ("spec nodeLabels", {"a": "b c"}),
    ("spec nodeLabels", {"a": 1}),
    ("spec nodeLabels", {f"a{each}": "b" for each in range(9)}),
    ("spec nodeTaints 0 effect", "NeverSchedule"),
    ("spec nodeTaints 0 effect", None),
    ("spec nodeTaints 0 key", None),
    ("spec nodeTaints 0 key", "a b"),
    ("spec nodeTaints 0 value", "a b"),
    ("spec nodeTaints", [TAINT, {**TAINT, "value": "absent"}]),
    ("spec nodeTaints", [{**TAINT, "key": f"a{each}"} for each in range(9)]),
    ("spec nodeTaint", [TAINT]),
    ("spec tolerations 0 operator", "Has"),
    ("spec tolerations 0 effect", "Never"),
    ("spec tolerations 0 value", "present"),
    ("spec tolerations 0 key", "a b"),
    ("spec tolerations 0 tolerationSeconds", 5),
    ("spec tolerations 0", {"operator": "Equal", "value": "a"}),
    ("spec tolerations 0", {"effect": "NoSchedule"}),
    ("spec topologyName", "Racks"),
    ("spec topology", "racks"),
)
_LEVEL: Final = "spec levels"
INVALID: Final[tuple[Variation, ...]] = (
    *variations.of(QUEUE, _CLUSTER_QUEUE),
    *variations.of(
        LONELY_QUEUE,
        (
            (f"{_CPU} borrowingLimit", 4),
            (f"{_CPU} lendingLimit", 4),
            ("spec preemption borrowWithinCohort policy", "LowerPriority"),
        ),
    ),
    *variations.of(
        OLD_QUEUE,
        (
            ("spec cohortName", "research"),
            ("spec cohort", None),
            ("spec cohort", "Research"),
            ("spec queueingStrategy", "FIFO"),
            (f"{_CPU} nominalQuota", "-1"),
            (f"{_CPU} name", "memory"),
            (f"{_OTHER} coveredResources 0", "cpu"),
            ("spec preemption borrowWithinCohort policy", "LowerPriority"),
            ("spec namespaceSelector", {"matchLabels": {"a": "b c"}}),
        ),
    ),
    *variations.of(
        COHORT,
        (
            *_QUOTAS,
            ("spec parent", "root"),
            ("spec parentName", None),
            ("spec parentName", "Root"),
            ("apiVersion", "kueue.x-k8s.io/v1alpha1"),
        ),
    ),
    *variations.of(LONELY_COHORT, ((f"{_CPU} borrowingLimit", 4), (f"{_CPU} lendingLimit", 4))),
    *variations.of(
        LOCAL_QUEUE,
        (
            ("spec clusterQueue", "Vision"),
            ("spec clusterQueue", LONG),
            ("spec clusterqueue", "vision"),
            ("spec clusterQueueName", "vision"),
            ("spec stopPolicy", "Stop"),
            ("metadata name", "Team A"),
        ),
    ),
    *variations.of(RESOURCE_FLAVOR, _RESOURCE_FLAVOR),
    *variations.of(
        TOPOLOGY,
        (
            (_LEVEL, []),
            (_LEVEL, None),
            (f"{_LEVEL} 0 nodeLabel", "kubernetes.io/hostname"),
            (f"{_LEVEL} 0 nodeLabel", "example.com/rack"),
            (f"{_LEVEL} 0 nodeLabel", "a b"),
            (f"{_LEVEL} 0 nodeLabel", None),
            (f"{_LEVEL} 2 nodeLabel", "example.com/block"),
            (
                _LEVEL,
                [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "example.com/rack"}],
            ),
            (_LEVEL, [{"nodeLabel": f"example.com/l{each}"} for each in range(17)]),
            (f"{_LEVEL} 0 label", "a"),
            ("spec level", []),
        ),
    ),
    *variations.of(
        ADMISSION_CHECK,
        (
            ("spec controllerName", None),
            ("spec controllerName", ""),
            ("spec parameters kind", None),
            ("spec parameters kind", "A B"),
            ("spec parameters name", "A"),
            ("spec parameters apiGroup", "A"),
            ("spec parameters namespace", "a"),
            ("spec retryDelayMinutes", 15),
        ),
    ),
    *variations.of(
        PROVISIONING,
        (
            ("spec provisioningClassName", None),
            ("spec provisioningClassName", "Check"),
            ("spec managedResources", [GPU, GPU]),
            ("spec parameters a", "a" * 256),
            ("spec parameters", {f"a{each}": "b" for each in range(101)}),
            ("spec retryStrategy backoffLimitCount", "two"),
            ("spec retryStrategy backoffLimit", 2),
            ("spec podSetMergePolicy", "Any"),
        ),
    ),
    *variations.of(
        WORKERS,
        (
            ("spec clusters", []),
            ("spec clusters", None),
            ("spec clusters", ["east", "east"]),
            ("spec clusters", [f"c{each}" for each in range(21)]),
            ("spec cluster", ["east"]),
        ),
    ),
    *variations.of(
        WORKER,
        (
            ("spec clusterSource", {}),
            ("spec clusterSource", None),
            ("spec clusterSource clusterProfileRef", {"name": "east"}),
            ("spec clusterSource kubeConfig locationType", "File"),
            ("spec clusterSource kubeConfig location", None),
            ("spec kubeConfig", {"location": "east"}),
        ),
    ),
    *variations.of(
        PRIORITY,
        (
            ("value", None),
            ("value", "high"),
            ("description", "a" * 2049),
            ("spec", {"value": 1}),
            ("globalDefault", True),
        ),
    ),
    *variations.of(
        WORKLOAD,
        (
            ("spec podSets 0 minCount", 4),
            ("spec podSets 0 count", -1),
            ("spec podSets 0 name", "Main_"),
            ("spec podSets 0 template spec containers", None),
            (
                "spec podSets 0 template spec containers 0 resources requests",
                {"pods": 1},
            ),
            ("spec podSets 0 templates", {}),
            ("spec podSets", [WORKLOAD["spec"]["podSets"][0]] * 2),
            (
                "spec podSets 1",
                {"name": "other", "count": 3, "minCount": 2, "template": POD},
            ),
            ("spec queue", "team"),
            ("spec queueName", "Team"),
            ("spec priorityClassRef", {"group": "kueue.x-k8s.io", "kind": "A", "name": "b"}),
        ),
    ),
)
"""Each is refused by a CRD or by Kueue's webhook."""

VALID: Final[tuple[Variation, ...]] = (
    *variations.of(
        QUEUE,
        (
            ("", None),
            ("spec namespaceSelector", {}),
            ("spec preemption", None),
            ("spec preemption reclaimWithinCohort", "LowerPriority"),
            ("spec preemption borrowWithinCohort", None),
            ("spec flavorFungibility", None),
            ("spec flavorFungibility preference", None),
            ("spec admissionChecksStrategy", None),
            ("spec fairSharing weight", "0"),
            ("spec fairSharing weight", "500m"),
            ("spec stopPolicy", "HoldAndDrain"),
            (f"{_CPU} nominalQuota", "7500m"),
            (f"{_CPU} lendingLimit", 8),
            (_EXPRESSIONS, [{"key": "team", "operator": "NotIn", "values": ["a", "b"]}]),
            (_EXPRESSIONS, [{"key": "team", "operator": "DoesNotExist"}]),
            ("metadata annotations", {"a/b": "c d"}),
        ),
    ),
    *variations.of(
        LONELY_QUEUE,
        (
            ("", None),
            ("spec cohortName", "research"),
            ("spec resourceGroups", []),
            ("spec resourceGroups", _many(16, 16, 1)),
            ("spec resourceGroups", _many(1, 17, 30)),
            (f"{_CPU} nominalQuota", "0"),
        ),
    ),
    *variations.of(OLD_QUEUE, (("", None), ("spec queueingStrategy", "StrictFIFO"))),
    *variations.of(COHORT, (("", None), (f"{_CPU} lendingLimit", 9))),
    *variations.of(LONELY_COHORT, (("", None), ("spec resourceGroups", None))),
    *variations.of(LOCAL_QUEUE, (("", None), ("apiVersion", OLD), ("spec stopPolicy", "Hold"))),
    *variations.of(
        RESOURCE_FLAVOR,
        (
            ("", None),
            ("apiVersion", OLD),
            ("spec", {}),
            ("spec nodeTaints 0 value", None),
            ("spec nodeTaints 1", {**TAINT, "effect": "NoExecute"}),
            ("spec tolerations 0", {"operator": "Exists"}),
            ("spec tolerations 0 key", ""),
            ("spec tolerations 0", {"key": "a", "value": "b"}),
        ),
    ),
    *variations.of(
        TOPOLOGY, (("", None), ("apiVersion", OLD), (f"{_LEVEL} 2", None), (f"{_LEVEL} 0", None))
    ),
    *variations.of(ADMISSION_CHECK, (("", None), ("apiVersion", OLD), ("spec parameters", None))),
    *variations.of(PROVISIONING, (("", None), ("apiVersion", OLD))),
    *variations.of(WORKERS, (("", None), ("apiVersion", OLD))),
    *variations.of(WORKER, (("", None),)),
    *variations.of(PRIORITY, (("", None), ("apiVersion", OLD), ("value", -5))),
    *variations.of(WORKLOAD, (("", None), ("spec podSets 0 minCount", None))),
)
"""Each is taken."""
