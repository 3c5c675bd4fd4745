"""A framework from another package: data-parallel training over multiprocessing.managers.

Node 0 serves a manager on the head address; all nodes meet there at each step. The package takes
part in every phase. Its settings are annotations of the runtime:

- `acme.example/managers`: `enabled` switches it on.
- `acme.example/steps`: how many steps the training takes, a whole number from 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import Problem
from trainer_infra.render import endpoints, trainer_env
from trainer_infra.render.draft import Draft, PodSet
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Plugin, Watch

JSON = Mapping[str, Any]

ENABLED = "acme.example/managers"
STEPS = "acme.example/steps"
PORT = 29500
FOLDER = "/etc/acme"


def applies(draft: Draft) -> bool:
    return draft.setting(ENABLED) == "enabled"


def validate(draft: Draft) -> Iterable[Problem]:
    steps = draft.setting(STEPS) or ""
    if not steps.isdigit() or int(steps) < 1:
        yield Problem(
            f"metadata.annotations[{STEPS}]", "must be a whole number from 1", got=steps or None
        )


def enforce_ml_policy(draft: Draft) -> Draft:
    if draft.trainer is None:
        return draft
    own = (
        trainer_env.variable("ACME_ADDRESS", f"{endpoints.head(draft)}:{PORT}"),
        trainer_env.variable("ACME_NODES", draft.trainer.count),
        trainer_env.node_rank("ACME_RANK"),
        trainer_env.variable("ACME_STEPS", f"{FOLDER}/steps"),
    )
    return trainer_env.with_env(draft, own, port=PORT)


def enforce_pod_group_policy(draft: Draft) -> Draft:
    labels = {"acme.example/gang": draft.job.metadata.name}
    pod_sets = tuple(replace(each, labels={**each.labels, **labels}) for each in draft.pod_sets)
    return replace(draft, pod_sets=pod_sets)


def enforce_pod_spec(draft: Draft) -> Draft:
    volume = {"name": "acme", "configMap": {"name": _config_map(draft)}}
    mount = {"name": "acme", "mountPath": FOLDER, "readOnly": True}

    def mounted(pod_set: PodSet) -> PodSet:
        changed = pod_set.with_container(
            "node", lambda old: replace(old, volume_mounts=(*old.volume_mounts, mount))
        )
        return replace(changed, volumes=(*changed.volumes, volume))

    return draft.with_pod_set("node", mounted)


def build(draft: Draft) -> Iterable[JSON]:
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": _config_map(draft),
            "namespace": draft.job.metadata.namespace or "default",
        },
        "data": {"steps": str(draft.setting(STEPS))},
    }


def should_write(_value: JSON, _job: TrainJob, observed: ObservedObjects) -> bool:
    return observed.jobset is None


def status(_job: TrainJob, so_far: JSON, observed: ObservedObjects) -> JSON:
    jobs = ((observed.jobset or {}).get("status") or {}).get("replicatedJobsStatus") or ()
    report = so_far.get("trainerStatus")
    if not jobs or report is None:
        return so_far
    ready = {"name": "acme_ready_jobs", "value": str(sum(each.get("ready", 0) for each in jobs))}
    others = [each for each in report.get("metrics") or () if each["name"] != ready["name"]]
    return {**so_far, "trainerStatus": {**report, "metrics": [*others, ready]}}


def wakes(value: JSON, job: TrainJob, runtime: Runtime) -> bool:
    """A fabric's events concern the jobs of its namespace that this plugin is about."""
    same = value["metadata"]["namespace"] == job.metadata.namespace
    return same and (runtime.metadata.annotations or {}).get(ENABLED) == "enabled"


def _config_map(draft: Draft) -> str:
    return f"{draft.job.metadata.name}-acme"


PLUGIN = Plugin(
    name="AcmeManagers",
    applies=applies,
    validate=validate,
    enforce_ml_policy=enforce_ml_policy,
    enforce_pod_group_policy=enforce_pod_group_policy,
    enforce_pod_spec=enforce_pod_spec,
    build=build,
    should_write=should_write,
    status=status,
    watches=(Watch("acme.example/v1", "Fabric", wakes),),
)
