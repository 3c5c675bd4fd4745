"""How a job's code gets into its pods: the command, a runtime patch with the mounts, and a ConfigMap.

The ConfigMap is immutable and named by content (design rules 1 and 2). Pure.
"""

import hashlib
import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.launcher import launcher_on
from trainer_infra.render.phases import Launcher, Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.trainers import package_mounts, run_notes
from trainer_infra.trainers.claim_volumes import of_one_volume
from trainer_infra.trainers.code import Code

LONGEST_KEY: Final = 240
"""Characters of a path that a key keeps: Kubernetes allows 253, a hash takes 9."""


def attach_code(
    job: JSONDict,
    runtime: Runtime,
    code: Code | None,
    plugins: Iterable[Plugin] = PLUGINS,
    cache: str | None = None,
) -> tuple[JSONDict, tuple[JSONDict, ...]]:
    """Add code to a TrainJob, and name its own Secret wherever a reference stands for it.

    Args:
        job: TrainJob in wire form, with a name; not changed.
        runtime: the runtime it refers to; decides containers and, with the plugins, the command.
        code: what to run; None leaves command and mounts alone.
        plugins: what renders the job, of which one may have the framework's launcher.
        cache: address of the folder in which pods keep packages that they install, empty for one of
            each pod; None where the target installs them itself.

    Returns:
        The new TrainJob and the objects it needs besides.

    Raises:
        InvalidInput: when the runtime has no container that could run the code, or not what it needs.
    """
    name = job["metadata"]["name"]
    spec = _own_secret_named(job["spec"], name + names.SECRET_SUFFIX)
    if code is None:
        return {**job, "spec": spec}, ()
    if unfit := _unfit(runtime, code):
        raise InvalidInput([unfit])
    made = config_map(job["metadata"], code)
    plugins = tuple(plugins)
    volumes, mounts = _volumes(made["metadata"]["name"], name + names.SECRET_SUFFIX, code)
    installing = cache is not None and package_mounts.INSTALLING in code.files
    if cache is not None and installing:
        namespace = names.namespace_of(job["metadata"].get("namespace"))
        more = package_mounts.package_volumes(code.packages, cache, namespace)
        volumes, mounts = [*volumes, *more[0]], [*mounts, *more[1]]
    if code.stored:
        volumes = [*volumes, {"name": names.SOURCE_VOLUME, "emptyDir": {}}]
        mounts = [*mounts, {"name": names.SOURCE_VOLUME, "mountPath": names.SOURCE_MOUNT}]
    mounted = Mounting(names.CODE_MANAGER, volumes, mounts).patches(job, runtime, plugins)
    spec = {
        **spec,
        "trainer": _trainer(
            spec.get("trainer") or {}, launcher_on(runtime, plugins), code, installing=installing
        ),
        "runtimePatches": [*(spec.get("runtimePatches") or ()), *mounted],
    }
    return {**job, "metadata": _metadata(job["metadata"], code), "spec": spec}, (made,)


def _metadata(metadata: JSONDict, code: Code) -> JSONDict:
    """The TrainJob's, with where its code is from and kept."""
    wire = code.stored.to_wire() if code.stored else {}
    # What its files mean is for us to compare.
    stored = (
        json.dumps({key: each for key, each in wire.items() if key != "meaning"}) if wire else ""
    )
    said = {names.STORED_CODE: stored, names.CODE_ORIGIN: code.origin}
    said = {key: each for key, each in said.items() if each} | run_notes.code_notes(code)
    if not said:
        return metadata
    return {**metadata, "annotations": {**(metadata.get("annotations") or {}), **said}}


def _unfit(runtime: Runtime, code: Code) -> Problem | None:
    """Why a runtime does not prepare what the code needs."""
    policy = runtime.spec.ml_policy.to_wire() if runtime.spec.ml_policy else {}
    if not code.policies or not policy.keys().isdisjoint(code.policies):
        return None
    needed = " or ".join(code.policies)
    return Problem(
        "spec.runtimeRef.name",
        f"is not a runtime for this trainer, which needs {needed} in the runtime's mlPolicy",
        got=runtime.metadata.name,
        fix=f"choose one of `trainer-infra catalog`, such as {code.policies[0]}-distributed",
    )


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


def _trainer(trainer: JSONDict, launcher: Launcher, code: Code, *, installing: bool) -> JSONDict:
    env = list(trainer.get("env") or ())
    if code.stored:
        env.append({"name": names.SOURCE_FOLDER, "value": names.SOURCE_MOUNT})
    if code.secret_args:
        path = f"{names.SECRET_MOUNT}/{names.SECRET_ARGS_KEY}"
        env.append({"name": names.SECRET_ARGS, "value": path})
    words = code.launcher or launcher.command([each["name"] for each in env])
    # An image has it by the name of `python`, and so wheels fit.
    step = ("python", f"{names.CODE_MOUNT}/{package_mounts.INSTALLING}") if installing else ()
    at = 0 if code.launcher else launcher.nodes_begin_at
    command = [*words[:at], *step, *words[at:], f"{names.CODE_MOUNT}/main.py"]
    return {**trainer, "command": command, **({"env": env} if env else {})}


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
    files = package_mounts.mounted_files(code)
    keys = _keys(files)
    metadata = {"name": f"{job_metadata['name']}{names.CODE_SUFFIX}-{code.digest()}"}
    if "namespace" in job_metadata:
        metadata["namespace"] = job_metadata["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "immutable": True,
        "data": {keys[path]: files[path] for path in sorted(files)},
    }


