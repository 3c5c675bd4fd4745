"""Rules of admission: what the API server's own validation of pods and Jobs refuses.

Each rule is a part of `k8s.io/kubernetes` `pkg/apis/core/validation` and `pkg/apis/batch/validation`, of v1.34;
what later versions take is no finding. What each demands is a form (api/shape), and one walk along them finds what
is wrong for all rules.
"""

from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape import workloads
from trainer_infra.rules import faults
from trainer_infra.rules.pods import WORKLOADS
from trainer_infra.rules.rule import AnyRule, Finding, Parameters, Rule, Severity

_PODS_REFUSED: Final = "The API server refuses each of the pods, and the job waits for ever."
_JOB_REFUSED: Final = "The API server refuses the Job, or JobSet cannot make it; nothing ever runs."
_WITH_JOBS: Final = names.WITH_PODS | {"Job", "CronJob"}


def _rule(
    name: str,
    title: str,
    fix: str,
    *tags: str,
    why: str = _PODS_REFUSED,
    kinds: frozenset[str] = WORKLOADS,
) -> Rule[Finding, Parameters]:
    return Rule(
        id=name,
        title=title,
        severity=Severity.HIGH,
        kinds=kinds,
        tags=("admission", *tags),
        why=why,
        fix=fix,
        places=partial(faults.findings_of, name),
        check=lambda finding, _context: (finding,),
    )


RULES: Final[tuple[AnyRule, ...]] = (
    _rule(
        "field-types",
        "Fields of pods and Jobs are of the types that the API server reads",
        "Write texts in quotes, and numbers and booleans without.",
        "schema",
        why="The API server cannot read the object, and refuses it as a whole.",
        kinds=WORKLOADS - names.WITH_PODS,
    ),
    _rule(
        "label-syntax",
        "Labels and annotations of pods are ones that Kubernetes can keep",
        "Write values of at most 63 letters, digits, -, _ and ., with a letter or digit at both ends.",
        "metadata",
    ),
    _rule(
        "containers",
        "A pod has containers, with names of their own and policies that there are",
        "Name each container of a pod otherwise, with lower-case letters, digits and -.",
    ),
    _rule(
        "container-ports",
        "Ports of containers are from 1 to 65535 and have names of their own",
        "Write a containerPort from 1 to 65535, and names of at most 15 lower-case letters.",
        "network",
    ),
    _rule(
        "env-sources",
        "A variable has a name, and its value from one place",
        "Write `value`, or `valueFrom` with one source and all that names it.",
        "env",
    ),
    _rule(
        "volume-sources",
        "A volume has a name of its own and one source",
        "Write one source for each volume, and all that names what it holds.",
        "volumes",
    ),
    _rule(
        "volume-mounts",
        "Containers mount volumes that the pod has, each at a place of its own",
        "Give the pod a volume of that name, or take the mount away.",
        "volumes",
    ),
    _rule(
        "quantities",
        "Containers ask for amounts that there can be, of resources that there are",
        "Write requests of at most the limits, memory in Mi or Gi, and devices with their domain.",
        "resources",
        why="The API server refuses each of the pods, and the job waits for ever; with a thousandth of a byte of memory it takes them, and none of them starts.",
    ),
    _rule(
        "probes",
        "Probes and lifecycle handlers do one thing each, with numbers that count",
        "Write one of exec, httpGet, tcpSocket and grpc, with a port or a command.",
        "probes",
    ),
    _rule(
        "security-values",
        "Security contexts have ids and policies that there are",
        "Write ids from 0 to 2147483647, and a profile's file for the type Localhost alone.",
    ),
    _rule(
        "pod-fields",
        "Names, DNS, gates and claims of a pod are what Kubernetes takes",
        "Write names as DNS has them, and words that the field knows.",
    ),
    _rule(
        "affinity",
        "Node selectors and affinity say what the scheduler can look for",
        "Write labels as nodes have them, and operators with the values that they need.",
        "scheduling",
    ),
    _rule(
        "tolerations",
        "Tolerations are ones that Kubernetes can compare with a taint",
        "Write `operator: Exists` with no value, or a key and a value.",
        "scheduling",
    ),
    _rule(
        "topology-spread",
        "Topology spread constraints count what the scheduler can count",
        "Write maxSkew from 1 on, a topologyKey, and DoNotSchedule or ScheduleAnyway.",
        "scheduling",
    ),
    _rule(
        "job-restart-policy",
        "Pods of a Job have the restartPolicy Never or OnFailure",
        "Write OnFailure or Never, and Never beside a podFailurePolicy.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS | {*workloads.ALWAYS, "Pod"},
    ),
    _rule(
        "job-counts",
        "A Job counts pods, tries and seconds as Kubernetes can",
        "Write counts from 0 on, and completions beside parallelism in an Indexed Job.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS,
    ),
    _rule(
        "job-policies",
        "What fails or ends a Job are rules that Kubernetes can follow",
        "Write exit codes in order, containers of the pod, and indexes below completions.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS,
    ),
)
"""In the order in which they are applied and listed."""
