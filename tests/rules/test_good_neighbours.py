"""What looks like a forbidden thing and is none: rules of machines, quotas and volumes say nothing of it."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool

POOLS = (Pool(name="gpu", nodes=4, capacity={"nvidia.com/gpu": 8}, labels={"zone": "a"}),)


def jobset(pod: str, *, nodes: int = 4, more: str = "", labels: str = "{}") -> str:
    """A JobSet of several pods, each with this PodSpec."""
    return f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: digits, namespace: vision, labels: {labels}}}
spec:
  replicatedJobs:
  - name: node
    template:
      spec: {{parallelism: {nodes}, completions: {nodes}, {more} template: {{spec: {pod}}}}}
"""


def found(text: str, rules: Sequence[str], *, is_whole: bool = True) -> list[tuple[str, str]]:
    """What these rules say of all objects of the text."""
    objects: list[Any] = [each for each in yaml.safe_load_all(text) if each]
    subjects = tree.subjects_of(objects)
    around = world.world_of(subjects, POOLS, is_whole=is_whole)
    chosen = [ConfiguredRule.default(each) for each in RULES if each.id in rules]
    assert len(chosen) == len(rules)
    return [
        (verdict.chosen.rule.id, finding.what)
        for subject in subjects
        for verdict in judge(subject, around, chosen)
        for finding in verdict.findings
    ]


