"""MPI (OpenMPI): a launcher that starts processes on the nodes over SSH.

The pods share the keys of one Secret, and the launcher has a hostfile with a line for each node.
Jobs are found by name, `launcher` and `node`, not by ancestor; both run a container `node`. Rules:
reference behaviour 3.6. The keys are made at create: lifecycle/generated_secrets.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import MPI, Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import child_metadata, endpoints, resolve, resources, trainer_env
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.draft import Draft, PodSet, upsert_volumes
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Launcher, Plugin, Watch

OPEN_MPI: Final = "OpenMPI"
MOUNT_PATH: Final = "/root/.ssh"
"""Folder of the keys where the runtime names none."""
HOSTFILE: Final = "hostfile"
HOSTFILE_DIR: Final = "/etc/mpi"
RSH_ARGS: Final = "-o ConnectionAttempts=10"
PUBLIC_KEY_FILES: Final = (
    (names.SSH_PUBLIC_KEY, "id_rsa.pub", 0o644),
    (names.SSH_PUBLIC_KEY, "authorized_keys", 0o644),
)
"""Key of the Secret, file and its mode, in the folder of the keys."""
MOST_HOSTS: Final = 2**14
"""Lines of a hostfile: of 64 characters each, as of long names, they are the 1 MiB of a ConfigMap."""
_OF_GROUP, OF_OWNER, _OF_ALL = 0o640, 0o600, 0o644
"""Modes of the private key. Root owns it, and ssh ignores one of its own user that others may read."""
RESERVED: Final = (
    names.OMPI_DEFAULT_HOSTFILE,
    names.OMPI_KEEP_FQDN_HOSTNAMES,
    names.OMPI_DEFAULT_SLOTS,
    names.OMPI_RSH_ARGS,
)
OF_OPEN_MPI_5: Final = (
    names.PRTE_DEFAULT_HOSTFILE,
    names.PRTE_KEEP_FQDN_HOSTNAMES,
    names.PRTE_DEFAULT_SLOTS,
    names.PRTE_SSH_ARGS,
)
"""The same settings, in the same order, as the launcher of Open MPI 5 reads them."""


def launcher(runtime: Runtime) -> Launcher | None:
    """mpirun, which starts ranks over SSH on the nodes too, on a runtime with mlPolicy.mpi."""
    policy = runtime.spec.ml_policy
    return MPIRUN if policy is not None and policy.mpi is not None else None


def mpirun(variables: Sequence[str]) -> tuple[str, ...]:
    """The command; SSH brings the ranks no variables but those that mpirun exports."""
    return ("mpirun", *(part for each in variables for part in ("-x", each)), "python")


def validate(draft: Draft) -> Iterable[Problem]:
    """Both jobs where the launcher trains too, reserved variables, and the implementation."""
    nodes = draft.trainer_spec.num_nodes
    both = {names.LAUNCHER, names.NODE} <= {each.name for each in draft.pod_sets}
    if (nodes or 1) > 1 and _policy(draft).run_launcher_as_node and not both:
        yield Problem(
            "spec.trainer.numNodes",
            "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have "
            "either launcher and node",
            got=nodes,
        )
    fix = "remove them: the runtime sets them for the launcher"
    newer = OF_OPEN_MPI_5 if draft.ours(Deviation.OPEN_MPI_5) else ()
    yield from trainer_env.reserved_variables(draft, (*RESERVED, *newer), fix)
    if draft.ours(Deviation.NUM_NODES):
        yield from _hosts_problems(draft)
    if draft.ours(Deviation.Q5) and not _is_open_mpi(draft):
        yield Problem(
            "spec.mlPolicy.mpi.mpiImplementation",
            "names no MPI implementation",
            got=_policy(draft).mpi_implementation,
            fix=f"write {OPEN_MPI}, or leave the field out",
            where=f"{draft.runtime.kind} {draft.runtime.metadata.name}",
        )


def enforce_ml_policy(draft: Draft) -> Draft:
    """Node count, keys on both jobs, hostfile and OpenMPI's settings on the launcher.

    Raises:
        InvalidInput: Like the reference: there is a launcher, and no implementation it knows.
    """
    draft = trainer_env.with_num_nodes(draft, names.NODE)
    launcher = next((each for each in draft.pod_sets if each.name == names.LAUNCHER), None)
    if launcher and launcher.container(names.NODE) and not _is_open_mpi(draft):
        what = f'MPI implementation for "{_policy(draft).mpi_implementation}" doesn\'t supported'
        raise InvalidInput([Problem("", what)])
    for name, change in ((names.NODE, _node), (names.LAUNCHER, _launcher)):
        draft = draft.with_pod_set(name, partial(change, draft))
    return draft


def slots(draft: Draft) -> int:
    """Processes per node: the TrainJob's number, else a GPU each where the runtime says 1."""
    given, number = draft.trainer_spec.num_proc_per_node, _policy(draft).num_proc_per_node
    if given is not None:
        return given
    if number is None or number == 1:
        return max(1, resources.accelerators(draft))
    return number


