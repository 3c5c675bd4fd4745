"""What this target says it cannot run, field by field."""

from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.local import unsupported_fields
from trainer_infra.render import pipeline

POD = "spec.replicatedJobs[0].template.spec.template.spec"


def objects(pod: dict[str, Any], *others: dict[str, Any]) -> list[dict[str, Any]]:
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    jobset = {
        "kind": "JobSet",
        "metadata": {"name": "tj"},
        "spec": {"replicatedJobs": [job]},
    }
    return [*others, jobset]


def said(pod: dict[str, Any], *others: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in unsupported_fields.unsupported_here(objects(pod, *others))]


def test_a_container_without_a_command_cannot_run() -> None:
    assert said({"containers": [{"name": "node", "args": ["x"]}]}) == [
        (
            f"JobSet tj: {POD}.containers[0].command: is missing: the entrypoint of an image cannot "
            "run on this machine; set the command, for example spec.trainer.command of the TrainJob"
        )
    ]


def test_every_problem_is_named_in_the_order_of_the_fields() -> None:
    pod = {
        "initContainers": [
            {"name": "i", "command": ["x"], "envFrom": [{"secretRef": {"name": "none"}}]}
        ],
        "containers": [
            {
                "name": "node",
                "command": ["x"],
                "volumeMounts": [{"name": "lost", "mountPath": "/x"}],
                "readinessProbe": {"grpc": {"port": 1}},
                "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "z"}}}],
            }
        ],
        "volumes": [
            {"name": "n", "nfs": {"server": "s", "path": "/"}},
            {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        ],
    }
    config = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}}

    assert said(pod, config) == [
        (
            f"JobSet tj: {POD}.volumes[0].nfs: cannot be a folder on this machine; use a "
            "persistentVolumeClaim, hostPath or emptyDir, which are folders here"
        ),
        (
            f"JobSet tj: {POD}.volumes[1].projected.sources[0].serviceAccountToken: cannot be made on "
            "this machine; leave it out for this target"
        ),
        (
            f"JobSet tj: {POD}.initContainers[0].envFrom[0].secretRef.name: names a Secret that is not "
            "among the job's objects, got 'none'; declare the Secret with the TrainJob, or mark the "
            "reference optional"
        ),
        (
            f"JobSet tj: {POD}.containers[0].volumeMounts[0].name: names a volume that the pod does "
            "not have, got 'lost'"
        ),
        (
            f"JobSet tj: {POD}.containers[0].readinessProbe.grpc: cannot be probed on this machine; "
            "use exec, tcpSocket or httpGet"
        ),
        (
            f"JobSet tj: {POD}.containers[0].env[0].valueFrom.configMapKeyRef: names a key that "
            "ConfigMap c does not have, got 'z'; declare the ConfigMap with the TrainJob, or mark the "
            "reference optional"
        ),
    ]


def test_what_changes_no_result_is_no_problem() -> None:
    pod = {
        "hostNetwork": True,
        "nodeSelector": {"gpu": "h100"},
        "containers": [
            {
                "name": "node",
                "command": ["x"],
                "image": "any",
                "securityContext": {"privileged": True},
                "resources": {"limits": {"nvidia.com/gpu": 8}},
                "envFrom": [{"configMapRef": {"name": "none", "optional": True}}],
                "volumeMounts": [{"name": "e", "mountPath": "/e"}],
            }
        ],
        "volumes": [{"name": "e", "emptyDir": {"medium": "Memory"}}],
    }

    assert said(pod) == []


@pytest.mark.parametrize(
    ("runtime", "secret"),
    [("deepspeed-distributed", "tj-mpi-ssh-auth"), ("flux-distributed", "tj-flux-curve")],
)
def test_mpi_and_flux_are_refused_with_one_sentence(runtime: str, secret: str) -> None:
    job = TrainJob.from_wire(
        {
            "apiVersion": names.API_VERSION,
            "kind": "TrainJob",
            "metadata": {"name": "tj"},
            "spec": {"runtimeRef": {"name": runtime}},
        }
    )
    rendered = pipeline.render(job, catalog.get(runtime))
    assert [str(problem) for problem in unsupported_fields.unsupported_here(rendered)] == [
        (
            f"Secret {secret}: data: holds keys by which pods reach one another (MPI over SSH, "
            "Flux), but the pods of this target are processes of one machine; run the job on "
            "Kubernetes, or on a runtime with torch, jax or xgboost"
        )
    ]
