"""How a job's code gets into its pods: the command, a runtime patch with the mounts, and a ConfigMap.

The ConfigMap is immutable and named by content (design rules 1 and 2). Pure.
"""

import hashlib
import json
import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.render import resolve
from trainer_infra.render.launcher import launcher_on
from trainer_infra.render.phases import Launcher, Plugin
from trainer_infra.render.plugins import PLUGINS
from trainer_infra.trainers import package_mounts, run_notes
from trainer_infra.trainers.claim_volumes import of_one_volume, with_patch, with_spec
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
    """The TrainJob with code, its own Secret named where a reference stands for it, and the objects it needs besides.

    The runtime decides containers and, with the plugins, the command; without code both stay. `cache` is the address
    of the folder in which pods keep packages that they install, empty for one of each pod; None where the target
    installs them itself.

    Raises:
        InvalidInput: when the runtime has no container that could run the code, or not what it needs.
    """
    secret = job["metadata"]["name"] + names.SECRET_SUFFIX
    job = {**job, "spec": _own_secret_named(job["spec"], secret)}
    if code is None:
        return job, ()
    plugins = tuple(plugins)
    launcher = launcher_on(runtime, plugins)
    if unfit := _unfit(runtime, code) or _inelastic(runtime, launcher, code):
        raise InvalidInput([unfit])
    made = config_map(job["metadata"], code)
    volumes, mounts = _volumes(made["metadata"]["name"], secret, code)
    installing = cache is not None and package_mounts.INSTALLING in code.files
    if cache is not None and installing:
        namespace = names.namespace_of(job["metadata"].get("namespace"))
        more = package_mounts.package_volumes(code.packages, cache, namespace)
        volumes, mounts = [*volumes, *more[0]], [*mounts, *more[1]]
    if code.stored:
        volumes = [*volumes, {"name": names.SOURCE_VOLUME, "emptyDir": {}}]
        mounts = [*mounts, {"name": names.SOURCE_VOLUME, "mountPath": names.SOURCE_MOUNT}]
    trainer = job["spec"].get("trainer") or {}
    if code.least_nodes:
        trainer, launcher = _elastic(trainer, launcher, code, job["metadata"]["name"])
    job = with_spec(job, trainer=_trainer(trainer, launcher, code, installing=installing))
    job = Mounting(names.CODE_MANAGER, volumes, mounts).mounted(job, runtime, plugins)
    return annotated(job, _notes(code)), (made,)


def _notes(code: Code) -> dict[str, str]:
    """Where code is from and kept, and what it says of itself."""
    wire = code.stored.to_wire() if code.stored else {}
    # What its files mean is for us to compare.
    wire.pop("meaning", "")
    said = {names.STORED_CODE: json.dumps(wire) if wire else "", names.CODE_ORIGIN: code.origin}
    return {key: each for key, each in said.items() if each} | run_notes.code_notes(code)


def annotated(job: JSONDict, notes: Mapping[str, str]) -> JSONDict:
    """The TrainJob with these annotations too."""
    metadata = job["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **notes}
    return {**job, "metadata": {**metadata, "annotations": annotations}} if notes else job


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


def _inelastic(runtime: Runtime, launcher: Launcher, code: Code) -> Problem | None:
    """Why the number of nodes cannot change."""
    if not code.least_nodes or (launcher.elastic and not code.launcher):
        return None
    words = code.launcher or launcher.command(())
    what = f"is a range, and {' '.join(words[:2])} starts the training on runtime {runtime.metadata.name}: it needs all nodes"
    fix = "write one number, or take a trainer and a runtime that torchrun starts, such as torch-distributed"
    return Problem("num_nodes", what, fix=fix)


def _elastic(
    trainer: JSONDict, launcher: Launcher, code: Code, run: str
) -> tuple[JSONDict, Launcher]:
    """The trainer and the launcher of a training whose number of nodes changes; a user's variables stay."""
    env = [*(trainer.get("env") or ())]
    given = {each["name"] for each in env}
    added = {key: each for key, each in launcher.elastic_env.items() if key not in given}
    env += [{"name": key, "value": each} for key, each in added.items()]
    values = {"least": code.least_nodes, "most": trainer["numNodes"], "run": run}
    options = tuple(each.format(**values) for each in launcher.elastic)

    def command(variables: Sequence[str]) -> tuple[str, ...]:
        return (*launcher.command(variables), *options)

    return {**trainer, "env": env}, replace(launcher, command=command)


def secret_object(job_metadata: Mapping[str, Any], keys: Iterable[str]) -> JSONDict:
    """The job's own Secret as it may be shown: every key, no value."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(job_metadata, names.SECRET_SUFFIX),
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
    # An image with torchrun may have no `python`.
    first = ("python3", f"{names.CODE_MOUNT}/{package_mounts.INIT}")
    command = [*first, *words[:at], *step, *words[at:], f"{names.CODE_MOUNT}/main.py"]
    return {**trainer, "command": command, **({"env": env} if env else {})}


def _keys(files: Mapping[str, str]) -> dict[str, str]:
    """ConfigMap key of each path: the path without what a key may not hold, and a hash where that makes two equal.

    Keys do not depend on other files' order, so that a preview shows only what changed.
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
    """The ConfigMap of a job's code, named by what is in it."""
    files = package_mounts.mounted_files(code)
    keys = _keys(files)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(job_metadata, f"{names.CODE_SUFFIX}-{code.digest()}"),
        "immutable": True,
        "data": {keys[path]: files[path] for path in sorted(files)},
    }


