"""Every cause for which a run does not go on, as it is made on a real cluster.

A case is a runtime of one sleeping container with what makes it stand still, and what is made
before and after it is submitted. Those that stop a component are in disruptive/.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from from_source.cluster import base_image
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.runs.waiting_cause import Cause

JSON = dict[str, Any]

QUEUE: Final = "kueue.x-k8s.io/queue-name"
EVER: Final = ["sleep", "600"]
DISRUPTIVE: Final = {
    Cause.NODE_LOST: "test_node_not_ready.py",
    Cause.JOBSET_CONTROLLER_SILENT: "test_controllers_stop.py",
    Cause.JOB_CONTROLLER_SILENT: "test_controllers_stop.py",
    Cause.TRAINER_CONTROLLER_SILENT: "../controller/test_controller_troubles.py",
    Cause.HANG: "../test_hangs.py",
}
"""Causes that are made in another way, most by stopping what all runs of the cluster need, and the file that does."""


@dataclass(frozen=True)
class Case:
    """One cause, made for real."""

    cause: Cause
    said: str
    """What the run's sentence has, of the cluster's own words; `{ns}` is the namespace."""
    pod: JSON = field(default_factory=dict)
    """Fields of the PodSpec."""
    container: JSON = field(default_factory=dict)
    """Fields of the container."""
    job: JSON = field(default_factory=dict)
    """Fields of the JobSpec."""
    jobset: JSON = field(default_factory=dict)
    """Fields of the JobSetSpec."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the JobSet."""
    nodes: int = 1
    """Pods that train."""
    first: JSON = field(default_factory=dict)
    """Fields of the container of a step that must complete first; empty for no such step."""
    before: tuple[JSON, ...] = ()
    """Objects that are made first; `{ns}` is replaced in all their texts."""
    ready: Callable[[Namespace], bool] = lambda _: True
    """Whether what was made first has taken effect."""
    then: Callable[[Namespace], None] = lambda _: None
    """What is done once it was submitted."""
    undo: Callable[[Namespace], None] = lambda _: None
    """What is done at the end, so that the namespace can go."""
    note: str = ""
    """Tells cases of one cause apart."""

    def runtime(self, namespace: Namespace) -> ClusterTrainingRuntime:
        """What the TrainJob runs on."""
        wire = catalog.get("torch-distributed").to_wire()
        template = wire["spec"]["template"]
        template["metadata"] = {"labels": dict(self.labels)} if self.labels else {}
        (job,) = template["spec"]["replicatedJobs"]
        spec = job["template"]["spec"]
        pod = spec["template"]["spec"]
        (container,) = pod["containers"]
        container.pop("resources", None)
        container |= {"image": base_image.NAME, "command": EVER, **self.container}
        spec["backoffLimit"] = 0
        spec |= self.job
        pod |= {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **self.pod}
        template["spec"] |= self.jobset
        if self.first:
            job["dependsOn"] = [{"name": "first", "status": "Complete"}]
            template["spec"]["replicatedJobs"].insert(0, _first(pod, self.first))
        return ClusterTrainingRuntime.from_wire(json.loads(_in(namespace, wire)))

    @contextmanager
    def made(self, namespace: Namespace) -> Iterator[None]:
        """With what has to be there before it is submitted."""
        for each in self.before:
            namespace.kubectl("apply", "-f", "-", given=_in(namespace, each))
            if each["kind"] == "Job":
                eventually(lambda: is_suspended(namespace))
        listed = {"apiVersion": "v1", "kind": "List", "items": list(self.before)}
        text = _in(namespace, listed)
        try:
            yield
        finally:
            self.undo(namespace)
            if self.before:
                namespace.kubectl(
                    "delete", "--wait=false", "--ignore-not-found", "-f", "-", given=text
                )


def _in(namespace: Namespace, value: JSON) -> str:
    """A value as JSON, with the names of the namespace and of the node."""
    text = json.dumps(value).replace("{ns}", namespace.name)
    if "{node}" in text:
        (node,) = namespace.all("nodes")
        addresses = {each["type"]: each["address"] for each in node["status"]["addresses"]}
        text = text.replace("{node}", addresses["InternalIP"])
    return text


def _first(pod: JSON, container: JSON) -> JSON:
    """A step like the one that trains, for another container."""
    made = {"name": "first", "image": base_image.NAME, **container}
    return {
        "name": "first",
        "template": {"spec": {"template": {"spec": {**pod, "containers": [made]}}}},
    }


