"""What our initializers would say in the pod is said before: URIs that they cannot read, folders that they show.

An initializer of another image may know other schemes, so its URI is its own affair. Pure.
"""

from collections.abc import Iterator

from trainer_infra.api.runtime import Runtime
from trainer_infra.catalog import initializers
from trainer_infra.errors import Problem
from trainer_infra.in_pod.initializers.failure import DownloadFailure
from trainer_infra.in_pod.initializers.listing import STATE
from trainer_infra.in_pod.initializers.settings import TARGETS
from trainer_infra.in_pod.initializers.storage_uri import parse_uri
from trainer_infra.json_values import JSONObject
from trainer_infra.trainers import volume_address


def unreadable_uris(job: JSONObject, runtime: Runtime) -> tuple[Problem, ...]:
    """A problem for each `storageUri` of a TrainJob in wire form that its runtime's initializer refuses."""
    found: list[Problem] = []
    for name, field in initializers.ROLES.items():
        uri = initializers.storage_uri(job, field)
        if uri and any(map(_has_our_program, _containers(runtime, name))):
            found += _problems(f"spec.initializer.{field}.storageUri", uri, field)
    return tuple(found)


def _problems(path: str, text: str, kind: str) -> Iterator[Problem]:
    try:
        uri = parse_uri(text, kind)
    except DownloadFailure as failure:
        # It may hold a password, or a signature in its query.
        got = None if {"@", "?"} & set(text) else text
        yield Problem(path, failure.cause, got=got, fix=failure.remedy)
        return
    if uri.scheme == "https" and volume_address.has_credentials(text):
        what = "has credentials in it, and everybody who may read the TrainJob sees them"
        fix = (
            "set HTTP_USERNAME and HTTP_PASSWORD in the initializer's env, the password as a Secret"
        )
        yield Problem(path, what, fix=fix)


def seen_folders(job: JSONObject, runtime: Runtime) -> Iterator[str]:
    """A sentence for each target that is a volume of its own: what our initializer keeps beside it else is then in it."""
    given = job["spec"].get("initializer") or {}
    for name, field in initializers.ROLES.items():
        target = TARGETS[field]
        for container in _containers(runtime, name) if given.get(field) else ():
            paths = {each["mountPath"] for each in container.get("volumeMounts") or ()}
            if _has_our_program(container) and paths & {target, f"{target}/"}:
                yield (
                    f"a volume is mounted at {target} itself, so {name} keeps its own files in "
                    f"{target}/{STATE}, which a program that takes each folder for a class takes for "
                    f"one; mount the volume at {initializers.WORKSPACE}"
                )


def _has_our_program(container: JSONObject) -> bool:
    return initializers.has_our_program(container.get("image", ""), container.get("args") or ())


def _containers(runtime: Runtime, name: str) -> list[JSONObject]:
    """The containers of an initializer's job that have its name."""
    return [
        container
        for each in runtime.to_wire()["spec"]["template"]["spec"]["replicatedJobs"]
        if each["name"] == name
        for container in each["template"]["spec"]["template"]["spec"]["containers"]
        if container["name"] == name
    ]
