"""Files that policy is measured on.

`runtime_and_job` is what a check meets in a folder that is in order: a TrainJob with the runtime that it
runs on; one in ten has mistakes. `job_on_shipped_runtime` has ten findings each, as TrainJobs on a runtime
of the catalog have. `two_jobs` is for a checker that knows no kinds but those of Kubernetes.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

TEAMS: Final = 50
_ONE_IN: Final = 10
_RUNTIMES: Final = (
    "torch-distributed",
    "jax-distributed",
    "deepspeed-distributed",
    "xgboost-distributed",
)
_POD: Final = """\
              spec:
                automountServiceAccountToken: false
                restartPolicy: OnFailure
                securityContext:
                  runAsNonRoot: true
                  runAsUser: 1000
                  seccompProfile:
                    type: RuntimeDefault
                containers:
                - name: node
                  image: {image}
                  securityContext:
                    allowPrivilegeEscalation: false
                    privileged: {privileged}
                    readOnlyRootFilesystem: true
                    capabilities:
                      drop:
                      - ALL
                  volumeMounts:
                  - name: shm
                    mountPath: /dev/shm
                  - name: results
                    mountPath: /results
                volumes:
                - name: shm
                  emptyDir:
                    medium: Memory
                - name: results
                  persistentVolumeClaim:
                    claimName: results-{team}
"""
_RUNTIME: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: torch-{index}
  namespace: team-{team}
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 1
    torch: {{}}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            backoffLimit: 0
            template:
"""
_NODES: Final = """\
    numNodes: {nodes}
    env:
    - name: DATA
      value: s3://bucket-{team}/data
    resourcesPerNode:
      limits:
        cpu: "16"
        memory: 128Gi
        nvidia.com/gpu: 8
"""
_JOB_ON_IT: Final = """\
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job-{index}
  namespace: team-{team}
  labels:
    kueue.x-k8s.io/queue-name: team-{team}
  annotations:
    trainer-infra.dev/ttl-seconds-after-finished: "86400"
spec:
  runtimeRef:
    kind: TrainingRuntime
    name: torch-{index}
  activeDeadlineSeconds: 86400
  trainer:
    command: ["python", "-m", "train", "--lr", "0.{index}", "--output_dir", "/results/{index}"]
"""
_JOB: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job-{index}
  namespace: team-{team}
  labels:
    kueue.x-k8s.io/queue-name: team-{team}
spec:
  runtimeRef:
    name: {runtime}
  activeDeadlineSeconds: 86400
  trainer:
    image: registry.example.com/team-{team}/train:v{index}
    command: ["python", "-m", "train", "--lr", "0.{index}"]
"""
_JOB_OF_KUBERNETES: Final = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}-{index}
  namespace: team-{team}
  labels:
    kueue.x-k8s.io/queue-name: team-{team}
spec:
  backoffLimit: 0
  parallelism: {nodes}
  activeDeadlineSeconds: 86400
  template:
"""


def write_files(folder: Path, count: int, text: Callable[[int], str]) -> Path:
    """A folder with a file for each number below `count`, in folders of teams.

    Args:
        folder: it is made.
        count: how many.
        text: a file's text by its number.
    """
    for index in range(count):
        file = file_of(folder, index)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text(index))
    return folder


def file_of(folder: Path, index: int) -> Path:
    """The file with that number."""
    return folder / f"team-{index % TEAMS}" / f"job-{index}.yaml"


def runtime_and_job(index: int) -> str:
    """A runtime that `restricted` has nothing against, and a TrainJob on it; one in ten has mistakes."""
    values = {"index": index, "team": index % TEAMS, "nodes": 1 + index % 8}
    return (
        _RUNTIME.format(**values)
        + _POD.format(**_of_pod(index), **values)
        + (_JOB_ON_IT + _NODES).format(**values)
    )


def job_on_shipped_runtime(index: int) -> str:
    """A TrainJob on a runtime of the catalog."""
    values = {"index": index, "team": index % TEAMS, "nodes": 1 + index % 8}
    return (_JOB + _NODES).format(runtime=_RUNTIMES[index % len(_RUNTIMES)], **values)


def two_jobs(index: int) -> str:
    """Two Jobs of Kubernetes with the same pods."""
    values = {"index": index, "team": index % TEAMS, "nodes": 1 + index % 8}
    pod = _POD.format(**_of_pod(index), **values).replace("\n          ", "\n")
    jobs = (_JOB_OF_KUBERNETES.format(name=name, **values) for name in ("train", "evaluate"))
    return "---\n".join(f"{job}    {pod.lstrip()}" for job in jobs)


def _of_pod(index: int) -> dict[str, str]:
    name, is_wrong = f"registry.example.com/team-{index % TEAMS}/train", index % _ONE_IN == 0
    digest = hashlib.sha256(str(index).encode()).hexdigest()
    return {
        "image": f"{name}:latest" if is_wrong else f"{name}@sha256:{digest}",
        "privileged": "true" if is_wrong else "false",
    }
