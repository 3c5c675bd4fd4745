"""Replica types of a v1 job (`Master`, `Worker`, `Launcher`) and the pods they become.

For the files of the kinds. In v2 all nodes of a training are alike: of two replica types
that train, the template of the workers is kept, and a note says what differs in the master's. In v1
the operator itself restarted pods; in v2 the Job does, by its pods' restartPolicy, its backoffLimit and its
podFailurePolicy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.failure_policy import (
    FAIL_JOB,
    OnExitCodes,
    PodFailurePolicy,
    PodFailurePolicyRule,
)
from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.migrate import renaming
from trainer_infra.migrate.fields import V2_BETA_1
from trainer_infra.migrate.migration import Note, V1Job
from trainer_infra.migrate.renaming import RenamedValue

ABSENT: Final = "not set"
ONE_COMMAND: Final = "write one command for all nodes, in which RANK 0 does what is its alone"
RANK_ENV: Final = {"valueFrom": {"fieldRef": {"fieldPath": names.COMPLETION_INDEX_FIELD}}}
"""Value of a variable that holds the number of the node."""
CLUSTER_FIRST: Final = "ClusterFirst"
"""The default policy, with which a pod on the node's network asks the node's name servers alone."""
HOST_NET_DNS: Final = "ClusterFirstWithHostNet"
NEVER: Final = "Never"
ON_FAILURE: Final = "OnFailure"
ALWAYS: Final = "Always"
EXIT_CODE: Final = "ExitCode"
DEFAULT_BACKOFF_LIMIT: Final = 6
"""Of a Job in Kubernetes; v1 restarted without end where no limit was given."""
LAST_PERMANENT: Final = 127
"""In v1, codes up to it end the job and higher ones restart the pod."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the v1 operators fill in for one kind."""

    field: str
    """Field of the spec that holds the replica types."""
    container: str
    """Name of the container that trains; the first one where no container has it."""
    restart_policy: str = "Never"
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica type with the operator's defaults."""

    path: Path
    replicas: int
    restart_policy: str
    pod_template: JSONObject
    """In it, what v1's operator named has the names of v2."""
    main: str
    """Name of the container that trains."""
    notes: tuple[Note, ...] = ()
    """On what the template names and v2 does not have, and on what was added to it."""

    @property
    def template_path(self) -> Path:
        """Path of the pod template."""
        return (*self.path, "template")

    @property
    def container(self) -> JSONObject:
        """The container that trains."""
        containers = self.pod_template["spec"]["containers"]
        return next(each for each in containers if each["name"] == self.main)

    def port(self, name: str, default: int) -> int:
        """Number of the container's port of that name; the operator adds it with the default."""
        ports = self.container.get("ports") or ()
        return next((each["containerPort"] for each in ports if each.get("name") == name), default)


def read_replica(job: V1Job, kind: str, defaults: Defaults) -> Replica | None:
    """The replica type `kind` of a job; None when it has none.

    Raises:
        InvalidInput: It has no container.
    """
    given = (job.spec.get(defaults.field) or {}).get(kind)
    if given is None:
        return None
    path = ("spec", defaults.field, kind)
    found = renaming.in_template(job, kind, given.get("template") or {}, (*path, "template"))
    template, notes = _with_dns(job, found, (*path, "template", "spec"))
    containers = (template.get("spec") or {}).get("containers") or ()
    if not containers:
        at = path_text((*path, "template", "spec", "containers"))
        raise InvalidInput([Problem(at, "must have a container")])
    own = [each["name"] for each in containers]
    return Replica(
        path=path,
        replicas=given.get("replicas", defaults.replicas),
        restart_policy=given.get("restartPolicy", defaults.restart_policy),
        pod_template=template,
        main=defaults.container if defaults.container in own else own[0],
        notes=notes,
    )


def _with_dns(job: V1Job, found: RenamedValue, path: Path) -> tuple[JSONObject, tuple[Note, ...]]:
    """A template that finds the other pods on the node's network too; the MPI operator wrote the policy."""
    template, spec = found.value, found.value.get("spec") or {}
    is_beta, policy = job.api_version == V2_BETA_1, spec.get("dnsPolicy", CLUSTER_FIRST)
    if not spec.get("hostNetwork") or not (is_beta or policy == CLUSTER_FIRST):
        return template, found.notes
    changed = {**template, "spec": {**spec, "dnsPolicy": HOST_NET_DNS}}
    advice = f"gets dnsPolicy {HOST_NET_DNS}, without which the nodes do not find each other"
    told = () if is_beta else (Note((*path, "hostNetwork"), True, advice),)
    return changed, (*found.notes, *told)


def node_template(
    replica: Replica, env: Mapping[str, Any], filled: Collection[str]
) -> dict[str, Any]:
    """The pod template in v2: the container that trains is called `node` and has these variables.

    Of each variable `env` has the value, or the fields beside the name; in v1 the operator wrote them. The
    container has none of those that v2's framework fills.

    Raises:
        InvalidInput: Another container is called `node`.
    """
    spec = dict(replica.pod_template["spec"])
    # Each replica type has a restart policy of its own, which v1 wrote over the pod's.
    spec.pop("restartPolicy", None)
    others = [*(spec.get("initContainers") or ()), *spec["containers"]]
    if any(each["name"] == names.NODE != replica.main for each in others):
        at = path_text((*replica.template_path, "spec", "containers"))
        what = f"another container than {replica.main!r} is called {names.NODE!r}"
        raise InvalidInput([Problem(at, what, fix="rename it: v2 trains in the container 'node'")])
    spec["containers"] = [
        _main(each, env, filled) if each["name"] == replica.main else each
        for each in spec["containers"]
    ]
    metadata = replica.pod_template.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {**({"metadata": kept} if kept else {}), "spec": spec}


