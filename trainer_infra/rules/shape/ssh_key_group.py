"""ssh-key-group: the SSH key of an MPI job that runs as root is readable for root alone.

Where a pod has an fsGroup, the kubelet makes each file of a Secret volume readable for that group (Kubernetes,
"Configure volume permission"); ssh takes no key of its own user that others may read (OpenSSH, sshkey_perm_ok).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.plugins import mpi
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_FIX: Final = "leave it out, or set runAsUser to another user than root"


def _check(jobset: Value, context: Context[Parameters]) -> Iterator[Finding]:
    policy = context.subject.ml_policy["mpi"]
    if not policy.is_there():
        return
    path = policy["sshAuthMountPath"].text() or mpi.MOUNT_PATH
    for job in jobset["replicatedJobs"].items():
        pod = job.at("template", "spec", "template", "spec")
        group = pod.at("securityContext", "fsGroup")
        if job["name"].text() not in {names.LAUNCHER, names.NODE} or not group.is_there():
            continue
        for container in pod["containers"].items():
            own = container.at("securityContext", "runAsUser").number()
            user = pod.at("securityContext", "runAsUser").number() if own is None else own
            if container["name"].text() == names.NODE and mpi.is_roots_key(user, path):
                what = "makes the SSH key readable for a group, and ssh ignores such a key as root"
                yield group.finding(what, group.raw, _FIX)


RULE: Final = Rule(
    id="ssh-key-group",
    title="The SSH key of root is readable for root alone",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES | {names.TRAIN_JOB},
    tags=("shape", "mpi", "ssh"),
    why=(
        "With fsGroup the kubelet makes the key readable for that group. ssh ignores a key of its own "
        "user that others may read, so mpirun reaches no node: the launcher fails once all nodes wait."
    ),
    fix="Leave out fsGroup of the pods, or run them as another user than root.",
    places=pods.jobsets,
    check=_check,
)