def _metadata(of_job: Mapping[str, Any], suffix: str) -> JSONDict:
    """The name of an object of a job, and its namespace where that is known."""
    made = {"name": of_job["name"] + suffix, "namespace": of_job.get("namespace")}
    return {key: each for key, each in made.items() if each is not None}


def _volumes(config_map: str, secret: str, code: Code) -> tuple[list[JSONDict], list[JSONDict]]:
    keys = _keys(package_mounts.mounted_files(code))
    items = [{"key": key, "path": path} for path, key in keys.items()]
    files = {path: _file_volume(path, of, secret) for path, of in sorted(code.references.items())}
    volumes = [
        {"name": names.CODE_VOLUME, "configMap": {"name": config_map, "items": items}},
        *files.values(),
    ]
    mounts = [
        {"name": names.CODE_VOLUME, "mountPath": names.CODE_MOUNT},
        *(
            {"name": each["name"], "mountPath": path, "subPath": posixpath.basename(path)}
            for path, each in files.items()
        ),
    ]
    if code.secret_args:
        only = [{"key": names.SECRET_ARGS_KEY, "path": names.SECRET_ARGS_KEY}]
        source = {"secretName": secret, "items": only}
        volumes.append({"name": names.SECRET_VOLUME, "secret": source})
        mounts.append({"name": names.SECRET_VOLUME, "mountPath": names.SECRET_MOUNT})
    return volumes, [{**each, "readOnly": True} for each in mounts]


def _file_volume(path: str, reference: Mapping[str, Any], secret: str) -> JSONDict:
    """The volume of one file, which has nothing else in it."""
    ((kind, of),) = reference.items()
    field, of_name = ("secret", "secretName") if kind == "secretKeyRef" else ("configMap", "name")
    name = secret if of["name"] == names.OWN_SECRET else of["name"]
    items = [{"key": of["key"], "path": posixpath.basename(path)}]
    may_miss = {"optional": True} if of.get("optional") else {}
    volume = f"{names.FILE_VOLUME}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"
    return {"name": volume, field: {of_name: name, "items": items, **may_miss}}


@dataclass(frozen=True, slots=True)
class Mounting:
    """What is mounted wherever a process of the training starts."""

    manager: str
    """Of the runtime patch; those of further ones begin with it."""
    volumes: list[JSONDict]
    """Of a claim that the pods have by now, the volume is theirs."""
    mounts: list[JSONDict]
    """Of these volumes."""

    def mounted(self, job: JSONDict, runtime: Runtime, plugins: Iterable[Plugin]) -> JSONDict:
        """The TrainJob with the runtime patches: of one volume each has one mount, for the API counts mounts by it.

        Raises:
            InvalidInput: The runtime has no container that could run the code, or a claim for reading alone.
        """
        made = defaultdict[int, JSONDict](dict)
        for step in training_steps(runtime, plugins):
            volumes, mounts = of_one_volume(job, runtime, step, self.volumes, self.mounts)
            seen, parts = Counter[str](), defaultdict[int, list[JSONDict]](list)
            for each in mounts:
                parts[seen[each["name"]]].append(each)
                seen[each["name"]] += 1
            for at, part in parts.items():
                container = {"name": names.NODE, "volumeMounts": part}
                own = {"volumes": volumes} if volumes and not at else {}
                made[at][step] = {**own, "containers": [container]}
        for at, pods in sorted(made.items()):
            job = with_patch(job, f"{self.manager}-{at + 1}" if at else self.manager, pods)
        return job


def training_steps(runtime: Runtime, plugins: Iterable[Plugin]) -> list[str]:
    """The replicated jobs in which a process of the training starts.

    Raises:
        InvalidInput: There is none.
    """
    template = runtime.spec.template
    spec = (template.spec if template else None) or {}
    trainers = [name for name, _ in resolve.trainer_containers(spec)]
    if not trainers:
        what = (
            f"no replicated job with the label {names.ANCESTOR_LABEL}={names.TRAINER} "
            f"has a container named {names.NODE}, so there is nothing to run the code in"
        )
        fix = "choose a training runtime, or add the label and the container to this one"
        where = f"{runtime.kind} {runtime.metadata.name}"
        raise InvalidInput(
            [Problem("spec.template.spec.replicatedJobs", what, fix=fix, where=where)]
        )
    started = launcher_on(runtime, plugins).jobs
    every = [each["name"] for each in spec["replicatedJobs"]]
    return [*trainers, *(each for each in every if each in started and each not in trainers)]
