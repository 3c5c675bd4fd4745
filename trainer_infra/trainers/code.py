"""What travels to a training pod, and how it gets there.

`custom` makes a Code from what the user gave; `attach` adds it to a TrainJob: the command, one
runtime patch with the mounts, and an immutable ConfigMap named by content (design rules 1 and
2). Called by `compose` before rendering. Pure.
"""

import ast
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, Self

from trainer_infra import names
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict

LONGEST_KEY = 240
"""Characters of a path that a key keeps: Kubernetes allows 253, a hash takes 9."""

_PARSING = Lock()

OURS = ("main.py", "lib/")
"""Paths in the mount that are the same for every job of one release."""


def content_hash(value: Any) -> str:
    """Eight hex digits of a sha256 over a JSON value, the same in every process."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Code:
    """The files of a job's code mount and what its Python needs."""

    files: Mapping[str, str]
    """Path in the mount -> text, exact."""
    packages: tuple[str, ...]
    """Pinned requirements of the job's Python, sorted and unique, after the indexes they come from."""
    secret_args: bool
    """Whether the file of secret arguments must be mounted."""

    def to_wire(self) -> JSONDict:
        """The value as JSON, as a resource's inputs hold it."""
        return {
            "files": dict(self.files),
            "packages": list(self.packages),
            "secretArgs": self.secret_args,
        }

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> Self:
        """The value that `to_wire` wrote."""
        return cls(dict(value["files"]), tuple(value["packages"]), value["secretArgs"])

    def digest(self) -> str:
        """Eight hex digits of a sha256 over the content, the same in every process."""
        return content_hash(self.to_wire())

    def of_the_user(self) -> JSONDict:
        """The wire form without what trainer_infra itself adds.

        A new release of ours brings another launcher, and a comment or a line more changes nothing;
        neither is a reason to train again (design rule 2): a driver that finds this part
        unchanged keeps the code the job was born with.
        """
        files = self.files.items()
        mine = {path: _meaning(path, text) for path, text in files if not path.startswith(OURS)}
        return {**self.to_wire(), "files": mine}


@lru_cache(maxsize=1024)
def _meaning(path: str, text: str) -> str:
    """What a file says: of Python its syntax tree, which has no comments, blank lines and layout."""
    if not path.endswith(".py"):
        return text
    try:
        # Threads that parse at the same time disturb one another (CPython 3.11: a SystemError).
        with _PARSING:
            return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return text


def attach(
    job: JSONDict, runtime: JSONDict, code: Code | None
) -> tuple[JSONDict, tuple[JSONDict, ...]]:
    """Add code to a TrainJob, and name its own Secret wherever a reference stands for it.

    Args:
        job: TrainJob in wire form, with a name; not changed.
        runtime: the runtime it refers to in wire form; decides command and containers.
        code: what to run; None leaves command and mounts alone.

    Returns:
        The new TrainJob and the objects it needs besides.

    Raises:
        InvalidInput: when the runtime has no container that could run the code.
    """
    name = job["metadata"]["name"]
    spec = _own_secret_named(job["spec"], name + names.SECRET_SUFFIX)
    if code is None:
        return {**job, "spec": spec}, ()
    made = config_map(job["metadata"], code)
    mounted = _patch(runtime, made["metadata"]["name"], name + names.SECRET_SUFFIX, code)
    spec = {
        **spec,
        "trainer": _trainer(spec.get("trainer") or {}, runtime, code),
        "runtimePatches": [*(spec.get("runtimePatches") or ()), mounted],
    }
    return {**job, "spec": spec}, (made,)