def quota(**hard: str) -> JSON:
    spec = {"hard": {key.replace("__", "/").replace("_", "."): hard[key] for key in hard}}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small"},
        "spec": spec,
    }


def is_counted(namespace: Namespace) -> bool:
    """Whether the quota is in force."""
    return all(each.get("status", {}).get("hard") for each in namespace.all("resourcequotas"))


def is_suspended(namespace: Namespace) -> bool:
    """Whether the controller manager has seen the Job.

    A quota made before it may miss the Job in both its counts, by admission and by the quota
    controller, and is not counted again for five minutes (3 of 12 on a quiet machine).
    """
    (found,) = namespace.all("jobs")
    return any(each["type"] == "Suspended" for each in found["status"].get("conditions", ()))


def volume(**source: Any) -> JSON:
    """Fields of a PodSpec with a volume."""
    return {"volumes": [{"name": "data", **source}]}


MOUNTED: Final[JSON] = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
OF_NAMESPACE: Final[JSON] = {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}}


def rules(kind: str) -> list[JSON]:
    group = "batch" if kind == "jobs" else ""
    return [
        {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [kind]}
    ]


def policy(kind: str) -> tuple[JSON, ...]:
    api = "admissionregistration.k8s.io/v1"
    matches = {"namespaceSelector": OF_NAMESPACE, "resourceRules": rules(kind)}
    denies = [{"expression": "false", "message": "none of these on Sundays"}]
    return (
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "{ns}"},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": matches,
                "validations": denies,
            },
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "{ns}"},
            "spec": {
                "policyName": "{ns}",
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": OF_NAMESPACE},
            },
        },
    )


def is_denied(namespace: Namespace) -> bool:
    """Whether the policy is in force."""
    tried = ("create", "job", "try", "--image=none", "--dry-run=server")
    try:
        namespace.kubectl(*tried)
    except AssertionError as error:
        return "Sundays" in str(error)
    return False


def webhook(kind: str) -> JSON:
    """One whose service is not there."""
    hook = {
        "name": "red.hook.example",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "namespaceSelector": OF_NAMESPACE,
        "rules": rules(kind),
        "clientConfig": {"service": {"name": "nope", "namespace": "{ns}"}},
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "{ns}"},
        "webhooks": [hook],
    }


PRIORITY: Final[JSON] = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "{ns}"},
    "value": 1,
}
"""Above that of all other pods; who asks for nothing but a port takes no other pod's place."""


def runtime_class(handler: str) -> JSON:
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "{ns}"},
        "handler": handler,
    }


def job(name: str) -> JSON:
    """A Job that is somebody else's, and never runs."""
    container = {"name": "node", "image": base_image.NAME}
    pod = {"restartPolicy": "Never", "containers": [container]}
    spec = {"suspend": True, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


PORT: Final = 31917
"""Of the node; two pods cannot have it, and nothing else of the tests has."""


def preempt(namespace: Namespace) -> None:
    """A pod of higher priority that wants the same port, once the run has it."""
    eventually(
        lambda: [each["status"].get("phase") for each in namespace.all("pods")] == ["Running"]
    )
    container = {
        "name": "node",
        "image": base_image.NAME,
        "command": EVER,
        "ports": [{"containerPort": PORT, "hostPort": PORT}],
    }
    spec = {
        "priorityClassName": namespace.name,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "higher"}, "spec": spec}
    namespace.kubectl("apply", "-f", "-", given=json.dumps(pod))


LISTEN: Final = """
import socket
taken = socket.create_server(("", 31918))
kept = []
while True:
    kept.append(taken.accept())
"""
REGISTRY: Final[JSON] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "registry"},
    "spec": {
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "registry",
                "image": base_image.NAME,
                "command": ["python3", "-c", LISTEN],
                "readinessProbe": {"tcpSocket": {"port": 31918}, "periodSeconds": 1},
            }
        ],
    },
}
"""Takes connections and never answers."""


def is_listening(namespace: Namespace) -> bool:
    (pod,) = namespace.all("pods")
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def suspend(namespace: Namespace) -> None:
    namespace.kubectl("patch", "jobset", "tj", "--type=merge", "-p", '{"spec":{"suspend":true}}')


