"""Rules of admission: what the API server's own validation of pods and Jobs refuses.

Each rule is a part of `k8s.io/kubernetes` `pkg/apis/core/validation` and `pkg/apis/batch/validation`, of v1.34;
what later versions take is not a finding. What each demands is a form (api/shape), and one walk along them finds what
is wrong for all rules.
"""

from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape import workloads
from trainer_infra.rules import faults
from trainer_infra.rules.pods import WORKLOADS
from trainer_infra.rules.rule import AnyRule, Finding, Parameters, Rule, Severity

_PODS_REFUSED: Final = "The API server rejects every pod of the job, and the job waits forever."
_JOB_REFUSED: Final = (
    "The API server rejects the Job, or JobSet cannot create it; nothing ever runs."
)
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
        "Fields of pods and Jobs must have the types that the API server expects",
        "Quote strings; do not quote numbers and booleans.",
        "schema",
        why="The API server cannot read the object and rejects all of it.",
        kinds=WORKLOADS - names.WITH_PODS,
    ),
    _rule(
        "label-syntax",
        "Labels and annotations of pods must be valid",
        "Use values of at most 63 letters, digits, -, _ and ., with a letter or digit at both ends.",
        "metadata",
    ),
    _rule(
        "containers",
        "A pod must have containers with unique names and valid policies",
        "Give every container in the pod a different name of lower-case letters, digits and -.",
    ),
    _rule(
        "container-ports",
        "Container ports must be from 1 to 65535, and their names must be unique",
        "Use a containerPort from 1 to 65535, and names of at most 15 lower-case letters, digits and -.",
        "network",
    ),
    _rule(
        "env-sources",
        "An environment variable must have a name and one source for its value",
        "Use `value`, or `valueFrom` with one complete source.",
        "env",
    ),
    _rule(
        "volume-sources",
        "A volume must have a unique name and one source",
        "Give each volume one source with all its required fields.",
        "volumes",
    ),
    _rule(
        "volume-mounts",
        "Containers may mount only volumes of their pod, each at a different path",
        "Add a volume of that name to the pod, or remove the mount.",
        "volumes",
    ),
    _rule(
        "quantities",
        "Resource requests must use valid quantities of known resources",
        "Keep requests at or below limits, write memory in Mi or Gi, and name devices with their domain.",
        "resources",
        why=(
            "The API server rejects every pod of the job, and the job waits forever; it accepts a "
            "memory request of a thousandth of a byte, but no such pod starts."
        ),
    ),
    _rule(
        "probes",
        "Probes and lifecycle handlers must have one action and valid numbers",
        "Use one of exec, httpGet, tcpSocket and grpc, with a port or a command.",
        "probes",
    ),
    _rule(
        "security-values",
        "Security contexts must use valid IDs and policies",
        "Use IDs from 0 to 2147483647, and set a profile's file only for the type Localhost.",
    ),
    _rule(
        "pod-fields",
        "Names, DNS settings, gates and claims of a pod must be valid",
        "Use DNS names, and values that the field supports.",
    ),
    _rule(
        "affinity",
        "Node selectors and affinity terms must be valid",
        "Use valid labels, and operators with the values that they require.",
        "scheduling",
    ),
    _rule(
        "tolerations",
        "Tolerations must be valid",
        "Use `operator: Exists` without a value, or a key with a value.",
        "scheduling",
    ),
    _rule(
        "topology-spread",
        "Topology spread constraints must be valid",
        "Set maxSkew to 1 or more, a topologyKey, and DoNotSchedule or ScheduleAnyway.",
        "scheduling",
    ),
    _rule(
        "job-restart-policy",
        "The restartPolicy of a Job's pods must be Never or OnFailure",
        "Use OnFailure or Never; beside a podFailurePolicy, Never.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS | {*workloads.ALWAYS, "Pod"},
    ),
    _rule(
        "job-counts",
        "A Job's counts of pods, retries and seconds must be valid",
        "Use counts of 0 or more, and set completions beside parallelism in an Indexed Job.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS,
    ),
    _rule(
        "job-policies",
        "A Job's failure and success policies must be valid",
        "List exit codes in ascending order, containers of the pod, and indexes below completions.",
        "jobs",
        why=_JOB_REFUSED,
        kinds=_WITH_JOBS,
    ),
)
"""In the order in which they are applied and listed."""
