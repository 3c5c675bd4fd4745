"""What `checkpoint=` of a TrainJob arranges in its pods: the place, the time to end in, and torchrun's share of it.

A checkpoint's place is an output of the run. What a program reads of it stands in one env variable of the trainer. The
pods' `terminationGracePeriodSeconds` is a runtime patch for Kubeflow's own controller (reference behaviour 5.1, v2.3 or
newer), but for a TrainJob in a queue. torchrun kills its
workers 30 s after it was told to end, whatever the pod's time, unless `TORCH_ELASTIC_SHUTDOWN_TIMEOUT` says another
(torch.distributed.elastic, `multiprocessing.api`). Where our own controller or a driver of ours renders the pods, the
plugin Checkpoint has their time, and policies for failures: Kueue would take it out of a patch (rule
`time-of-queued-pods`). Pure.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.api.runtime import Runtime
from trainer_infra.json_values import JSONDict, JSONObject
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import checkpoint as checkpoint_plugin
from trainer_infra.trainers import code_mount, volume_address
from trainer_infra.trainers.claim_volumes import pod_specs, with_patch, with_spec

MANAGER: Final = "trainer-infra.dev/checkpoint"
_NAME: Final = checkpoint.DEFAULT_PLACE.removeprefix(checkpoint.OUTPUT)
_RESUMED: Final = "resumed-from"


def outputs_of(uri: Any, resume: Any) -> dict[str, Any]:
    """The outputs that a checkpoint adds to those of the run, with their addresses.

    Its place, if that is none of theirs, and a volume to resume from, which is mounted as they are. An address may be
    one that only the deployment tells.
    """
    found = {_NAME: uri}
    if isinstance(uri, str) and uri.startswith(checkpoint.OUTPUT):
        found = {_NAME: ""} if uri == checkpoint.DEFAULT_PLACE else {}
    if not isinstance(resume, str | int) or _is_folder(resume):
        found[_RESUMED] = resume
    return found


def _is_folder(resume: Any) -> bool:
    return isinstance(resume, str) and resume.startswith((volume_address.CLAIM, "/"))


def variable_of(given: JSONObject) -> JSONDict:
    """The env variable of a checkpoint's arguments: see `in_pod.checkpoints.arrangement`."""
    uri, every, resume, hang = (given[each] for each in ("uri", "every", "resume", "hang_after"))
    seconds = checkpoint.seconds_of(every)
    # What says nothing changes nothing for a run of an earlier release.
    others = {"uri", "every", "hang_after", *(("on_hang",) if hang is None else ())}
    values: Mapping[str, Any] = {
        "place": uri if str(uri).startswith(checkpoint.OUTPUT) else checkpoint.DEFAULT_PLACE,
        "every_steps": None if seconds is not None else every,
        "every_seconds": seconds,
        checkpoint.HANG: checkpoint.seconds_of(hang),
        **{key: each for key, each in given.items() if key not in others},
        "resume": f"{checkpoint.OUTPUT}{_RESUMED}" if _is_folder(resume) else resume,
    }
    said = {key: each for key, each in values.items() if each is not None}
    return {"name": checkpoint.VARIABLE, "value": json.dumps(said)}


def variable_text(trainer: JSONObject) -> str:
    """What spec.trainer says of checkpoints; empty where it has none."""
    env = trainer.get("env") or ()
    place = _place(env, checkpoint.VARIABLE)
    return "" if place is None else str(env[place].get("value") or "")


def _place(env: Sequence[Any], name: str) -> int | None:
    """The index of an env variable, whatever else a user wrote there."""
    known = (
        at for at, each in enumerate(env) if isinstance(each, Mapping) and each.get("name") == name
    )
    return next(known, None)


def attach_checkpoint(
    job: JSONDict, runtime: Runtime, plugins: Iterable[Plugin], attempt: Any = 1
) -> JSONDict:
    """A TrainJob whose program finds its checkpoints, and whose pods have the time to save one.

    A time that the runtime or a patch sets is left as it is, for the rules to judge. A later attempt is a run of its
    own, which does not take the checkpoints of an earlier one of its name for its own.

    Raises:
        InvalidInput: The runtime has no container that could save.
    """
    trainer = job["spec"].get("trainer") or {}
    env, metadata = [*(trainer.get("env") or ())], job["metadata"]
    at = _place(env, checkpoint.VARIABLE)
    said = None if at is None else checkpoint.said_of(variable_text(trainer))
    seconds = checkpoint.save_seconds_said(said)
    if at is None or not said or seconds is None:
        # The rule checkpoint-values says what is wrong with one that was written by hand.
        return job
    again = "" if attempt == 1 else f" (attempt {attempt})"
    run = f"{names.namespace_of(metadata.get('namespace'))}/{metadata['name']}{again}"
    env[at] = {"name": checkpoint.VARIABLE, "value": json.dumps({**said, "run": run})}
    policy, timeout = runtime.spec.ml_policy, checkpoint.ELASTIC_TIMEOUT
    if policy and policy.torch is not None and _place(env, timeout) is None:
        env.append({"name": timeout, "value": str(seconds)})
    job, plugins = with_spec(job, trainer={**trainer, "env": env}), tuple(plugins)
    is_queued = names.KUEUE_QUEUE_LABEL in (metadata.get("labels") or {})
    if is_queued or checkpoint_plugin.PLUGIN in plugins:
        return job
    steps = [
        step
        for step in code_mount.training_steps(runtime, plugins)
        if not any(checkpoint.GRACE in each for each in pod_specs(job, runtime, step))
    ]
    grace = {checkpoint.GRACE: seconds + checkpoint.MARGIN}
    return with_patch(job, MANAGER, dict.fromkeys(steps, grace)) if steps else job