def delete(namespace: Namespace) -> None:
    """Delete the JobSet, which a finalizer holds."""
    held = '{"metadata":{"finalizers":["example.com/hold"]}}'
    namespace.kubectl("patch", "jobset", "tj", "--type=merge", "-p", held)
    namespace.kubectl("delete", "jobset", "tj", "--wait=false")


def release(namespace: Namespace) -> None:
    free = '{"metadata":{"finalizers":[]}}'
    namespace.kubectl("patch", "jobset", "tj", "--type=merge", "-p", free)


def interrupt(namespace: Namespace) -> None:
    """As a killed `up` leaves it: the record, and nothing that says that all was submitted."""
    empty = json.dumps({"data": {names.RECORD_STATUS_KEY: "{}"}})
    namespace.kubectl("delete", "jobset", "tj")
    record = f"configmap/tj{names.SNAPSHOT_SUFFIX}"
    namespace.kubectl("patch", record, "--type=merge", "-p", empty)


def init(command: list[str], **more: Any) -> JSON:
    """Fields of a PodSpec with an init container."""
    container = {"name": "early", "image": base_image.NAME, "command": command, **more}
    return {"initContainers": [container]}


FAILS: Final = ["sh", "-c", "exit 11"]
NEVER: Final = {"tcpSocket": {"port": 1}, "failureThreshold": 1000}
"""A probe without which a sidecar has started, and its pod goes on, once the kubelet saw it run."""
SECRET: Final = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "nope", "key": "k"}}}]
SMALL: Final = {"requests": {"cpu": "10m"}, "limits": {"cpu": "10m"}}
LIMITS: Final[JSON] = {
    "apiVersion": "v1",
    "kind": "LimitRange",
    "metadata": {"name": "small"},
    "spec": {"limits": [{"type": "Container", "max": {"cpu": "5m"}}]},
}
CLAIM: Final[JSON] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "storageClassName": "",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
RESTRICTED: Final[JSON] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": "{ns}", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}

