"""Code in a store: pods fetch it before they train, by an init container with the image of the initializers.

A trainer whose folder no ConfigMap holds leaves an annotation on the TrainJob and mounts an empty volume
(`trainers.code_mount`); every pod that mounts it gets the container. The API has no field for one: a runtime
patch changes only containers that the runtime has (docs/decisions/0035).
"""

import json
import posixpath
from typing import Any, Final
from urllib.parse import unquote

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

FILE: Final = "file://"
_OF_THE_NODE: Final = (
    *("allowPrivilegeEscalation", "runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile"),
)
"""Fields of a security context that the fetching container takes over, so that a namespace admits both alike."""


def applies(draft: Draft) -> bool:
    """Whether the TrainJob's code is in a store."""
    return names.STORED_CODE in (draft.job.metadata.annotations or {})


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet, whose pods fetch the code first."""
    said = (job.metadata.annotations or {}).get(names.STORED_CODE)
    if said is None or value["kind"] != names.JOBSET:
        return value
    stored = json.loads(said)
    jobs = [_fetching(each, stored) for each in value["spec"]["replicatedJobs"]]
    return {**value, "spec": {**value["spec"], "replicatedJobs": jobs}}


def _fetching(job: JSONObject, stored: JSONObject) -> JSONObject:
    pod = resolve.pod_spec(job)
    volumes = [*(pod.get("volumes") or ())]
    if not any(each["name"] == names.SOURCE_VOLUME for each in volumes):
        return job
    own = _container(pod, stored)
    if stored["address"].startswith(FILE):
        folder = posixpath.dirname(unquote(stored["address"].removeprefix(FILE)))
        volumes.append({"name": names.STORE_VOLUME, "hostPath": {"path": folder}})
        mount = {"name": names.STORE_VOLUME, "mountPath": folder, "readOnly": True}
        own["volumeMounts"].append(mount)
    inits = [own, *(pod.get("initContainers") or ())]
    return resolve.with_pod_spec(job, {**pod, "volumes": volumes, "initContainers": inits})


def _container(pod: JSONObject, stored: JSONObject) -> JSONDict:
    node = resolve.node_container(pod)
    own: dict[str, Any] = {
        "name": names.CODE_INITIALIZER,
        "image": stored.get("image") or names.INITIALIZER_IMAGE,
        "args": ["code"],
        "env": [{"name": names.STORAGE_URI, "value": stored["address"]}],
        "volumeMounts": [{"name": names.SOURCE_VOLUME, "mountPath": names.SOURCE_MOUNT}],
    }
    if secret := stored.get("secret"):
        own["envFrom"] = [{"secretRef": {"name": secret}}]
    # It ends before the node begins, so that the pod asks for no more than the node does.
    if node.get("resources"):
        own["resources"] = node["resources"]
    given = node.get("securityContext") or {}
    context = {key: given[key] for key in _OF_THE_NODE if key in given}
    if "drop" in (given.get("capabilities") or {}):
        context["capabilities"] = {"drop": given["capabilities"]["drop"]}
    return {**own, **({"securityContext": context} if context else {})}


PLUGIN = Plugin(name="StoredCode", applies=applies, complete=complete)