def _volumes(config_map: str, secret: str, code: Code) -> tuple[list[JSONDict], list[JSONDict]]:
    """Volumes of the code, of files and of the secret arguments, and their mounts."""
    items = [
        {"key": key, "path": path}
        for path, key in _keys(package_mounts.mounted_files(code)).items()
    ]
    volumes: list[JSONDict] = [
        {"name": names.CODE_VOLUME, "configMap": {"name": config_map, "items": items}}
    ]
    mounts: list[JSONDict] = [
        {"name": names.CODE_VOLUME, "mountPath": names.CODE_MOUNT, "readOnly": True}
    ]
    for path, reference in sorted(code.references.items()):
        volumes.append(_file_volume(path, reference, secret))
        mounts.append(_file_mount(path))
    if code.secret_args:
        only = [{"key": names.SECRET_ARGS_KEY, "path": names.SECRET_ARGS_KEY}]
        volumes.append(
            {"name": names.SECRET_VOLUME, "secret": {"secretName": secret, "items": only}}
        )
        mounts.append(
            {"name": names.SECRET_VOLUME, "mountPath": names.SECRET_MOUNT, "readOnly": True}
        )
    return volumes, mounts


def _file_volume(path: str, reference: Mapping[str, Any], secret: str) -> JSONDict:
    """The volume of one file, which has nothing else in it."""
    ((kind, of),) = reference.items()
    items = {"items": [{"key": of["key"], "path": posixpath.basename(path)}]}
    may_miss = {"optional": True} if of.get("optional") else {}
    name = secret if of["name"] == names.OWN_SECRET else of["name"]
    if kind == "secretKeyRef":
        source = {"secret": {"secretName": name, **items, **may_miss}}
    else:
        source = {"configMap": {"name": name, **items, **may_miss}}
    return {"name": _file_name(path), **source}


def _file_mount(path: str) -> JSONDict:
    file = posixpath.basename(path)
    return {"name": _file_name(path), "mountPath": path, "subPath": file, "readOnly": True}


def _file_name(path: str) -> str:
    return f"{names.FILE_VOLUME}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class Mounting:
    """What is mounted wherever a process of the training starts."""

    manager: str
    """Of the runtime patch; those of further ones begin with it."""
    volumes: list[JSONDict]
    """Of a claim that the pods have by now, the volume is theirs."""
    mounts: list[JSONDict]
    """Of these volumes."""

    def patches(
        self, job: JSONObject, runtime: Runtime, plugins: Iterable[Plugin]
    ) -> list[JSONDict]:
        """The runtime patches: of one volume each has one mount, for the API counts mounts by it.

        Args:
            job: TrainJob in wire form, with the runtime patches that it has by now.
            runtime: what it runs on.
            plugins: what renders the job.

        Raises:
            InvalidInput: The runtime has no container that could run the code, or a claim for reading alone.
        """
        made = defaultdict[int, list[JSONDict]](list)
        for step in _training_steps(runtime, plugins):
            volumes, mounts = of_one_volume(job, runtime, step, self.volumes, self.mounts)
            seen, parts = Counter[str](), defaultdict[int, list[JSONDict]](list)
            for each in mounts:
                parts[seen[each["name"]]].append(each)
                seen[each["name"]] += 1
            for at, part in parts.items():
                container = {"name": names.NODE, "volumeMounts": part}
                own = {"volumes": volumes} if volumes and not at else {}
                pod = {**own, "containers": [container]}
                patched = {"name": step, "template": {"spec": {"template": {"spec": pod}}}}
                made[at].append(patched)
        return [
            {
                "manager": f"{self.manager}-{at + 1}" if at else self.manager,
                "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
            }
            for at, jobs in sorted(made.items())
        ]


def _training_steps(runtime: Runtime, plugins: Iterable[Plugin]) -> list[str]:
    """Names of the replicated jobs in which a process of the training starts.

    Raises:
        InvalidInput: There is none that could run the code.
    """
    template = runtime.spec.template
    spec = (template.spec if template else None) or {}
    trainers = [name for name, _ in resolve.trainer_containers(spec)]
    if not trainers:
        raise InvalidInput([_without_container(runtime)])
    started = launcher_on(runtime, plugins).jobs
    every = [each["name"] for each in spec["replicatedJobs"]]
    return [*trainers, *(each for each in every if each in started and each not in trainers)]


def _without_container(runtime: Runtime) -> Problem:
    return Problem(
        "spec.template.spec.replicatedJobs",
        f"no replicated job with the label {names.ANCESTOR_LABEL}={names.TRAINER} "
        f"has a container named {names.NODE}, so there is nothing to run the code in",
        fix="choose a training runtime, or add the label and the container to this one",
        where=f"{runtime.kind} {runtime.metadata.name}",
    )
