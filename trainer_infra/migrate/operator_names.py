"""Names that only the v1 operators make: of pods, of their labels, and of what they mount.

Facts: the training operator v1.9 (labels, a Service for each pod, the volumes of MPIJob v1), the operators
before it (their labels), and the MPI operator v0.6 (volumes, Secret, ConfigMap, host names).
"""

import re
from collections.abc import Container, Iterator
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.migrate.migration import V1Job

MASTER: Final = "master"
WORKER: Final = "worker"
MADE: Final = (
    ("-ssh", names.SSH_AUTH_SUFFIX, ("secretName",), ("secret", "secretRef", "secretKeyRef")),
    ("-config", names.HOSTFILE_SUFFIX, (), ("configMap", "configMapRef", "configMapKeyRef")),
)
"""Objects that the MPI operators make: suffix in v1 and in v2, and the fields that name one."""
_NOT_A_HOST: Final = re.compile(r"hostname|HOSTNAME|POD_NAME|kubectl|uname|platform\.node")
"""In a text that compares the name of a pod, or asks the API server for it, that is not an address."""
_OWN_HOST: Final = re.compile(
    r"(?:\$\(|`)hostname(?!\s+-[iI])|\bhostname\s*(?:-[fs]\s*)?\||(?<!\w)HOSTNAME(?!\w)|gethostname|"
    r"uname -n|nodename|platform\.node"
)
_KINDS: Final = re.compile(r"(?<![\w-])(?:pytorch|xgboost|mpi|jax)jobs?(?![\w-])", re.IGNORECASE)
_SCRIPT: Final = re.compile(r"/etc/mpi/(?!hostfile\b)\w|discover_hosts|kubexec|/opt/kube\b")
_SCRIPT_ADVICE: Final = (
    "names a script that v2 does not write: the nodes of a run do not change, and stand in "
    "/etc/mpi/hostfile; start them with that file, and without the options of elastic training"
)
_LABELS: Final = r"(?:job[-_](?:name|role)|role[-_]type|replica[-_](?:index|type)|operator-name)"
_PREFIXES: Final = r"training\.kubeflow\.org/|(?:pytorch|xgboost|mpi)[-_]"
_LABEL: Final = re.compile(rf"({_PREFIXES})?({_LABELS})")
_MENTIONED: Final = re.compile(rf"(?<![\w.-])(?:{_PREFIXES}){_LABELS}|training_kubeflow_org_\w+")
"""The labels in any text: Prometheus writes them with _ for every other character."""


def label_name(key: str, own: Container[str]) -> str | None:
    """The name that the last operator gives a label of pods, such as `job-name`; None for any other.

    The first operators wrote it without a prefix; such a label may be one of the pods' `own`.
    """
    found = _LABEL.fullmatch(key)
    if found is None or (not found[1] and key in own):
        return None
    name = found[2].replace("_", "-")
    return "job-role" if name == "role-type" else name


def with_hosts(job: V1Job, leaf: Any) -> Any:
    """A text with the host names of v2 for those of a job; anything else as it is."""
    if not isinstance(leaf, str) or _NOT_A_HOST.search(leaf):
        return leaf
    # A pod's name with its number, and the Service of v1 that may stand behind it.
    name = re.escape(job.name)
    pods = rf"(?:-(?P<role>{MASTER}|{WORKER})-(?P<index>\d+)|-{names.LAUNCHER})(?![\w-])"
    hosts = rf"(?<![\w.-]){name}{pods}(?:\.{name}(?:-{WORKER})?(?![\w-]))?"
    return re.sub(hosts, partial(_host, job), leaf)


def _host(job: V1Job, found: re.Match[str]) -> str:
    role = found["role"] or names.LAUNCHER
    if role not in job.replicas:
        return found[0]
    if role == names.LAUNCHER:
        return job.host(job=names.LAUNCHER)
    return job.host(int(found["index"]) + (job.masters if role == WORKER else 0))


def mentions(job: V1Job) -> Iterator[tuple[re.Pattern[str], str]]:
    """What a text may still name of a job that v2 does not have, pods first, and what a note says of it."""
    name, new = re.escape(job.name), f"{job.name}-{names.NODE}-0-<index>"
    # A name that goes on behind the number is that of something else; one may be put together.
    roles = rf"(?:(?:{MASTER}|{WORKER})-(?!\d+[\w-])|{names.LAUNCHER}(?!-\d))"
    made = rf"(?:[)}}]|\$\w+)-(?:{MASTER}|{WORKER}|{names.LAUNCHER})\b"
    pods = re.compile(rf"(?<![\w-]){name}-{roles}|{made}")
    yield pods, f"names a v1 pod; the pods of v2 are {job.host()} and so on"
    labels = f"{names.JOBSET_NAME_LABEL}, {names.REPLICATED_JOB_LABEL}, {names.COMPLETION_INDEX}"
    yield _MENTIONED, f"names a label that only v1 wrote; the pods of v2 have {labels}"
    yield _OWN_HOST, f"reads the host name, which is {new} in v2"
    yield _KINDS, f"names a kind of v1; that of v2 is {names.TRAIN_JOB} of {names.GROUP}"
    if job.is_mpi:
        yield _SCRIPT, _SCRIPT_ADVICE
        objects = " and ".join(f"{job.name}{suffix}" for _, suffix, *_ in MADE)
        old = re.compile(rf"(?<![\w-]){name}-(?:ssh|config)(?![\w-])")
        yield old, f"names an object that only v1 made; those of v2 are {objects}"
