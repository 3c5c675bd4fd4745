"""Arguments that cannot work: what the preview says, and who else would have refused them.

Read by test_mistakes.py, by tests/apiserver/test_queue_objects.py, which asks a real API server of those that
a CRD refuses, and by tests/soak/test_webhooks.py, which asks Kueue of the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from trainer_infra import platform
from trainer_infra.errors import shown

_LABELS: Final = {"node_labels": {"pool": "a"}}
_GPU: Final = {"quota": {"a": {"nvidia.com/gpu": 8}}}
_WORKER: Final = {"workers": {"east": {"secret": "east"}}}
_CLASS: Final = {"provisioning_class": "queued-provisioning.gke.io"}
_QUEUE: Final = {"namespace": "vision", "cluster_queue": "vision"}
_LONG: Final = "a" * 254


@dataclass(frozen=True)
class Mistake:
    """Arguments with one thing wrong."""

    component: Any
    args: Mapping[str, Any]
    sentence: str
    """The whole of it, after the component's name."""
    refused_by: Literal["crd", "webhook", "nothing"] = "crd"
    """What refuses the object if we do not; `nothing` is also an API server for another reason."""


def _of(component: Any, refused_by: Any, rows: Mapping[str, tuple[Any, str]]) -> dict[str, Mistake]:
    name = component.__name__
    return {
        f"{name}: {row}": Mistake(component, args, sentence, refused_by)
        for row, (args, sentence) in rows.items()
    }