NODE = (
    "{name: node, image: registry.example.com/train:v7, resources: {limits: {nvidia.com/gpu: 8}}}"
)
CLAIM = """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: photos, namespace: vision}
spec: {accessModes: [%s], storageClassName: %s}
"""
MOUNTED = (
    "{volumes: [{name: data, %s}], containers: [{name: node, "
    "env: [{name: OUTPUT_DIR, value: /data}], volumeMounts: [{name: data, mountPath: /data}]}]}"
)
PHOTOS = "persistentVolumeClaim: {claimName: photos}"
GOOD = {
    "an affinity that prefers the control plane to nothing": (
        jobset(
            "{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
            "[{weight: 1, preference: {matchExpressions: "
            "[{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}}]}}, "
            f"containers: [{NODE}]}}"
        ),
        ("control-plane", "pinned-nodes", "tolerates-everything"),
    ),
    "a daemon that must be everywhere": (
        """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: plugin, namespace: kube-system}
spec:
  template:
    spec:
      priorityClassName: system-node-critical
      tolerations: [{operator: Exists}]
      containers: [{name: plugin, image: registry.example.com/plugin:1}]
""",
        ("control-plane", "tolerates-everything", "priority-class"),
    ),
    "one of two zones by affinity": (
        jobset(
            "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, "
            "values: [spot]}]}, {matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}, "
            f"containers: [{NODE}]}}"
        ),
        ("preemptible-checkpoints", "pinned-nodes"),
    ),
    "spot or on demand": (
        jobset(
            "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "{nodeSelectorTerms: [{matchExpressions: [{key: karpenter.sh/capacity-type, operator: In, "
            f"values: [spot, on-demand]}}]}}]}}}}}}, containers: [{NODE}]}}"
        ),
        ("preemptible-checkpoints",),
    ),
    "a toleration of spot machines alone": (
        jobset(
            "{tolerations: [{key: cloud.google.com/gke-spot, operator: Exists}], "
            f"containers: [{NODE}]}}"
        ),
        ("preemptible-checkpoints", "tolerates-everything"),
    ),
    "pods that prefer machines of their own": (
        jobset(
            "{affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
            "podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {}}}]}}, "
            "containers: [{name: node, resources: {limits: {nvidia.com/gpu: 1}}}]}",
            nodes=8,
        ),
        ("gang-fits",),
    ),
    "pods that avoid those of others": (
        jobset(
            "{affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: other}}}]}}, "
            "containers: [{name: node, resources: {limits: {nvidia.com/gpu: 1}}}]}",
            nodes=8,
        ),
        ("gang-fits",),
    ),
    "a spread that Kubernetes may give up": (
        jobset(
            "{topologySpreadConstraints: [{topologyKey: kubernetes.io/hostname, maxSkew: 1, "
            "whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}], "
            "containers: [{name: node, resources: {limits: {nvidia.com/gpu: 1}}}]}",
            nodes=8,
        ),
        ("gang-fits",),
    ),
    "a claim of many machines": (
        jobset(MOUNTED % PHOTOS) + CLAIM % ("ReadWriteMany", "filestore"),
        ("shared-claim", "persistent-output"),
    ),
    "a claim that each pod has": (
        jobset(
            "{volumes: [{name: data, ephemeral: {volumeClaimTemplate: {spec: {accessModes: "
            "[ReadWriteOnce]}}}}], containers: [{name: node, volumeMounts: [{name: data, mountPath: /data}]}]}"
        ),
        ("shared-claim",),
    ),
    "a disk that all read": (
        jobset(
            MOUNTED.replace("OUTPUT_DIR", "HOME") % "gcePersistentDisk: {pdName: x, readOnly: true}"
        ),
        ("shared-claim",),
    ),
    "a claim of one machine that nobody mounts": (
        jobset(f"{{volumes: [{{name: data, {PHOTOS}}}], containers: [{NODE}]}}")
        + CLAIM % ("ReadWriteOnce", "gp3"),
        ("shared-claim",),
    ),
    "raw disks that several machines attach": (
        jobset(MOUNTED.replace("OUTPUT_DIR", "HOME") % PHOTOS)
        + CLAIM % ("ReadWriteMany", "gp3, volumeMode: Block"),
        ("shared-claim",),
    ),
    "data that is only read beside results that are kept": (
        jobset(
            "{volumes: [{name: data, configMap: {name: x}}, {name: out, persistentVolumeClaim: "
            "{claimName: results}}], containers: [{name: node, env: [{name: OUTPUT_DIR, value: /data/out}], "
            "volumeMounts: [{name: data, mountPath: /data, readOnly: true}, {name: out, mountPath: /data/out}]}]}"
        ),
        ("persistent-output",),
    ),
    "what a LimitRange adds to containers": (
        jobset("{containers: [{name: node, resources: {limits: {nvidia.com/gpu: 8}}}]}")
        + """
---
apiVersion: v1
kind: LimitRange
metadata: {name: usual, namespace: vision}
spec: {limits: [{type: Container, default: {cpu: 8, memory: 64Gi}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all, namespace: vision}
spec: {hard: {requests.cpu: 64, limits.memory: 1Ti}}
""",
        ("cpu-memory-set", "gpu-quota"),
    ),
    "a quota of another priority": (
        jobset(f"{{priorityClassName: low, containers: [{NODE}]}}")
        + """
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: high, namespace: vision}
spec:
  hard: {pods: 1}
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}
""",
        ("gpu-quota",),
    ),
    "a quota of pods with a deadline of their own": (
        jobset(f"{{containers: [{NODE}]}}", more="activeDeadlineSeconds: 60,")
        + """
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: short, namespace: vision}
spec: {hard: {pods: 1}, scopes: [Terminating]}
""",
        ("gpu-quota",),
    ),
    "an init container that tests the GPUs": (
        jobset(
            "{initContainers: [{name: test, resources: {limits: {nvidia.com/gpu: 8}}}], "
            f"containers: [{NODE}]}}"
        ),
        ("helper-gpus",),
    ),
    "a model that is served beside the training": (
        jobset(
            "{containers: [{name: node, resources: {limits: {nvidia.com/gpu: 4}}}, {name: side, "
            "command: [vllm, serve], resources: {limits: {nvidia.com/gpu: 4}}}]}"
        ),
        ("helper-gpus",),
    ),
    "disruptions that are not counted": (
        jobset(
            f"{{restartPolicy: Never, containers: [{NODE}]}}",
            more="podFailurePolicy: {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]}, "
            "{action: FailJob, onExitCodes: {operator: In, values: [42]}}, {action: Ignore, onExitCodes: "
            "{operator: In, values: [143]}}]},",
        ),
        ("restarts-bounded",),
    ),
    "a TrainJob whose runtime ends its Jobs": (
        """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: digits, namespace: vision}
spec: {runtimeRef: {name: own}, trainer: {numNodes: 4, resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {activeDeadlineSeconds: 86400, template: {spec: {containers: [{name: node}]}}}
""",
        ("deadline", "endless-gpus"),
    ),
    "a job that Kueue ends": (
        jobset(
            f"{{containers: [{NODE}]}}",
            labels="{kueue.x-k8s.io/queue-name: team, kueue.x-k8s.io/max-exec-time-seconds: '86400'}",
        ),
        ("endless-gpus",),
    ),
    "a queue whose label is not known here": (
        jobset(f"{{containers: [{NODE}]}}", labels="{kueue.x-k8s.io/queue-name: team}")
        + """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: vision}
spec: {clusterQueue: vision}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec: {namespaceSelector: {matchLabels: {team: vision}}, stopPolicy: None}
""",
        ("queue-chain",),
    ),
    "a slice of two machines": (
        jobset(
            "{nodeSelector: {cloud.google.com/gke-tpu-topology: 2x4, cloud.google.com/gke-tpu-accelerator: "
            "tpu-v5-lite-podslice}, containers: [{name: node, resources: {limits: {google.com/tpu: 4}}}]}",
            nodes=2,
        ),
        ("tpu-topology",),
    ),
    "TPUs of which the node pool says the shape": (
        jobset("{containers: [{name: node, resources: {limits: {google.com/tpu: 4}}}]}", nodes=2),
        ("tpu-topology", "endless-gpus"),
    ),
}


@pytest.mark.parametrize(("text", "rules"), GOOD.values(), ids=GOOD.keys())
def test_nothing_is_said_of_a_good_neighbour(text: str, rules: tuple[str, ...]) -> None:
    assert found(text, rules) == []


def test_two_jobs_may_make_up_a_pod_group() -> None:
    mark = "metadata: {labels: {scheduling.x-k8s.io/pod-group: gang}}"
    one = jobset(f"{{containers: [{NODE}]}}", nodes=2).replace("{spec:", f"{{{mark}, spec:")
    group = """
---
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: gang, namespace: vision}
spec: {minMember: 4}
"""
    what = "joins a PodGroup that waits for 4 pods, and the job has 2"
    assert found(one + group, ["gang-fits"]) == [("gang-fits", what)]
    other = "---" + one.replace("name: digits", "name: letters")
    assert found(one + group + other, ["gang-fits"]) == []


@pytest.mark.parametrize(
    ("rule", "is_found"),
    [("{action: Restart, exitCodes: {operator: In, values: [1]}}", True), ("", False)],
)
def test_containers_that_restart_in_their_pod(rule: str, *, is_found: bool) -> None:
    pod = f"{{containers: [{{name: node, restartPolicy: Never, restartPolicyRules: [{rule}]}}]}}"
    what = "restarts the container in its pod, and no backoffLimit counts that"
    expected = [("restarts-bounded", what)] if is_found else []
    assert found(jobset(pod), ["restarts-bounded"]) == expected


@pytest.mark.parametrize("kind", ["persistentVolumeClaim: {claimName: x}", "ephemeral: {}"])
def test_shared_memory_is_no_disk(kind: str) -> None:
    pod = (
        f"{{volumes: [{{name: shm, {kind}}}], containers: [{{name: node, resources: {{limits: "
        "{nvidia.com/gpu: 8}}, volumeMounts: [{name: shm, mountPath: /dev/shm}]}]}"
    )
    what = "is a disk, and must be an emptyDir of medium Memory for what is mounted at /dev/shm"
    assert found(jobset(pod), ["shared-memory"]) == [("shared-memory", what)]


def test_a_launcher_of_mpi_may_train_too() -> None:
    text = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: own, labels: {trainer.kubeflow.org/framework: deepspeed}}
spec:
  mlPolicy: {numNodes: 2, mpi: {runLauncherAsNode: %s}}
  template:
    spec:
      replicatedJobs:
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""
    assert found(text % "true", ["helper-gpus"]) == []
    (told,) = found(text % "false", ["helper-gpus"])
    assert told[1] == "asks for accelerators, and does not compute: this job only starts the others"