def build(draft: Draft) -> Iterable[JSONObject]:
    """The Secret with the keys, not made yet, and the ConfigMap with the hostfile."""
    keys = dict.fromkeys((names.SSH_PRIVATE_KEY, names.SSH_PUBLIC_KEY), names.GENERATED_SHOWN)
    typed = {"type": names.SSH_AUTH_TYPE, "immutable": True, "data": keys}
    yield child_metadata.child_object(draft.job, "Secret", names.SSH_AUTH_SUFFIX, **typed)
    data = {HOSTFILE: _hostfile(draft) if _is_open_mpi(draft) else ""}
    yield child_metadata.child_object(draft.job, "ConfigMap", names.HOSTFILE_SUFFIX, data=data)


def should_write(value: JSONObject, _job: TrainJob, observed: ObservedObjects) -> bool:
    """The hostfile always, the keys once."""
    return value["kind"] != "Secret" or observed.find("Secret", value["metadata"]["name"]) is None


MPIRUN: Final = Launcher(mpirun, jobs=(names.NODE,), nodes_begin_at=-1)


def _policy(draft: Draft) -> MPI:
    return draft.ml_policy.mpi or MPI()


def _is_open_mpi(draft: Draft) -> bool:
    return _policy(draft).mpi_implementation in (None, OPEN_MPI)


def _node(draft: Draft, pod_set: PodSet) -> PodSet:
    """The keys; JobSet adds the user's variables where the launcher is a node like this one."""
    keys = _keys(draft, pod_set)
    changed = replace(pod_set, volumes=upsert_volumes(pod_set.volumes, (keys,)))
    return changed.with_container(names.NODE, lambda node: node.plus(mounts=(_keys_mount(draft),)))


def _launcher(draft: Draft, pod_set: PodSet) -> PodSet:
    """The keys, the hostfile, and variables that tell OpenMPI of them."""
    config_map = {
        "name": child_metadata.child_name(draft.job, names.HOSTFILE_SUFFIX),
        "items": [{"key": HOSTFILE, "path": HOSTFILE, "mode": 0o444}],
    }
    volumes = upsert_volumes(
        pod_set.volumes,
        (_keys(draft, pod_set), {"name": names.HOSTFILE_VOLUME, "configMap": config_map}),
    )
    mounts = (_keys_mount(draft), {"name": names.HOSTFILE_VOLUME, "mountPath": HOSTFILE_DIR})
    settings = (f"{HOSTFILE_DIR}/{HOSTFILE}", "true", slots(draft), RSH_ARGS)
    lists = (RESERVED, OF_OPEN_MPI_5) if draft.ours(Deviation.OPEN_MPI_5) else (RESERVED,)
    own = tuple(
        trainer_env.variable(name, value)
        for each in lists
        for name, value in zip(each, settings, strict=True)
    )
    changed = replace(pod_set, volumes=volumes)
    env = (*own, *_exported(draft, pod_set))
    return changed.with_container(names.NODE, lambda node: node.plus(mounts=mounts, env=env))


def _exported(draft: Draft, pod_set: PodSet) -> Iterable[JSONObject]:
    """The user's variables for the ranks, which SSH starts with none of the launcher's.

    Nothing where the command has an -x of its own, with which Open MPI 4 takes no such list, or is not read.
    """
    given = [each["name"] for each in draft.trainer_spec.env or ()]
    if not given or names.OMPI_EXPORTED in given or not draft.ours(Deviation.MPI_ENV):
        return
    container = _written_container(draft, pod_set)
    command = container.get("command") if draft.command is None else draft.command
    args = container.get("args") if draft.args is None else draft.args
    if read_command_line([*(command or ()), *(args or ())]).exports() == frozenset():
        yield trainer_env.variable(names.OMPI_EXPORTED, ";".join(dict.fromkeys(given)))