CASES: Final = (
    Case(Cause.SUBMIT, "was interrupted", then=interrupt),
    Case(Cause.DELETION, "example.com/hold", then=delete, undo=release),
    Case(Cause.SUSPENDED, "a resume: its JobSet was suspended", then=suspend),
    Case(
        Cause.QUEUE_CLOSED,
        "to queue nope, but this cluster has no Kueue",
        labels={QUEUE: "nope"},
        then=suspend,
    ),
    Case(
        Cause.IMAGE,
        "trainer-infra.invalid/nobody/has:1",
        container={"image": "trainer-infra.invalid/nobody/has:1"},
    ),
    Case(Cause.OBJECT_MISSING, 'secret "nope" not found', container={"env": SECRET}, note="env"),
    Case(
        Cause.OBJECT_MISSING,
        'configmap "nope" not found',
        pod=volume(configMap={"name": "nope"}),
        container=MOUNTED,
        note="volume",
    ),
    Case(
        Cause.CONTAINER_CANNOT_START,
        "runAsNonRoot",
        container={"securityContext": {"runAsNonRoot": True}},
    ),
    Case(
        Cause.SIDECAR_CRASH_LOOP,
        "container early fails again and again, last with exit code 11",
        pod=init(FAILS, restartPolicy="Always", startupProbe=NEVER),
    ),
    Case(
        Cause.INVALID,
        'volumeMounts[0].name: Not found: "data"',
        container=MOUNTED,
    ),
    Case(
        Cause.QUOTA_TOO_SMALL,
        "exceeded quota: small, requested: count/jobs.batch=1",
        before=(quota(count__jobs_batch="0"),),
        ready=is_counted,
        note="jobs",
    ),
    Case(
        Cause.QUOTA_TOO_SMALL,
        "the run needs 2 at a time",
        before=(quota(pods="1"),),
        ready=is_counted,
        nodes=2,
        note="pods",
    ),
    Case(
        Cause.QUOTA_USED_UP,
        "used: count/jobs.batch=1",
        before=(job("first"), quota(count__jobs_batch="1")),
        ready=is_counted,
    ),
    Case(
        Cause.QUOTA_UNANSWERED,
        "must specify requests.cpu for: node",
        before=(quota(requests_cpu="1"),),
        ready=is_counted,
    ),
    Case(
        Cause.LIMIT_RANGE,
        "maximum cpu usage per Container is 5m",
        container={"resources": SMALL},
        before=(LIMITS,),
    ),
    Case(Cause.POD_SECURITY, 'violates PodSecurity "restricted', before=(RESTRICTED,)),
    Case(
        Cause.SERVICE_ACCOUNT_MISSING,
        'serviceaccount "nope" not found',
        pod={"serviceAccountName": "nope"},
    ),
    Case(
        Cause.PRIORITY_CLASS_MISSING,
        "no PriorityClass with name nope",
        pod={"priorityClassName": "nope"},
    ),
    Case(
        Cause.RUNTIME_CLASS_MISSING,
        'RuntimeClass "nope" not found',
        pod={"runtimeClassName": "nope"},
    ),
    Case(
        Cause.POLICY,
        "none of these on Sundays",
        before=policy("jobs"),
        ready=is_denied,
    ),
    Case(
        Cause.WEBHOOK_UNAVAILABLE,
        'failed calling webhook "red.hook.example"',
        before=(webhook("jobs"),),
        note="jobs",
    ),
    Case(
        Cause.WEBHOOK_UNAVAILABLE,
        'failed calling webhook "red.hook.example"',
        before=(webhook("pods"),),
        note="pods",
    ),
    Case(Cause.NAME_TAKEN, '"tj-node-0" already exists', before=(job("tj-node-0"),)),
    Case(
        Cause.NOT_CREATED,
        "the integer value of priority (5) must not be provided",
        pod={"priority": 5},
    ),
    Case(
        Cause.CLAIM_MISSING,
        'persistentvolumeclaim "nope" not found',
        pod=volume(persistentVolumeClaim={"claimName": "nope"}),
    ),
    Case(
        Cause.CLAIM_UNBOUND,
        "claim data: no persistent volumes available",
        pod=volume(persistentVolumeClaim={"claimName": "data"}),
        before=(CLAIM,),
    ),
    Case(
        Cause.PREEMPTED,
        "before it was preempted: Preempted by pod",
        container={"ports": [{"containerPort": PORT, "hostPort": PORT}]},
        job={"backoffLimit": 6},
        before=(PRIORITY,),
        then=preempt,
    ),
    Case(
        Cause.UNSCHEDULABLE,
        "didn't match Pod's node affinity/selector",
        pod={"nodeSelector": {"a": "b"}},
    ),
    Case(
        Cause.SCHEDULING_GATE,
        "the controller that removes scheduling gate example.com/hold",
        pod={"schedulingGates": [{"name": "example.com/hold"}]},
    ),
    Case(
        Cause.SCHEDULER_SILENT,
        "nobody has said nothing of pod tj-node-0-0-",
        pod={"schedulerName": "nobody"},
    ),
    Case(
        Cause.CRASH_LOOP,
        "container node fails again and again, last with exit code 11",
        pod={"restartPolicy": "OnFailure"},
        container={"command": FAILS},
        job={"backoffLimit": 50},
    ),
    Case(
        Cause.NEXT_POD,
        "the next pod of node after pod tj-node-0-0-",
        container={"command": FAILS},
        job={"backoffLimit": 6},
    ),
    Case(
        Cause.SIDE_CONTAINER,
        "container node ended with 0; late keeps the pod",
        pod={
            "containers": [
                {"name": "node", "image": base_image.NAME, "command": ["true"]},
                {"name": "late", "image": base_image.NAME, "command": EVER},
            ]
        },
    ),
    Case(
        Cause.MOUNT,
        "/nope/nope is not a directory",
        pod=volume(hostPath={"path": "/nope/nope", "type": "Directory"}),
        container=MOUNTED,
    ),
    Case(
        Cause.SANDBOX,
        'no runtime for "nope" is configured',
        pod={"runtimeClassName": "{ns}"},
        before=(runtime_class("nope"),),
    ),
    Case(
        Cause.IMAGE_PULLED,
        "pulling image",
        container={"image": "{node}:31918/a/b:1"},
        before=(REGISTRY,),
        ready=is_listening,
    ),
    Case(
        Cause.INITIALIZING,
        "init container early of pod tj-node-0-0-",
        pod=init(EVER),
    ),
    Case(
        Cause.STARTING,
        "containers of pod tj-node-0-0-",
        container={"lifecycle": {"postStart": {"exec": {"command": EVER}}}},
    ),
    Case(
        Cause.EARLIER_STEP,
        "node waits for first",
        first={"command": EVER},
    ),
    Case(
        Cause.JOBSET_CONTROLLER_SILENT,
        "example.com/nobody has done nothing with its JobSet since",
        jobset={"managedBy": "example.com/nobody"},
    ),
)
