"""JobSets: valid ones, changes that JobSet's or Kueue's webhook or the CRD refuses, and changes that all take."""

from typing import Any, Final

from tests.apiserver import variations
from tests.apiserver.variations import Variation

JSON = dict[str, Any]


def job(name: str, **fields: Any) -> JSON:
    """A replicated job of two pods; `fields` stand beside its template."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "node", "image": "a:v1"}]}
    spec = {
        "backoffLimit": 0,
        "parallelism": 2,
        "completions": 2,
        "template": {"metadata": {"annotations": {}}, "spec": pod},
    }
    return {"name": name, "replicas": 1, **fields, "template": {"spec": spec}}


def jobset(**spec: Any) -> JSON:
    """A JobSet of that spec."""
    head = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    return {**head, "metadata": {"name": "digits", "namespace": "default"}, "spec": spec}


PLAIN: Final = jobset(
    replicatedJobs=[
        job("data"),
        job("node", replicas=2, dependsOn=[{"name": "data", "status": "Complete"}]),
    ],
    successPolicy={"operator": "All", "targetReplicatedJobs": ["node"]},
    failurePolicy={
        "maxRestarts": 3,
        "restartStrategy": "Recreate",
        "rules": [
            {
                "name": "lost",
                "action": "RestartJobSet",
                "onJobFailureReasons": ["PodFailurePolicy"],
                "targetReplicatedJobs": ["node"],
            },
            {"name": "other", "action": "FailJobSet"},
        ],
    },
    network={"subdomain": "digits", "enableDNSHostnames": True},
    coordinator={"replicatedJob": "node", "jobIndex": 1, "podIndex": 1},
    managedBy="kueue.x-k8s.io/multikueue",
)
CLAIM: Final = {"metadata": {"name": "cache"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
MOUNTS: Final = [{"name": "cache", "mountPath": "/cache"}]


def with_claim() -> JSON:
    """A JobSet with a volume claim, which its container mounts."""
    node = job("node")
    node["template"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"] = MOUNTS
    return jobset(replicatedJobs=[node], volumeClaimPolicies=[{"templates": [CLAIM]}])


CLAIMS: Final = with_claim()
QUEUED: Final = {
    **jobset(replicatedJobs=[job("node")]),
    "metadata": {
        "name": "digits",
        "namespace": "default",
        "labels": {"kueue.x-k8s.io/queue-name": "team"},
    },
}
_NODE: Final = "spec replicatedJobs 1"
_ANNOTATIONS: Final = "spec replicatedJobs 0 template spec template metadata annotations"
_KUEUE: Final = "kueue.x-k8s.io/podset"
_RULE: Final = "spec failurePolicy rules 0"
_REQUIRED: Final = f"{_KUEUE}-required-topology"
_PREFERRED: Final = f"{_KUEUE}-preferred-topology"
_UNCONSTRAINED: Final = f"{_KUEUE}-unconstrained-topology"
_SLICE: Final = f"{_KUEUE}-slice-required-topology"
_SLICE_SIZE: Final = f"{_KUEUE}-slice-size"
_GROUP: Final = f"{_KUEUE}-group-name"
_POD: Final = "template spec template spec"
INVALID: Final[tuple[Variation, ...]] = (
    *variations.of(
        PLAIN,
        (
            ("spec successPolicy targetReplicatedJobs", ["nodes"]),
            ("spec successPolicy operator", "Most"),
            ("spec successPolicy operator", None),
            ("spec successPolicy targets", ["node"]),
            (f"{_RULE} targetReplicatedJobs", ["launcher"]),
            (f"{_RULE} onJobFailureReasons", ["OOMKilled"]),
            (f"{_RULE} action", "Restart"),
            (f"{_RULE} action", "RestartJob"),
            (f"{_RULE} action", "RestartJobAndIgnoreMaxRestarts"),
            (f"{_RULE} action", None),
            (f"{_RULE} name", "a-b"),
            (f"{_RULE} name", "1"),
            (f"{_RULE} name", "a,"),
            (f"{_RULE} name", "a" * 129),
            (f"{_RULE} name", "other"),
            (f"{_RULE} reasons", ["PodFailurePolicy"]),
            ("spec failurePolicy restartStrategy", "Blocking"),
            ("spec failurePolicy restartStrategy", "InPlaceRestart"),
            ("spec failurePolicy maxRestarts", "three"),
            ("spec failurePolicy maxRestart", 3),
            ("spec network subdomain", "Digits"),
            ("spec network subdomain", "a.b"),
            ("spec network subdomain", "1a"),
            ("spec network subdomain", "a" * 64),
            ("spec network subDomain", "a"),
            ("spec managedBy", "multikueue"),
            ("spec managedBy", "example.com/"),
            ("spec managedBy", "Example.com/a"),
            ("spec managedBy", f"example.com/{'a' * 60}"),
            ("spec coordinator replicatedJob", "launcher"),
            ("spec coordinator replicatedJob", None),
            ("spec coordinator jobIndex", 2),
            ("spec coordinator jobIndex", -1),
            ("spec coordinator podIndex", 2),
            ("spec coordinator podIndex", -1),
            (f"{_NODE} template spec completionMode", "NonIndexed"),
            (f"{_NODE} template spec completions", None),
            (f"{_NODE} replicas", 2**31 - 1),
            (f"{_NODE} replicas", 0),
            (f"{_NODE} replicas", "two"),
            (f"{_NODE} groupName", "Workers"),
            (f"{_NODE} groupName", ""),
            (f"{_NODE} groupName", "a" * 64),
            (f"{_NODE} name", "Node"),
            (f"{_NODE} name", "no.de"),
            (f"{_NODE} name", "data"),
            (f"{_NODE} name", None),
            (f"{_NODE} template spec parallelism", "two"),
            (f"{_NODE} template spec completion", 2),
            (f"{_NODE} {_POD} containers 0 imagePullSecret", "a"),
            (f"{_NODE} template", None),
            (f"{_NODE} dependsOn 0 name", "later"),
            (f"{_NODE} dependsOn 0 status", "Done"),
            (f"{_NODE} dependsOn 1", {"name": "data", "status": "Ready"}),
            ("spec replicatedJobs 0 dependsOn", [{"name": "node", "status": "Ready"}]),
            ("spec startupPolicy", {"startupPolicyOrder": "InOrder"}),
            ("spec startupPolicy", {}),
            ("spec ttlSecondsAfterFinished", -1),
            ("spec replicatedJob", []),
            ("metadata name", "Digits"),
            ("metadata name", "1-digits"),
            ("metadata name", "dig.its"),
            ("metadata name", "d" * 50),
            ("metadata name", "d" * 64),
            ("metadata labels", {"a": "b c"}),
            ("specs", {}),
        ),
    ),
    *variations.of(
        CLAIMS,
        (
            ("spec volumeClaimPolicies 0 templates 0 metadata name", "data"),
            ("spec volumeClaimPolicies 0 templates 0 metadata name", "Cache_"),
            ("spec volumeClaimPolicies 0 templates 0 metadata namespace", "other"),
            ("spec volumeClaimPolicies 0 templates 1", CLAIM),
            ("spec volumeClaimPolicies 1", {"templates": [CLAIM]}),
            ("spec volumeClaimPolicies 0 retentionPolicy", {"whenDeleted": "Keep"}),
            (f"spec replicatedJobs 0 {_POD} volumes", [{"name": "cache", "emptyDir": {}}]),
            (f"spec replicatedJobs 0 {_POD} containers 0 volumeMounts", None),
        ),
    ),
    *variations.of(
        QUEUED,
        (
            ("metadata labels kueue.x-k8s.io/queue-name", "Team"),
            ("metadata labels kueue.x-k8s.io/queue-name", ""),
            ("metadata labels kueue.x-k8s.io/max-exec-time-seconds", "0"),
            ("metadata labels kueue.x-k8s.io/max-exec-time-seconds", "1h"),
            ("metadata labels kueue.x-k8s.io/prebuilt-workload-name", "A"),
            ("metadata annotations", {"kueue.x-k8s.io/elastic-job": "true"}),
            (_ANNOTATIONS, {_REQUIRED: "a b"}),
            (_ANNOTATIONS, {_REQUIRED: "example.com/rack", _PREFERRED: "example.com/rack"}),
            (_ANNOTATIONS, {_REQUIRED: "example.com/rack", _UNCONSTRAINED: "true"}),
            (_ANNOTATIONS, {_UNCONSTRAINED: "yes"}),
            (_ANNOTATIONS, {_SLICE: "example.com/rack"}),
            (_ANNOTATIONS, {_SLICE_SIZE: "2"}),
            (_ANNOTATIONS, {_SLICE: "example.com/rack", _SLICE_SIZE: "two"}),
            (_ANNOTATIONS, {_SLICE: "example.com/rack", _SLICE_SIZE: "0"}),
            (_ANNOTATIONS, {_SLICE: "example.com/rack", _SLICE_SIZE: "3"}),
            (_ANNOTATIONS, {_GROUP: "a"}),
            (_ANNOTATIONS, {_REQUIRED: "example.com/rack", _GROUP: "1"}),
            (_ANNOTATIONS, {_REQUIRED: "example.com/rack", _GROUP: "a"}),
        ),
    ),
)
"""Each is refused by the CRD, by JobSet's webhook or by Kueue's."""

VALID: Final[tuple[Variation, ...]] = (
    *variations.of(
        PLAIN,
        (
            ("", None),
            ("spec successPolicy", None),
            ("spec successPolicy targetReplicatedJobs", []),
            ("spec failurePolicy", None),
            (f"{_RULE} name", None),
            (f"{_RULE} name", "a_b,c:d"),
            (f"{_RULE} action", "RestartJobSetAndIgnoreMaxRestarts"),
            (f"{_RULE} targetReplicatedJobs", ["data", "node"]),
            ("spec failurePolicy restartStrategy", "BlockingRecreate"),
            ("spec network", None),
            ("spec network subdomain", "a" * 40),
            ("spec managedBy", None),
            ("spec managedBy", "example.com/a/B_c"),
            ("spec coordinator", None),
            ("spec coordinator jobIndex", None),
            ("spec suspend", True),
            ("spec ttlSecondsAfterFinished", 0),
            (f"{_NODE} groupName", "workers"),
            (f"{_NODE} dependsOn", None),
            (f"{_NODE} template spec completionMode", "Indexed"),
            ("metadata name", "d" * 20),
        ),
    ),
    *variations.of(
        CLAIMS,
        (
            ("", None),
            ("spec volumeClaimPolicies 0 retentionPolicy", {"whenDeleted": "Retain"}),
            ("spec volumeClaimPolicies", []),
        ),
    ),
    *variations.of(
        QUEUED,
        (
            ("", None),
            ("metadata labels kueue.x-k8s.io/max-exec-time-seconds", "60"),
            ("metadata labels kueue.x-k8s.io/priority-class", "high"),
            (_ANNOTATIONS, {_REQUIRED: "example.com/rack"}),
            (_ANNOTATIONS, {_PREFERRED: "example.com/rack"}),
            (_ANNOTATIONS, {_UNCONSTRAINED: "true"}),
            (
                _ANNOTATIONS,
                {_REQUIRED: "a", _SLICE: "example.com/rack", _SLICE_SIZE: "2"},
            ),
        ),
    ),
    Variation(jobset(replicatedJobs=[]), "", None),
)
"""Each is taken."""