def _keys_mount(draft: Draft) -> JSONObject:
    return {"name": names.SSH_AUTH_VOLUME, "mountPath": _mount_path(draft)}


def _mount_path(draft: Draft) -> str:
    path = _policy(draft).ssh_auth_mount_path
    return MOUNT_PATH if path is None else path


def _keys(draft: Draft, pod_set: PodSet) -> JSONObject:
    files = ((names.SSH_PRIVATE_KEY, "id_rsa", _private_mode(draft, pod_set)), *PUBLIC_KEY_FILES)
    secret = {
        "secretName": child_metadata.child_name(draft.job, names.SSH_AUTH_SUFFIX),
        "defaultMode": 0o400,
        "items": [{"key": key, "path": path, "mode": mode} for key, path, mode in files],
    }
    return {"name": names.SSH_AUTH_VOLUME, "secret": secret}


def _private_mode(draft: Draft, pod_set: PodSet) -> int:
    """The mode with which the user of the container can read the key, and ssh takes it."""
    if not draft.ours(Deviation.SSH_KEY):
        return _OF_GROUP
    contexts = (_pod_spec(draft, pod_set), _written_container(draft, pod_set))
    pod, own = (each.get("securityContext") or {} for each in contexts)
    user = own.get("runAsUser", pod.get("runAsUser"))
    if is_roots_key(user, _mount_path(draft)):
        return OF_OWNER
    return _OF_ALL if pod.get("fsGroup") is None else _OF_GROUP


def is_roots_key(user: object, mount_path: str) -> bool:
    """Whether root reads the key: a user who is not named is root where it lies in root's folder, as in v1."""
    return mount_path.startswith("/root/") if user is None else user == 0


def _pod_spec(draft: Draft, pod_set: PodSet) -> JSONObject:
    jobs = draft.spec["replicatedJobs"]
    return resolve.pod_spec(next(each for each in jobs if each["name"] == pod_set.name))


def _written_container(draft: Draft, pod_set: PodSet) -> JSONObject:
    """The container `node` as the runtime and its patches have it; empty where there is none."""
    return resolve.node_container(_pod_spec(draft, pod_set))


def _hostfile(draft: Draft) -> str:
    """A line for each node, in template order; no more than a ConfigMap can hold, where that is refused."""
    name, per_node = draft.job.metadata.name or "", slots(draft)
    tail = f".{endpoints.subdomain(name, draft.spec)} slots={per_node}\n"
    lines = (
        endpoints.pod_name(name, pod_set.name, replica, index) + tail
        for pod_set, replicas in _hosts(draft)
        for replica in range(replicas)
        for index in range(pod_set.count)
    )
    return "".join(islice(lines, MOST_HOSTS))


def _hosts(draft: Draft) -> Iterable[tuple[PodSet, int]]:
    """Jobs whose pods stand in the hostfile, and their replicas."""
    also = (names.LAUNCHER,) if _policy(draft).run_launcher_as_node else ()
    for template, pod_set in zip(draft.spec["replicatedJobs"], draft.pod_sets, strict=True):
        if pod_set.name in (names.NODE, *also):
            yield pod_set, template.get("replicas", 1)


def _hosts_problems(draft: Draft) -> Iterable[Problem]:
    """A hostfile that no ConfigMap holds, which the reference tries to write forever."""
    after = trainer_env.with_num_nodes(draft, names.NODE)
    count = sum(replicas * max(pod_set.count, 0) for pod_set, replicas in _hosts(after))
    if count > MOST_HOSTS:
        yield Problem(
            "spec.trainer.numNodes",
            f"makes a hostfile of {count} lines, and a ConfigMap holds some {MOST_HOSTS}",
            got=count,
            fix="write the number of nodes",
        )


PLUGIN = Plugin(
    name="MPI",
    applies=lambda draft: draft.ml_policy.mpi is not None,
    validate=validate,
    enforce_ml_policy=enforce_ml_policy,
    build=build,
    should_write=should_write,
    watches=(Watch("v1", "ConfigMap"), Watch("v1", "Secret")),
    launcher=launcher,
)