MISTAKES: Final[Mapping[str, Mistake]] = {
    **_of(platform.Topology, "crd", {
        "no level": ({"levels": []}, "levels: must have at least 1 item, has 0"),
        "17 levels": (
            {"levels": [f"level-{each}" for each in range(17)]},
            "levels: must have at most 16 items, has 17",
        ),
        "a level twice": ({"levels": ["rack", "rack"]}, "levels[1]: is the same as item 0, got 'rack'; remove one of them"),
        "hostname above another": (
            {"levels": ["kubernetes.io/hostname", "rack"]},
            ("levels[0]: may only be the lowest level, the last of the list, got "
            "'kubernetes.io/hostname'; move it to the end"),
        ),
        "a level that is not a label": (
            {"levels": ["a rack"]},
            "levels[0]: must be a key such as stage or example.com/stage, got 'a rack'",
        ),
        "a name that is none": (
            {"levels": ["rack"], "name": "H100"},
            ("name: must be lower-case letters, digits, - and ., and begin and end with a letter or "
            "digit, got 'H100'"),
        ),
        "a long name": (
            {"levels": ["rack"], "name": _LONG},
            f"name: must be at most 253 characters long, has 254, got {shown(_LONG)}",
        ),
        "a label that is none": (
            {"levels": ["rack"], "labels": {"team": "a b"}},
            ("labels.team: must be letters, digits, -, _ and ., and begin and end with a letter or "
            "digit, got 'a b'"),
        ),
    }),
    **_of(platform.Topology, "nothing", {
        "no levels": ({}, "levels: is missing"),
        "a text for a list": ({"levels": "rack"}, "levels: must be a list, got 'rack'"),
    }),
    **_of(platform.ResourceFlavor, "crd", {
        "a topology without a label": (
            {"topology_name": "h100"},
            ("node_labels: must have a label, because topology_name is set; write a label of the "
            "machines"),
        ),
        "9 labels": (
            {"node_labels": {f"label-{each}": "a" for each in range(9)}},
            "node_labels: must have at most 8 keys, has 9",
        ),
        "a label that is not a text": (
            {"node_labels": {"gpu": True}}, "node_labels.gpu: must be a text, got True"
        ),
        "9 taints": (
            {"node_taints": [{"key": f"k{each}", "effect": "NoExecute"} for each in range(9)]},
            "node_taints: must have at most 8 items, has 9",
        ),
        "an effect that is none": (
            {"node_taints": [{"key": "gpu", "effect": "NoStart"}]},
            ("node_taints[0].effect: must be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute', "
            "got 'NoStart'"),
        ),
        "a taint without an effect": (
            {"node_taints": [{"key": "gpu"}]}, "node_taints[0].effect: is missing"
        ),
        "a taint without a key": (
            {"node_taints": [{"effect": "NoExecute"}]}, "node_taints[0].key: is missing"
        ),
        "a taint's field that is none": (
            {"node_taints": [{"key": "gpu", "effect": "NoExecute", "operator": "Exists"}]},
            "node_taints[0].operator: is not a known field here; use key, value, effect",
        ),
        "9 tolerations": (
            {"tolerations": [{"operator": "Exists"}] * 9},
            "tolerations: must have at most 8 items, has 9",
        ),
        "an operator that is none": (
            {"tolerations": [{"key": "gpu", "operator": "In"}]},
            "tolerations[0].operator: must be 'Equal' or 'Exists', got 'In'",
        ),
        "a toleration's effect that is none": (
            {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "All"}]},
            ("tolerations[0].effect: must be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute', "
            "got 'All'"),
        ),
        "a toleration of nothing": (
            {"tolerations": [{"value": "a"}]},
            "tolerations[0].operator: must be 'Exists' where no key is; write a key, or Exists",
        ),
        "a value that does not count": (
            {"tolerations": [{"key": "gpu", "operator": "Exists", "value": "a"}]},
            "tolerations[0].value: must not be set beside the operator Exists, got 'a'; remove it",
        ),
        "seconds of another effect": (
            {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]},
            ("tolerations[0].effect: must be 'NoExecute' where tolerationSeconds is set, got "
            "'NoSchedule'"),
        ),
        "a topology that is not a name": (
            {"topology_name": "H100", **_LABELS},
            ("topology_name: must be lower-case letters, digits, - and ., and begin and end with a letter "
            "or digit, got 'H100'"),
        ),
    }),
    **_of(platform.ResourceFlavor, "webhook", {
        "a label's value that is none": (
            {"node_labels": {"pool": "a b"}},
            ("node_labels.pool: must be letters, digits, -, _ and ., and begin and end with a letter or "
            "digit, got 'a b'"),
        ),
        "a label's key that is none": (
            {"node_labels": {"a b": "c"}},
            "node_labels[a b]: must be a key such as stage or example.com/stage, got 'a b'",
        ),
        "a taint's key that is none": (
            {"node_taints": [{"key": "a b", "effect": "NoExecute"}]},
            "node_taints[0].key: must be a key such as stage or example.com/stage, got 'a b'",
        ),
        "a taint's value that is none": (
            {"node_taints": [{"key": "a", "value": "b c", "effect": "NoExecute"}]},
            ("node_taints[0].value: must be letters, digits, -, _ and ., and begin and end with a letter "
            "or digit, got 'b c'"),
        ),
        "a taint twice": (
            {"node_taints": [{"key": "a", "value": each, "effect": "NoExecute"} for each in "xy"]},
            ("node_taints[1]: has the key and the effect of item 0, got 'a:NoExecute'; remove "
            "one of them"),
        ),
        "a toleration's key that is none": (
            {"tolerations": [{"key": "a b", "operator": "Exists"}]},
            "tolerations[0].key: must be a key such as stage or example.com/stage, got 'a b'",
        ),
    }),
    **_of(platform.ClusterQueue, "crd", {
        "a flavor of nothing": ({"quota": {"a": {}}}, "quota.a: must have at least 1 item, has 0"),
        "65 flavors of the same resources": (
            {"quota": {f"f{each}": {"cpu": 1} for each in range(65)}},
            "quota: must have at most 64 items, has 65 in spec.resourceGroups[0].flavors",
        ),
        "17 sets of resources": (
            {"quota": {f"f{each}": {f"r{each}": 1} for each in range(17)}},
            "quota: must have at most 16 items, has 17 in spec.resourceGroups",
        ),
        "65 resources": (
            {"quota": {"a": {f"r{each}": 1 for each in range(65)}}},
            "quota.a: must have at most 64 items, has 65",
        ),
        "an amount that is none": (
            {"quota": {"a": {"memory": "2TB"}}},
            ("quota.a.memory: must be a quantity such as 1, 500m or 16Gi, got '2TB'; did you "
            "mean 2T?"),
        ),
        "a quota without nominal": (
            {"cohort": "org", "quota": {"a": {"cpu": {"borrowing_limit": 1}}}},
            "quota.a.cpu.nominal: is missing",
        ),
        "borrowing from nobody": (
            {"quota": {"a": {"cpu": {"nominal": 1, "borrowing_limit": 1}}}},
            ("quota.a.cpu.borrowing_limit: is set, and the ClusterQueue has no cohort to borrow "
            "from, got '1'; name a cohort, or remove it"),
        ),
        "a flavor that is not a name": (
            {"quota": {"A": {"cpu": 1}}},
            ("quota.A: must be lower-case letters, digits, - and ., and begin and end with a letter or "
            "digit, got 'A'"),
        ),
        "a cohort that is not a name": (
            {"cohort": "Org"},
            ("cohort: must be lower-case letters, digits, - and ., and begin and end with a letter or "
            "digit, got 'Org'"),
        ),
        "a strategy that is none": (
            {"queueing_strategy": "FIFO"},
            "queueing_strategy: must be 'StrictFIFO' or 'BestEffortFIFO', got 'FIFO'",
        ),
        "a stop policy that is none": (
            {"stop_policy": "Stop"},
            "stop_policy: must be 'None', 'Hold' or 'HoldAndDrain', got 'Stop'",
        ),
        "preemption by another word": (
            {"preemption": {"within_cluster_queue": "Any"}},
            ("preemption.within_cluster_queue: must be 'Never', 'LowerPriority' or "
            "'LowerOrNewerEqualPriority', got 'Any'"),
        ),
        "borrowing by preemption without reclaiming": (
            {"preemption": {"borrow_within_cohort": {"policy": "LowerPriority"}}},
            ("preemption.borrow_within_cohort.policy: is not Never, and reclaim_within_cohort is, "
            "got 'LowerPriority'; set reclaim_within_cohort, or write Never here"),
        ),
        "a threshold that is not a number": (
            {"preemption": {"borrow_within_cohort": {"max_priority_threshold": "high"}}},
            ("preemption.borrow_within_cohort.max_priority_threshold: must be a whole number, "
            "got 'high'"),
        ),
        "a preference where Kueue stops searching": (
            {"flavor_fungibility": {"preference": "BorrowingOverPreemption"}},
            ("flavor_fungibility.preference: needs when_can_borrow and when_can_preempt to be "
            "TryNextFlavor, got 'BorrowingOverPreemption'; write TryNextFlavor for both, or "
            "remove the preference"),
        ),
        "a search that is none": (
            {"flavor_fungibility": {"when_can_borrow": "Borrow"}},
            ("flavor_fungibility.when_can_borrow: must be 'MayStopSearch' or 'TryNextFlavor', "
            "got 'Borrow'"),
        ),
        "a check twice": (
            {"admission_checks": ["a", "a"]}, "admission_checks[1]: has the same name as item 0"
        ),
        "a check's flavor twice": (
            {"admission_checks": [{"check": "c", "on_flavors": ["a", "a"]}], **_GPU},
            "admission_checks[0].on_flavors[1]: has the same value as item 0, got 'a'",
        ),
        "an admission mode that does not exist": (
            {"admission_mode": "Fair"},
            "admission_mode: must be 'UsageBasedAdmissionFairSharing' or 'NoAdmissionFairSharing', got 'Fair'",
        ),
        "a weight that is none": (
            {"fair_sharing_weight": "much"},
            "fair_sharing_weight: must be a quantity such as 1, 500m or 16Gi, got 'much'",
        ),
    }),
    **_of(platform.ClusterQueue, "webhook", {
        "a resource in two sets": (
            {"quota": {"a": {"cpu": 1}, "b": {"cpu": 1, "memory": "1Gi"}}},
            ("quota.b.cpu: is covered by a too, which does not cover the same resources; name "
            "the same resources for a and b, with 0 where it has none"),
        ),
        "less than nothing": (
            {"quota": {"a": {"cpu": -1}}}, "quota.a.cpu: is less than 0, got '-1'; write 0 or more"
        ),
        "a resource that is not a name": (
            {"quota": {"a": {"a gpu": 1}}},
            "quota.a[a gpu]: must be a key such as stage or example.com/stage, got 'a gpu'",
        ),
        "lending to nobody": (
            {"quota": {"a": {"cpu": {"nominal": 1, "lending_limit": 1}}}},
            ("quota.a.cpu.lending_limit: is set, and there is no cohort to share with, got '1'; "
            "name a cohort, or remove it"),
        ),
        "lending more than there is": (
            {"cohort": "org", "quota": {"a": {"cpu": {"nominal": 1, "lending_limit": "1001m"}}}},
            "quota.a.cpu.lending_limit: is more than the 1 of nominal, got '1001m'; lower it",
        ),
        "a check of a flavor that is not there": (
            {"admission_checks": [{"check": "c", "on_flavors": ["b"]}], **_GPU},
            "admission_checks[0].on_flavors[0]: is not a flavor of this queue, got 'b'; name a",
        ),
        "a weight that vanishes": (
            {"fair_sharing_weight": "1n"}, "fair_sharing_weight: must be 0, or more than 1n, got '1n'"
        ),
        "a weight under zero": (
            {"fair_sharing_weight": -1}, "fair_sharing_weight: must be 0, or more than 1n, got '-1'"
        ),
        "a selector's operator that is none": (
            {"namespace_selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}},
            ("namespace_selector.matchExpressions[0].operator: must be In, NotIn, Exists or "
            "DoesNotExist, got 'Is'"),
        ),
        "a selector without values": (
            {"namespace_selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            ("namespace_selector.matchExpressions[0].values: is required where the operator is "
            "In"),
        ),
        "600 quotas of the same resources": (
            {"quota": {f"f{one}": {f"r{two}": 1 for two in range(12)} for one in range(50)}},
            "quota: has 600 quotas, and Kueue takes 512 in spec.resourceGroups[0]",
        ),
    }),
    **_of(platform.ClusterQueue, "nothing", {
        "an argument that is none": (
            {"weight": 1},
            ("weight: is not an argument; use name, labels, cohort, quota, namespace_selector, "
            "queueing_strategy, preemption, flavor_fungibility, admission_checks, stop_policy, "
            "fair_sharing_weight, admission_mode"),
        ),
        "a quota that is not a mapping": ({"quota": ["a"]}, "quota: must be a mapping, got ['a']"),
    }),
    **_of(platform.Cohort, "webhook", {
        "borrowing from nobody": (
            {"quota": {"a": {"cpu": {"nominal": 1, "borrowing_limit": 1}}}},
            ("quota.a.cpu.borrowing_limit: is set, and there is no parent to share with, got "
            "'1'; name a parent, or remove it"),
        ),
    }),
    **_of(platform.Cohort, "nothing", {
        "its own parent": ({"parent": "it"}, "parent: must be another cohort, got 'it'"),
    }),
    **_of(platform.LocalQueue, "crd", {
        "a queue that is not a name": (
            {**_QUEUE, "cluster_queue": "Vision"},
            ("cluster_queue: must be lower-case letters, digits, - and ., and begin and end with a letter "
            "or digit, got 'Vision'"),
        ),
        "a stop policy that is none": (
            {**_QUEUE, "stop_policy": "Stop"},
            "stop_policy: must be 'None', 'Hold' or 'HoldAndDrain', got 'Stop'",
        ),
    }),
    **_of(platform.LocalQueue, "nothing", {
        "a namespace that is none": (
            {**_QUEUE, "namespace": "a.b"},
            ("namespace: must be lower-case letters, digits and -, and begin and end with a letter or "
            "digit, got 'a.b'"),
        ),
        "no queue": ({"namespace": "vision"}, "cluster_queue: is missing"),
        "a name that no label can have": (
            {**_QUEUE, "name": "a" * 64}, f"name: must be at most 63 characters long, has 64, got {'a' * 64!r}"
        ),
    }),
    **_of(platform.WorkloadPriorityClass, "crd", {
        "a value that is not a number": (
            {"value": "high"}, "value: must be a whole number, got 'high'"
        ),
        "a long description": (
            {"value": 1, "description": "a" * 2049},
            f"description: must be at most 2048 characters long, has 2049, got {shown('a' * 2049)}",
        ),
    }),
    **_of(platform.WorkloadPriorityClass, "nothing", {
        "a value that is too big": (
            {"value": 2**31}, "value: must be at most 2147483647, got 2147483648"
        ),
    }),
    **_of(platform.ProvisioningAdmission, "crd", {
        "a class that is not a name": (
            {"provisioning_class": "DWS"},
            ("provisioning_class: must be lower-case letters, digits, - and ., and begin and end with a "
            "letter or digit, got 'DWS'"),
        ),
        "a parameter that is not a text": (
            {**_CLASS, "parameters": {"maxRunDurationSeconds": 3600}},
            "parameters.maxRunDurationSeconds: must be a text, got 3600",
        ),
        "a long parameter": (
            {**_CLASS, "parameters": {"a": "b" * 256}},
            f"parameters.a: must be at most 255 characters long, has 256, got {shown('b' * 256)}",
        ),
        "a resource twice": (
            {**_CLASS, "managed_resources": ["cpu", "cpu"]},
            "managed_resources[1]: has the same value as item 0, got 'cpu'",
        ),
        "a policy that is none": (
            {**_CLASS, "pod_set_merge_policy": "All"},
            ("pod_set_merge_policy: must be 'IdenticalPodTemplates' or "
            "'IdenticalWorkloadSchedulingRequirements', got 'All'"),
        ),
        "an update of no label": (
            {**_CLASS, "pod_set_updates": [{"key": "a b", "value_from_detail": "c"}]},
            "pod_set_updates[0].key: must be a key such as stage or example.com/stage, got 'a b'",
        ),
        "an update twice": (
            {**_CLASS, "pod_set_updates": [{"key": "a", "value_from_detail": each} for each in "bc"]},
            "pod_set_updates[1]: has the same key as item 0",
        ),
        "a name with a dot": (
            {**_CLASS, "name": "a.b"},
            ("name: must be lower-case letters, digits and -, and begin and end with a letter or digit, "
            "got 'a.b'"),
        ),
    }),
    **_of(platform.ProvisioningAdmission, "nothing", {
        "Karpenter": (
            {"provisioning_class": "karpenter.sh"},
            ("provisioning_class: does not exist: Karpenter has no classes, got 'karpenter.sh'; leave the check out "
            "where Karpenter makes the nodes"),
        ),
        "fewer than no tries": (
            {**_CLASS, "retry": {"backoff_limit_count": -1}},
            "retry.backoff_limit_count: must be at least 0, got -1",
        ),
    }),
    **_of(platform.MultiKueue, "crd", {
        "no worker": ({"workers": {}}, "workers: must have at least 1 item, has 0"),
        "21 workers": (
            {"workers": {f"w{each}": {"secret": "a"} for each in range(21)}},
            "workers: must have at most 20 items, has 21",
        ),
        "a place without a name": (
            {"workers": {"east": {"path": ""}}}, "workers.east.path: must be at least 1 character long, got ''"
        ),
        "a management that is none": (
            {**_WORKER, "quota_management": "Auto"},
            "quota_management: must be 'Manual' or 'Automated', got 'Auto'",
        ),
    }),
    **_of(platform.MultiKueue, "nothing", {
        "two sources": (
            {"workers": {"east": {"secret": "a", "path": "/b"}}},
            ("workers.east: must have exactly one of kubeconfig, secret, path, cluster_profile, got "
            "'secret, path'"),
        ),
        "no source": (
            {"workers": {"east": {}}},
            "workers.east: must have exactly one of kubeconfig, secret, path, cluster_profile",
        ),
        "a path for a text": (
            {"workers": {"east": {"kubeconfig": "/home/me/east.yaml"}}},
            "workers.east.kubeconfig: is not the text of a kubeconfig; read the file, and give what is in it",
        ),
        "an expectation that is none": (
            {**_WORKER, "expects": {"queues": ["a"]}},
            "expects.queues: is not a known field here; did you mean local_queues?",
        ),
        "a queue without its namespace": (
            {**_WORKER, "expects": {"local_queues": ["team"]}},
            "expects.local_queues: must be NAMESPACE/NAME, got 'team'",
        ),
    }),
    **_of(platform.VolcanoQueue, "crd", {
        "an amount that is none": (
            {"capability": {"cpu": "some"}},
            "capability.cpu: must be a quantity such as 1, 500m or 16Gi, got 'some'",
        ),
        "a weight that is not a number": (
            {"weight": "1"}, "weight: must be a whole number, got '1'"
        ),
    }),
    **_of(platform.VolcanoQueue, "nothing", {
        "no weight": ({"weight": 0}, "weight: must be at least 1, got 0"),
        "Volcano's own queue": (
            {"name": "default"},
            "name: is that of a queue which Volcano makes, got 'default'; choose another name",
        ),
        "a guarantee of more than it may use": (
            {"capability": {"cpu": 1}, "guarantee": {"cpu": 2}},
            "guarantee.cpu: must be at most capability, got 2",
        ),
    }),
}  # fmt: skip
"""By what is wrong; each has one thing wrong only, and is a component named `it`."""