def secret_object(job_name: str, keys: Iterable[str]) -> JSONDict:
    """The job's own Secret as it may be shown: every key, no value."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": job_name + names.SECRET_SUFFIX},
        "type": "Opaque",
        "stringData": dict.fromkeys(sorted(keys), names.SECRET_SHOWN),
    }


def _own_secret_named(value: Any, name: str) -> Any:
    """A copy in which references to OWN_SECRET have the Secret's real name."""
    if isinstance(value, list):
        return [_own_secret_named(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    copy = {key: _own_secret_named(item, name) for key, item in value.items()}
    for key in ("secretKeyRef", "secretRef"):
        reference = copy.get(key)
        if isinstance(reference, dict) and reference.get("name") == names.OWN_SECRET:
            copy[key] = {**reference, "name": name}
    return copy


def _trainer(trainer: JSONDict, runtime: JSONDict, code: Code) -> JSONDict:
    env = list(trainer.get("env") or ())
    if code.secret_args:
        path = f"{names.SECRET_MOUNT}/{names.SECRET_ARGS_KEY}"
        env.append({"name": names.SECRET_ARGS, "value": path})
    command = [*_launcher(runtime, env), f"{names.CODE_MOUNT}/main.py"]
    return {**trainer, "command": command, **({"env": env} if env else {})}


def _launcher(runtime: JSONDict, env: Iterable[JSONDict]) -> list[str]:
    """What starts the code; on the ranks of MPI, to which SSH brings no variables, with the user's."""
    policy = _policy(runtime)
    if policy.get("mpi") is not None:
        exported = (part for each in env for part in ("-x", each["name"]))
        return ["mpirun", *exported, "python"]
    return ["torchrun" if policy.get("torch") is not None else "python"]


def _jobs_of_ranks(runtime: JSONDict) -> list[str]:
    """Replicated jobs that run no command of ours, but whose pods MPI's launcher starts ranks in."""
    if _policy(runtime).get("mpi") is None:
        return []
    return [
        job["name"]
        for job in _replicated_jobs(runtime)
        if job["name"] == names.NODE and not _is_trainer(job.get("template") or {})
    ]


def _policy(runtime: JSONDict) -> JSONDict:
    return (runtime.get("spec") or {}).get("mlPolicy") or {}


def _replicated_jobs(runtime: JSONDict) -> list[JSONDict]:
    template = (runtime.get("spec") or {}).get("template") or {}
    return (template.get("spec") or {}).get("replicatedJobs") or []


def _trainer_jobs(runtime: JSONDict) -> list[str]:
    """Names of the replicated jobs that train: by label, with a container to run the code in."""
    found = [
        job["name"] for job in _replicated_jobs(runtime) if _is_trainer(job.get("template") or {})
    ]
    if found:
        return found
    problem = Problem(
        "spec.template.spec.replicatedJobs",
        f"no replicated job with the label {names.ANCESTOR_LABEL}={names.TRAINER} "
        f"has a container named {names.NODE}, so there is nothing to run the code in",
        fix="choose a training runtime, or add the label and the container to this one",
        where=f"{runtime.get('kind')} {(runtime.get('metadata') or {}).get('name')}",
    )
    raise InvalidInput([problem])


def _is_trainer(template: JSONDict) -> bool:
    labels = (template.get("metadata") or {}).get("labels") or {}
    pod = ((template.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers = [container.get("name") for container in pod.get("containers") or ()]
    return labels.get(names.ANCESTOR_LABEL) == names.TRAINER and names.NODE in containers


def _keys(files: Mapping[str, str]) -> dict[str, str]:
    """ConfigMap key of each path: the path without what a key may not hold.

    A hash tells apart what that makes equal. Keys do not depend on other files' order, so that a
    preview shows only what changed.
    """
    plain = {path: re.sub("[^-._a-zA-Z0-9]", "_", path)[-LONGEST_KEY:] for path in sorted(files)}
    times = Counter(plain.values())
    return {
        path: key
        if times[key] == 1 and not key.startswith("..")
        else f"{hashlib.sha256(path.encode()).hexdigest()[:8]}-{key}"
        for path, key in plain.items()
    }


def config_map(job_metadata: Mapping[str, Any], code: Code) -> JSONDict:
    """The ConfigMap of a job's code, named by what is in it.

    Args:
        job_metadata: the TrainJob's name, and its namespace where that is known.
        code: what is mounted.
    """
    keys = _keys(code.files)
    metadata = {"name": f"{job_metadata['name']}{names.CODE_SUFFIX}-{code.digest()}"}
    if "namespace" in job_metadata:
        metadata["namespace"] = job_metadata["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "immutable": True,
        "data": {keys[path]: code.files[path] for path in sorted(code.files)},
    }


def _patch(runtime: JSONDict, config_map: str, secret: str, code: Code) -> JSONDict:
    items = [{"key": key, "path": path} for path, key in _keys(code.files).items()]
    volumes: list[JSONDict] = [
        {"name": names.CODE_VOLUME, "configMap": {"name": config_map, "items": items}}
    ]
    mounts: list[JSONDict] = [
        {"name": names.CODE_VOLUME, "mountPath": names.CODE_MOUNT, "readOnly": True}
    ]
    if code.secret_args:
        only = [{"key": names.SECRET_ARGS_KEY, "path": names.SECRET_ARGS_KEY}]
        volumes.append(
            {"name": names.SECRET_VOLUME, "secret": {"secretName": secret, "items": only}}
        )
        mounts.append(
            {"name": names.SECRET_VOLUME, "mountPath": names.SECRET_MOUNT, "readOnly": True}
        )
    return patch(runtime, names.CODE_MANAGER, volumes, mounts)


def patch(
    runtime: JSONDict, manager: str, volumes: list[JSONDict], mounts: list[JSONDict]
) -> JSONDict:
    """The runtime patch that mounts volumes wherever a process of the training starts.

    Raises:
        InvalidInput: The runtime has no container that could run the code.
    """
    jobs = [*_trainer_jobs(runtime), *_jobs_of_ranks(runtime)]
    pod = {"volumes": volumes, "containers": [{"name": names.NODE, "volumeMounts": mounts}]}
    replicated = [{"name": job, "template": {"spec": {"template": {"spec": pod}}}} for job in jobs]
    return {
        "manager": manager,
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}},
    }