def what_runs(replica: Replica) -> dict[str, Any]:
    """Command and arguments of the container that trains: those of the TrainJob."""
    container = replica.container
    return {key: container[key] for key in ("command", "args") if key in container}


def words(replica: Replica) -> tuple[str, ...]:
    """The words of its command line."""
    return tuple(str(word) for part in what_runs(replica).values() for word in part)


def filled(variables: Iterable[str]) -> dict[str, str]:
    """What a note says of each of these variables where a user wrote it."""
    return {name: f"is lost: v2 fills {name} itself" for name in variables}


def filled_notes(replica: Replica, advice: Mapping[str, str]) -> Iterator[Note]:
    """A note for each variable of the container that trains which v2's framework fills."""
    containers = replica.pod_template["spec"]["containers"]
    path = (*replica.template_path, "spec", "containers", containers.index(replica.container))
    for index, each in enumerate(replica.container.get("env") or ()):
        if each["name"] in advice:
            value = each.get("value", each.get("valueFrom"))
            yield Note((*path, "env", index), value, advice[each["name"]])


def difference_notes(kept: Replica, dropped: Replica) -> Iterator[Note]:
    """A note for each field in which a dropped replica type differs from the kept one."""
    role = str(dropped.path[-1]).lower()
    advice = (
        f"differs from {kept.path[-1]}'s and is lost: all nodes are alike, and node 0 is the {role}"
    )
    if dropped.restart_policy != kept.restart_policy:
        yield Note((*dropped.path, "restartPolicy"), dropped.restart_policy, advice)
    for path, value in _differing(_by_role(dropped), _by_role(kept)):
        also = f"; {ONE_COMMAND}" if path[-1] in {"command", "args"} else ""
        yield Note((*dropped.template_path, *path), value, advice + also)


def job_spec(
    replica: Replica, limit: int | None, pod_template: JSONObject, *, was_a_job: bool = False
) -> dict[str, Any]:
    """The JobSpec of a replica type with runPolicy.backoffLimit; the pods' restartPolicy is added.

    The operator may have made a Job of it, which tries again whatever its pods' policy.
    """
    in_place = replica.restart_policy in {ON_FAILURE, ALWAYS}
    retries = DEFAULT_BACKOFF_LIMIT if limit is None else limit
    spec = {**pod_template["spec"], "restartPolicy": ON_FAILURE if in_place else NEVER}
    is_final = replica.restart_policy == NEVER and not was_a_job
    made: dict[str, Any] = {"backoffLimit": 0 if is_final else retries}
    if replica.restart_policy == EXIT_CODE:
        codes = OnExitCodes(values=tuple(range(1, LAST_PERMANENT + 1)), container_name=names.NODE)
        rules = (PodFailurePolicyRule(action=FAIL_JOB, on_exit_codes=codes),)
        made["podFailurePolicy"] = PodFailurePolicy(rules=rules).to_wire()
    return {**made, "template": {**pod_template, "spec": spec}}


def restart_notes(
    replica: Replica, limit: int | None, *, was_a_job: bool = False
) -> Iterator[Note]:
    """What a restart policy, written or v1's default, means otherwise in v2."""
    path = (*replica.path, "restartPolicy")
    if replica.restart_policy == ALWAYS:
        yield Note(path, ALWAYS, "becomes OnFailure: a pod that ends with 0 is done")
    ended_in_v1 = was_a_job or limit is not None or replica.restart_policy == NEVER
    if not ended_in_v1:
        advice = (
            f"restarts without end in v1, {DEFAULT_BACKOFF_LIMIT} times here: change backoffLimit "
            "of the runtime's job"
        )
        yield Note(path, replica.restart_policy, advice)


def with_env(
    container: JSONObject, env: Mapping[str, Any], filled: Collection[str] = ()
) -> dict[str, Any]:
    """The container with the variables, and without those that are filled."""
    written = {*env, *filled}
    own = [each for each in container.get("env") or () if each["name"] not in written]
    added = [
        {"name": name, **(value if isinstance(value, dict) else {"value": str(value)})}
        for name, value in env.items()
    ]
    kept = {key: value for key, value in container.items() if key != "env"}
    return {**kept, **({"env": [*own, *added]} if own or added else {})}


def _main(container: JSONObject, env: Mapping[str, Any], filled: Collection[str]) -> dict[str, Any]:
    kept = {key: value for key, value in container.items() if key not in {"command", "args"}}
    return {**with_env(kept, env, filled), "name": names.NODE}


def _by_role(replica: Replica) -> dict[str, Any]:
    """The pod template; its own restart policy has no effect in v1."""
    template = dict(replica.pod_template)
    spec = template["spec"]
    template["spec"] = {key: value for key, value in spec.items() if key != "restartPolicy"}
    return template


def _differing(dropped: Any, kept: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Path and value of what differs; names identify items of lists."""
    if dropped == kept:
        return
    pair = _named(dropped), _named(kept)
    if pair[0] is None or pair[1] is None:
        yield path, dropped
        return
    for key in [*pair[0], *(key for key in pair[1] if key not in pair[0])]:
        if key in pair[0] and key in pair[1]:
            yield from _differing(pair[0][key], pair[1][key], (*path, key))
        else:
            yield (*path, key), pair[0].get(key, ABSENT)


def _named(value: Any) -> dict[str, Any] | None:
    """A mapping, or the items of a list by name; None for anything else."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list) and all(isinstance(each, dict) and "name" in each for each in value):
        return {each["name"]: each for each in value}
    return None
